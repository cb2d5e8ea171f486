/** Members of organizations and of the instance: roles, and the operations that give and take them. */
import { z } from 'zod';
import { id } from '../platform/fields.ts';
import { paging } from '../platform/http/answers.ts';
import type { Operations } from './operation.ts';
import { INSTANCE_ROLES, ORG_ROLES } from './permissions.ts';
import {
  changed,
  created,
  createdDetails,
  exampleCreated,
  exampleSearch,
  LAST_OWNER,
  NO_ORG,
  searchAnswer,
} from './shapes.ts';

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
const search = { schema: memberSearch, examples: { 'first ten': { query: { limit: 10 } } } };
const EXISTS = 'MEMBER-EXISTS: the user is already a member.';
const MISSING_USER = 'USER-NOT-FOUND: the user does not exist.';

export const memberOperations: Operations = {
  'POST /management/v1/orgs/me/members': {
    id: 'addOrgMember',
    summary: 'Add a member to the organization',
    description: 'The user can belong to another organization if the caller is allowed to read the user.',
    onOrg: true,
    body: { schema: orgMember, examples: { owner: { userId: 'importer', roles: ['ORG_OWNER'] } } },
    answers: { 200: created },
    errors: { 404: MISSING_USER, 409: EXISTS },
  },
  'POST /management/v1/orgs/me/members/_search': {
    id: 'searchOrgMembers',
    summary: 'List the members of the organization',
    onOrg: true,
    body: search,
    answers: found('ORG_OWNER'),
    errors: { 404: NO_ORG },
  },
  'DELETE /management/v1/orgs/me/members/{userId}': {
    id: 'removeOrgMember',
    summary: 'Remove a member from the organization',
    onOrg: true,
    answers: { 200: changed },
  },
  'POST /admin/v1/members': {
    id: 'addInstanceMember',
    summary: 'Make a user an IAM_OWNER',
    body: { schema: instanceMember, examples: { owner: { userId: 'importer', roles: ['IAM_OWNER'] } } },
    answers: { 200: created },
    errors: { 404: MISSING_USER, 409: EXISTS },
  },
  'POST /admin/v1/members/_search': {
    id: 'searchInstanceMembers',
    summary: 'List the members of the instance',
    body: search,
    answers: found('IAM_OWNER'),
  },
  'DELETE /admin/v1/members/{userId}': {
    id: 'removeInstanceMember',
    summary: 'Remove a member from the instance',
    description: 'The last active IAM_OWNER cannot be removed.',
    answers: { 200: changed },
    errors: { 400: LAST_OWNER },
  },
};
