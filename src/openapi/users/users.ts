/** Users in the OpenAPI document: reading and searching them, changing their state. */
import { z } from 'zod';
import { INSTANCE_ROLES, type OperationId, ORG_ROLES } from '../../access/permissions.ts';
import { userSearch } from '../../users/schema.ts';
import type { Operation, Operations } from '../operation.ts';
import { changed, details, digits, exampleDetails, exampleSearch, LAST_OWNER, searchAnswer } from '../shapes.ts';
import { exampleFoundUser, exampleUser, exampleUserV1, foundUser, user, userV1 } from './user-shapes.ts';

const metadata = z.object({ key: z.string(), value: z.string().meta({ contentEncoding: 'base64' }) });
const link = z.object({ idpId: z.string(), userId: z.string(), userName: z.string() });

const STATE = 'USER-STATE-…: the state of the user does not allow this action.';

function state(id: OperationId, summary: string, description = '', problem = STATE): Operation {
  return { id, summary, description, answers: { 200: changed }, errors: { 400: problem } };
}

const membership = z.object({
  id: z.string(),
  name: z.string(),
  primaryDomain: z.string(),
  roles: z.array(z.enum(ORG_ROLES)),
});

export const userOperations: Operations = {
  'GET /management/v1/me': {
    id: 'getMe',
    summary: 'Get the calling user and their roles',
    description: 'Returns the user whom the token belongs to, and their roles in each organization.',
    answers: {
      200: {
        schema: z
          .object({
            details,
            user,
            instanceRoles: z.array(z.enum(INSTANCE_ROLES)),
            organizations: z.array(membership),
          })
          .meta({ id: 'Me' }),
        example: {
          details: exampleDetails,
          user: exampleUser,
          instanceRoles: [],
          organizations: [{ id: 'acme', name: 'Acme', primaryDomain: 'acme.example', roles: ['ORG_OWNER'] }],
        },
      },
    },
  },
  'GET /auth/v1/users/me': {
    id: 'getMyUser',
    summary: 'Get the calling user, in the form of earlier versions',
    answers: { 200: { schema: z.object({ user: userV1 }), example: { user: exampleUserV1 } } },
  },
  'GET /v2beta/users/{userId}': {
    id: 'getUser',
    summary: 'Get a user',
    answers: {
      200: { schema: z.object({ details, user }), example: { details: exampleDetails, user: exampleUser } },
    },
  },
  'GET /v2beta/users/{userId}/metadata': {
    id: 'getUserMetadata',
    summary: 'Get the metadata of a user',
    answers: { 200: { schema: searchAnswer(metadata), example: exampleSearch({ key: 'plan', value: 'Z29sZA==' }) } },
  },
  'GET /v2beta/users/{userId}/links': {
    id: 'getUserLinks',
    summary: 'Get the identity provider links of a user',
    answers: {
      200: {
        schema: searchAnswer(link),
        example: exampleSearch({ idpId: 'google', userId: '1157', userName: 'Bob' }),
      },
    },
  },
  'POST /v2beta/users': {
    id: 'searchUsers',
    summary: 'Search users',
    description:
      'Returns the users who match all queries, ordered by user name. The search covers the organizations in which the ' +
      'caller has a role, or only that of `x-service-orgid`. To get the next page, send the same body with ' +
      '`query.pageToken`: it takes the same time for every page, while an `offset` reads all users before it. ' +
      '`totalResult` is exact up to 10,000, and an estimate above.',
    onOrg: true,
    body: {
      schema: userSearch,
      examples: {
        'by login name': { query: { limit: 10 }, queries: [{ loginNameQuery: { loginName: 'bob@acme.example' } }] },
        'by the beginning of the name': {
          queries: [{ userNameQuery: { userName: 'bo', method: 'TEXT_QUERY_METHOD_STARTS_WITH' } }],
        },
        'active users': {
          query: { offset: 0, limit: 10, asc: true },
          queries: [
            { organizationIdQuery: { organizationId: 'acme' } },
            { stateQuery: { state: 'USER_STATE_ACTIVE' } },
          ],
        },
      },
    },
    answers: { 200: { schema: userPage(foundUser), example: exampleSearch(exampleFoundUser) } },
    errors: { 404: 'ORG-NOT-FOUND: the organization of `x-service-orgid` does not exist.' },
  },
  'POST /management/v1/users/_search': {
    id: 'searchOrgUsers',
    summary: 'Search the users of one organization, in the form of earlier versions',
    onOrg: true,
    body: {
      schema: userSearch,
      examples: { 'by login name': { queries: [{ loginNameQuery: { loginName: 'bob@acme.example' } }] } },
    },
    answers: { 200: { schema: userPage(userV1), example: exampleSearch(exampleUserV1) } },
    errors: { 404: 'ORG-NOT-FOUND: the organization does not exist.' },
  },
  'POST /v2beta/users/{userId}/deactivate': state(
    'deactivateUser',
    'Deactivate a user',
    'Ends the sessions of the user.',
    `${STATE} ${LAST_OWNER}`,
  ),
  'POST /v2beta/users/{userId}/reactivate': state('reactivateUser', 'Reactivate a deactivated user'),
  'POST /v2beta/users/{userId}/lock': state(
    'lockUser',
    'Lock a user',
    'Ends the sessions of the user.',
    `${STATE} ${LAST_OWNER}`,
  ),
  'POST /v2beta/users/{userId}/unlock': state(
    'unlockUser',
    'Unlock a user',
    'Ends the timed locks of failed logins, in all networks. Of an active user it ends only these, and is refused if no failed login counts.',
  ),
  'DELETE /v2beta/users/{userId}': {
    id: 'deleteUser',
    summary: 'Delete a user',
    description: 'The id and names of the user become free immediately. The last active IAM_OWNER cannot be deleted.',
    answers: { 200: changed },
    errors: { 400: LAST_OWNER },
  },
};

function userPage<T extends z.ZodType>(result: T) {
  const totalIsEstimate = z.literal(true).optional().meta({ description: 'Absent when `totalResult` is exact.' });
  return z.object({
    details: z.object({ totalResult: digits(), totalIsEstimate }),
    result: z.array(result),
    nextPageToken: z
      .string()
      .optional()
      .meta({ description: 'The `pageToken` of the next page; absent on the last page.' }),
  });
}
