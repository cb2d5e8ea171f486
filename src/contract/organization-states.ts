/** What an IAM_OWNER does to an organization as a whole: the operations, and what they answer. */
import { z } from 'zod';
import { operations } from './operation.ts';
import { IAM_OWNER_ONLY } from './roles.ts';
import { changed } from './shapes.ts';

const n = z.int().min(0);
const removalPreview = z
  .object({
    humans: n,
    machineUsers: n,
    members: n.meta({ description: 'Users with a role on it, also of other organizations: they lose the role.' }),
    imports: n,
    sharedImports: n.meta({ description: 'Imports into other organizations as well: they stay for their own time.' }),
    drafts: n,
    passwordSources: n,
    identityProviders: n,
    unsentMails: n,
    events: n.meta({ description: 'The history of its changes.' }),
  })
  .meta({ id: 'OrganizationRemovalPreview' });
const examplePreview = {
  humans: 10_240,
  machineUsers: 2,
  members: 3,
  imports: 4,
  sharedImports: 0,
  drafts: 1,
  passwordSources: 1,
  identityProviders: 1,
  unsentMails: 12,
  events: 31_007,
};

export const organizationStateOperations = operations({
  deactivateOrg: {
    path: 'POST /management/v1/orgs/me/_deactivate',
    who: IAM_OWNER_ONLY,
    of: 'org',
    summary: 'Deactivate an organization',
    description:
      'At once, its users cannot sign in, and their sessions, tokens, keys and refresh tokens are refused; roles on it ' +
      'count for nothing; its password sources are not asked; its emails and text messages wait. Its running imports, ' +
      'and those that its users made or started, are paused (a single import, a dry run and an undo end). Nothing is ' +
      'deleted.',
    answers: { 200: changed },
    errors: ['ORG-STATE', 'MEMBER-LAST-OWNER'],
  },
  reactivateOrg: {
    path: 'POST /management/v1/orgs/me/_reactivate',
    who: IAM_OWNER_ONLY,
    of: 'org',
    summary: 'Reactivate a deactivated organization',
    description:
      'Sessions and tokens that have not expired are good again. Emails that waited are sent within an hour, with the ' +
      'time that their codes had left. Resume its paused imports with `_resume`.',
    answers: { 200: changed },
    errors: ['ORG-STATE'],
  },
  previewOrgRemoval: {
    path: 'GET /management/v1/orgs/me/removal_preview',
    who: IAM_OWNER_ONLY,
    of: 'org',
    summary: 'Preview the deletion of an organization',
    description:
      'Counts what would be removed for good seven days after the deletion. OAuth clients belong to the instance and ' +
      'stay; so do audit events, for their own time. Changes nothing. Reads the history of all changes: of ten million ' +
      'events it takes some seconds.',
    answers: { 200: { schema: removalPreview, example: examplePreview } },
  },
  deleteOrg: {
    path: 'DELETE /management/v1/orgs/me',
    who: IAM_OWNER_ONLY,
    of: 'org',
    summary: 'Delete an organization',
    description:
      'Without a header it is the organization of the caller, so name it. From now on nobody acts for it, as if it were ' +
      'deactivated. For seven days `_undelete` takes the deletion back; then it is removed with its users, imports and ' +
      'settings, in batches. Its id stays taken for good, its domain becomes free.',
    answers: { 200: changed },
    errors: ['ORG-STATE', 'MEMBER-LAST-OWNER'],
  },
  undeleteOrg: {
    path: 'POST /management/v1/orgs/me/_undelete',
    who: IAM_OWNER_ONLY,
    of: 'org',
    summary: 'Take the deletion of an organization back',
    description:
      'Possible for seven days. One that was deactivated before stays so. Resume its paused imports with `_resume`.',
    answers: { 200: changed },
    errors: ['ORG-STATE'],
  },
});
