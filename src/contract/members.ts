/** Members of organizations and of the instance: roles, and the operations that give and take them. */
import { z } from 'zod';
import { id } from '../platform/fields.ts';
import { paging } from '../platform/http/answers.ts';
import { operations } from './operation.ts';
import { IAM_OWNER_ONLY, INSTANCE_ROLES, ORG_ROLES, OWNER } from './roles.ts';
import { changed, created, createdDetails, exampleCreated, exampleSearch, searchAnswer } from './shapes.ts';

function roles<const T extends readonly string[]>(known: T, least: number) {
  return z
    .array(z.enum(known, `must be one of ${known.join(', ')}`))
    .min(least, 'must have at least one role')
    .transform((list) => [...new Set(list)]);
}

/** Roles on an organization, possibly none. */
export const orgRoleList = () => roles(ORG_ROLES, 0);
export const orgMember = z.object({ userId: id(), roles: roles(ORG_ROLES, 1) });
export const instanceMember = z.object({ userId: id(), roles: roles(INSTANCE_ROLES, 1) });
export const memberSearch = z.object({ query: paging() });

const member = z
  .object({ userId: z.string(), roles: z.array(z.string()), details: createdDetails })
  .meta({ id: 'Member' });

const found = (role: string) => ({
  200: {
    schema: searchAnswer(member),
    example: exampleSearch({ userId: 'importer', roles: [role], details: exampleCreated }),
  },
});
const search = {
  schema: memberSearch,
  error: 'MEMBER-SEARCH',
  examples: { 'first ten': { query: { limit: 10 } } },
} as const;

export const memberOperations = operations({
  addOrgMember: {
    path: 'POST /management/v1/orgs/me/members',
    who: OWNER,
    of: 'org',
    summary: 'Add a member to the organization',
    description: 'The user can belong to another organization if the caller is allowed to read the user.',
    body: {
      schema: orgMember,
      error: 'MEMBER-INVALID',
      examples: { owner: { userId: 'importer', roles: ['ORG_OWNER'] } },
    },
    answers: { 200: created },
    errors: ['USER-NOT-FOUND', 'MEMBER-EXISTS', 'ORG-STATE'],
  },
  searchOrgMembers: {
    path: 'POST /management/v1/orgs/me/members/_search',
    who: OWNER,
    of: 'org',
    summary: 'List the members of the organization',
    body: search,
    answers: found('ORG_OWNER'),
  },
  removeOrgMember: {
    path: 'DELETE /management/v1/orgs/me/members/{userId}',
    who: OWNER,
    of: 'org',
    summary: 'Remove a member from the organization',
    answers: { 200: changed },
    errors: ['MEMBER-NOT-FOUND', 'ORG-STATE'],
  },
  addInstanceMember: {
    path: 'POST /admin/v1/members',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Make a user an IAM_OWNER',
    body: {
      schema: instanceMember,
      error: 'MEMBER-INVALID',
      examples: { owner: { userId: 'importer', roles: ['IAM_OWNER'] } },
    },
    answers: { 200: created },
    errors: ['USER-NOT-FOUND', 'MEMBER-EXISTS'],
  },
  searchInstanceMembers: {
    path: 'POST /admin/v1/members/_search',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'List the members of the instance',
    body: search,
    answers: found('IAM_OWNER'),
  },
  removeInstanceMember: {
    path: 'DELETE /admin/v1/members/{userId}',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Remove a member from the instance',
    description: 'The last active IAM_OWNER cannot be removed.',
    answers: { 200: changed },
    errors: ['MEMBER-LAST-OWNER', 'MEMBER-NOT-FOUND'],
  },
});
