/**
 * Users of both kinds: their states, the user object in both forms, and the operations that read, search and change
 * users.
 */
import { z } from 'zod';
import type { ErrorId } from '../platform/errors.ts';
import { GENDERS, newUserId, requiredText, text, userName } from '../platform/fields.ts';
import { LARGE_BODY } from '../platform/http/parse.ts';
import { type Operation, operations } from './operation.ts';
import {
  ANY_ROLE,
  ANY_ROLE_OR_SELF,
  INSTANCE_ROLES,
  MANAGER,
  MANAGER_OR_SELF,
  ORG_ROLES,
  OWNER,
  OWNER_OR_SELF,
  SELF,
} from './roles.ts';
import {
  AT,
  changed,
  createdDetails,
  details,
  digits,
  exampleCreated,
  exampleDetails,
  exampleSearch,
  OWNER_PROOF,
  proofBody,
  searchAnswer,
  timestamp,
} from './shapes.ts';
import { userSearch } from './user-search.ts';

/** The states of a user, as the table has them. */
export const USER_STATES = ['active', 'inactive', 'locked', 'initial'] as const;
export type UserState = (typeof USER_STATES)[number];

/** The states that an import may give a user. */
export const IMPORTED_STATES = ['active', 'inactive', 'locked'] as const satisfies readonly UserState[];
export type ImportedState = (typeof IMPORTED_STATES)[number];

/** A state as the API shows it: `USER_STATE_ACTIVE` for `active`. */
export type StateName<S extends string = UserState> = `USER_STATE_${Uppercase<S>}`;

/** Turns `active` into `USER_STATE_ACTIVE`. */
export function stateName<S extends string>(state: S): StateName<S> {
  return `USER_STATE_${state.toUpperCase() as Uppercase<S>}`;
}

/** Turns `USER_STATE_ACTIVE` into `active`. */
export function stateOfName<S extends UserState>(name: StateName<S>): S {
  return name.replace('USER_STATE_', '').toLowerCase() as S;
}

export const ACCESS_TOKEN_TYPES = ['ACCESS_TOKEN_TYPE_BEARER', 'ACCESS_TOKEN_TYPE_JWT'] as const;

const names = {
  userId: z.string(),
  state: z.enum(USER_STATES.map(stateName)).meta({ id: 'UserState' }),
  username: z.string(),
  loginNames: z.array(z.string()).meta({ minItems: 1 }),
  preferredLoginName: z.string(),
};

const human = z
  .object({
    ...names,
    profile: z.object({
      givenName: z.string(),
      familyName: z.string(),
      nickName: z.string(),
      displayName: z.string(),
      preferredLanguage: z.string(),
      gender: z.enum(GENDERS),
      avatarUrl: z.string(),
    }),
    email: z.object({ email: z.string(), isVerified: z.boolean() }),
    phone: z.object({ phone: z.string(), isVerified: z.boolean() }).optional(),
    passwordChangeRequired: z.boolean(),
    withoutMailCodes: z.literal(true).optional().meta({
      description:
        'The user is left out of mail codes: no code signs them in, and “Forgot password?” sends them nothing. Absent for all others.',
    }),
  })
  .meta({ id: 'Human' });

const machine = z
  .object({
    name: z.string(),
    description: z.string(),
    hasSecret: z.boolean(),
    accessTokenType: z.enum(ACCESS_TOKEN_TYPES),
  })
  .meta({ id: 'Machine' });

const ONE_KIND = { oneOf: [{ required: ['human'] }, { required: ['machine'] }] };

/** The user object of `/v2beta`. */
export const user = z
  .object({ ...names, human: human.optional(), machine: machine.optional() })
  .meta({ id: 'User', description: 'Either a human or a machine user.', ...ONE_KIND });

/** A user in a search result, with its details in the same object. */
export const foundUser = z
  .object({ details, ...names, human: human.optional(), machine: machine.optional() })
  .meta({ id: 'FoundUser', ...ONE_KIND });

const namesV1 = {
  id: z.string(),
  details: createdDetails,
  state: names.state,
  userName: z.string(),
  loginNames: names.loginNames,
  preferredLoginName: z.string(),
};

const humanV1 = z
  .object({
    profile: z.object({
      firstName: z.string(),
      lastName: z.string(),
      nickName: z.string(),
      displayName: z.string(),
      preferredLanguage: z.string(),
      gender: z.enum(GENDERS),
      avatarUrl: z.string(),
    }),
    email: z.object({ email: z.string(), isEmailVerified: z.boolean() }),
    phone: z.object({ phone: z.string(), isPhoneVerified: z.boolean() }).optional(),
  })
  .meta({ id: 'HumanV1' });

/** The user object of `/management/v1` and `/auth/v1`. */
export const userV1 = z.object({ ...namesV1, human: humanV1.optional(), machine: machine.optional() }).meta({
  id: 'UserV1',
  description: 'The same user as in `/v2beta`, with the names of earlier versions.',
  ...ONE_KIND,
});

/** A new machine user. */
export const newMachine = z.object({
  userId: newUserId().optional(),
  userName: userName(),
  name: requiredText(200),
  description: text(500).default(''),
  accessTokenType: z
    .enum(ACCESS_TOKEN_TYPES, `must be one of ${ACCESS_TOKEN_TYPES.join(', ')}`)
    .default('ACCESS_TOKEN_TYPE_BEARER'),
});

const metadata = z.object({ key: z.string(), value: z.string().meta({ contentEncoding: 'base64' }) });
const membership = z.object({
  id: z.string(),
  name: z.string(),
  primaryDomain: z.string(),
  roles: z.array(z.enum(ORG_ROLES)),
});

const exampleNames = {
  userId: 'bob',
  state: 'USER_STATE_ACTIVE',
  username: 'bob',
  loginNames: ['bob@acme.example', 'bob'],
  preferredLoginName: 'bob@acme.example',
};

export const exampleUser = {
  ...exampleNames,
  human: {
    ...exampleNames,
    profile: {
      givenName: 'Bob',
      familyName: 'Burns',
      nickName: '',
      displayName: 'Bob Burns',
      preferredLanguage: 'de-CH',
      gender: 'GENDER_UNSPECIFIED',
      avatarUrl: '',
    },
    email: { email: 'bob@acme.example', isVerified: true },
    phone: { phone: '+41791234567', isVerified: false },
    passwordChangeRequired: false,
  },
};

export const exampleFoundUser = { details: exampleDetails, ...exampleUser };

export const exampleUserV1 = {
  id: 'bob',
  details: exampleCreated,
  state: 'USER_STATE_ACTIVE',
  userName: 'bob',
  loginNames: exampleNames.loginNames,
  preferredLoginName: exampleNames.preferredLoginName,
  human: {
    profile: {
      firstName: 'Bob',
      lastName: 'Burns',
      nickName: '',
      displayName: 'Bob Burns',
      preferredLanguage: 'de-CH',
      gender: 'GENDER_UNSPECIFIED',
      avatarUrl: '',
    },
    email: { email: 'bob@acme.example', isEmailVerified: true },
  },
};

/** The lists of `getUserData`, in their order. */
export const STORED_LISTS = [
  'links',
  'instanceRoles',
  'organizationRoles',
  'authenticatorApps',
  'otherFactors',
  'passkeys',
  'sessions',
  'browsers',
  'applications',
  'personalAccessTokens',
  'networks',
  'codes',
  'messages',
  'messagesOfTheDay',
  'imports',
  'metadata',
  'events',
] as const;

const exampleData = {
  exportedAt: AT,
  account: { id: exampleUser.userId, state: 'active', createdAt: AT, hasPassword: true },
  organization: { id: '300', name: 'Acme' },
  user: exampleUser,
  ...Object.fromEntries(STORED_LISTS.map((name) => [name, []])),
};

export const userOperations = operations({
  getMe: {
    path: 'GET /management/v1/me',
    who: SELF,
    of: 'caller',
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
  getMyUser: {
    path: 'GET /auth/v1/users/me',
    who: SELF,
    of: 'caller',
    summary: 'Get the calling user, in the form of earlier versions',
    answers: { 200: { schema: z.object({ user: userV1 }), example: { user: exampleUserV1 } } },
  },
  getUser: {
    path: 'GET /v2beta/users/{userId}',
    rpc: 'zitadel.user.v2.UserService/GetUserByID',
    who: ANY_ROLE_OR_SELF,
    of: 'user',
    summary: 'Get a user',
    answers: {
      200: { schema: z.object({ details, user }), example: { details: exampleDetails, user: exampleUser } },
    },
  },
  getUserMetadata: {
    path: 'GET /v2beta/users/{userId}/metadata',
    who: ANY_ROLE_OR_SELF,
    of: 'user',
    summary: 'Get the metadata of a user',
    answers: { 200: { schema: searchAnswer(metadata), example: exampleSearch({ key: 'plan', value: 'Z29sZA==' }) } },
  },
  searchUsers: {
    path: 'POST /v2beta/users',
    rpc: 'zitadel.user.v2.UserService/ListUsers',
    who: ANY_ROLE,
    of: 'orgs',
    orgHeader: true,
    summary: 'Search users',
    description:
      'Returns the users who match all queries, ordered by user name. The search covers the organizations in which the ' +
      'caller has a role, or only that of `x-service-orgid`. To get the next page, send the same body with ' +
      '`query.pageToken`: it takes the same time for every page, while an `offset` reads all users before it. ' +
      '`totalResult` is exact up to 10,000, and an estimate above.',
    body: {
      schema: userSearch,
      error: 'USER-SEARCH',
      limits: LARGE_BODY,
      examples: {
        'by login name': { query: { limit: 10 }, queries: [{ loginNameQuery: { loginName: 'bob@acme.example' } }] },
        'by the beginning of the name': {
          queries: [{ userNameQuery: { userName: 'bo', method: 'TEXT_QUERY_METHOD_STARTS_WITH' } }],
        },
        'by the beginning of the display name': {
          queries: [
            { displayNameQuery: { displayName: 'fay f', method: 'TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE' } },
          ],
        },
        'by phone number': { queries: [{ phoneQuery: { number: '+41 79 123 45 67' } }] },
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
    errors: ['ORG-NOT-FOUND'],
  },
  searchOrgUsers: {
    path: 'POST /management/v1/users/_search',
    who: ANY_ROLE,
    of: 'org',
    summary: 'Search the users of one organization, in the form of earlier versions',
    body: {
      schema: userSearch,
      error: 'USER-SEARCH',
      limits: LARGE_BODY,
      examples: { 'by login name': { queries: [{ loginNameQuery: { loginName: 'bob@acme.example' } }] } },
    },
    answers: { 200: { schema: userPage(userV1), example: exampleSearch(exampleUserV1) } },
  },
  deactivateUser: state(
    'POST /v2beta/users/{userId}/deactivate',
    'Deactivate a user',
    ['USER-STATE-INACTIVE', 'MEMBER-LAST-OWNER'],
    'Ends the sessions of the user.',
  ),
  reactivateUser: state('POST /v2beta/users/{userId}/reactivate', 'Reactivate a deactivated user', [
    'USER-STATE-ACTIVE',
    'USER-STATE-LOCKED',
    'USER-STATE-INITIAL',
  ]),
  lockUser: state(
    'POST /v2beta/users/{userId}/lock',
    'Lock a user',
    ['USER-STATE-INACTIVE', 'USER-STATE-LOCKED', 'MEMBER-LAST-OWNER'],
    'Ends the sessions of the user.',
  ),
  unlockUser: state(
    'POST /v2beta/users/{userId}/unlock',
    'Unlock a user',
    ['USER-STATE-ACTIVE', 'USER-STATE-INACTIVE', 'USER-STATE-INITIAL'],
    'Ends the timed locks of failed logins, in all networks. Of an active user it ends only these, and is refused if no failed login counts.',
  ),
  setMailCodes: {
    path: 'PUT /v2beta/users/{userId}/mail_codes',
    who: MANAGER,
    of: 'user',
    summary: 'Allow a user mail codes, or leave them out',
    description:
      'An import with `enterpriseMailCodes=false` leaves users out who came only by a connection of their company: no ' +
      'code by mail signs them in, and “Forgot password?” sends them nothing. With `allowed: true` the login policy ' +
      'decides again. Mails that a manager sends are not affected. Leaving a user out ends their codes for a sign-in and a password.',
    body: {
      schema: z.object({ allowed: z.boolean('must be true or false') }),
      error: 'USER-INVALID',
      examples: { 'mail codes for the user': { allowed: true } },
    },
    answers: { 200: changed },
    errors: ['USER-NOT-HUMAN'],
  },
  deleteUser: {
    path: 'DELETE /v2beta/users/{userId}',
    rpc: 'zitadel.user.v2.UserService/DeleteUser',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Delete a user',
    description:
      'The id and names of the user become free immediately. The last active IAM_OWNER cannot be deleted. Users delete ' +
      `themselves where \`deleteAccount\` of the login policy allows it, and are told by mail. ${OWNER_PROOF}`,
    body: { ...proofBody, error: 'USER-INVALID' },
    answers: { 200: changed },
    errors: ['MEMBER-LAST-OWNER', 'USER-DELETE-SELF', 'PASSWORD-CURRENT', 'AUTH-SIGN-IN-AGAIN', 'SESSION-FAILURES'],
  },
  getUserData: {
    path: 'GET /v2beta/users/{userId}/data',
    who: OWNER_OR_SELF,
    of: 'user',
    summary: 'Download what is stored about a person',
    description:
      'Everything that is stored about a user, except secrets: for a request for access under data protection law. ' +
      'Where somebody else acted on the user, it says who and when, but not from where. Users who call this for ' +
      'themselves must have signed in within the last 5 minutes.',
    answers: {
      200: {
        schema: z.object({
          exportedAt: timestamp(),
          account: z.record(z.string(), z.unknown()),
          organization: z.object({ id: z.string(), name: z.string() }),
          user,
          ...Object.fromEntries(STORED_LISTS.map((name) => [name, z.array(z.record(z.string(), z.unknown()))])),
        }),
        example: exampleData,
      },
    },
    errors: ['AUTH-SIGN-IN-AGAIN', 'EVENTS-SLOTS'],
  },
  eraseUser: {
    path: 'POST /v2beta/users/{userId}/erase',
    who: OWNER,
    of: 'user',
    summary: 'Erase a person',
    description:
      'Deletes the user, if this was not done before, and removes the person from imports, reports, the history of ' +
      'changes and audit events: workers replace the id by `erasedId`, and remove names, addresses and data. The audit ' +
      'event `user.erased` tells when they are done. This cannot be undone. The id stays taken in other organizations.',
    answers: {
      200: {
        schema: z.object({ details: changed.schema.shape.details, erasedId: z.string() }),
        example: { ...changed.example, erasedId: 'erased:0NnH1tQO4bUYwHhVYB7m2g' },
      },
    },
    errors: ['MEMBER-LAST-OWNER'],
  },
});

function state<const P extends Operation['path']>(
  path: P,
  summary: string,
  errors: readonly ErrorId[],
  description = '',
) {
  const answers = { 200: changed };
  const action = path.slice(path.lastIndexOf('/') + 1);
  const rpc = `zitadel.user.v2.UserService/${action.charAt(0).toUpperCase()}${action.slice(1)}User` as const;
  return {
    path,
    rpc,
    who: MANAGER,
    of: 'user',
    summary,
    description,
    answers,
    errors,
  } as const;
}

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
