/** Password sources: the settings of each kind, what is stored of them, and the operations on them. */
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { operations } from './operation.ts';
import { OWNER } from './roles.ts';
import {
  AT,
  changed,
  createdDetails,
  exampleCreated,
  exampleSearch,
  searchAnswer,
  timeInput,
  timestampOrNull,
  webhookUrl,
} from './shapes.ts';

const MAX_DN = 1000;
const MAX_CERTIFICATE = 100_000;
const MS = 'must be a whole number of milliseconds from 500 to 10000';
const RATE = 'must be a number from 0.1 to 1000';

const secret = () => requiredText(1000).meta({ format: 'password', writeOnly: true });

/** Placeholders of `userName`. */
const USER_PLACEHOLDERS = ['userName', 'loginName', 'email', 'userId'] as const;
export type UserPlaceholder = (typeof USER_PLACEHOLDERS)[number];
const USER_NAME = `must contain one of ${USER_PLACEHOLDERS.map((p) => `{${p}}`).join(', ')}`;
const userName = requiredText(200)
  .refine((text) => USER_PLACEHOLDERS.some((placeholder) => text.includes(`{${placeholder}}`)), USER_NAME)
  .default('{userName}')
  .meta({ description: 'The name of a user at the source, with one of the placeholders.' });

const until = timeInput()
  .refine((date) => date.getTime() > Date.now(), 'must be in the future')
  .optional()
  .meta({ description: 'From then on, users who have not signed in get the initialisation email.' });

const common = {
  name: requiredText(200),
  userName,
  until,
  timeoutMs: z.number(MS).int(MS).min(500, MS).max(10_000, MS).default(5000),
  checksPerSecond: z.number(RATE).min(0.1, RATE).max(1000, RATE).default(10),
};

const withName = (text: string) => text.includes('{name}');

const ldapSettings = z
  .object({
    url: requiredText(2000).refine(isLdapUrl, 'must be a URL such as ldaps://ldap.example.com'),
    userDn: requiredText(MAX_DN).refine(withName, 'must contain {name}').optional(),
    searchBase: requiredText(MAX_DN).optional(),
    searchFilter: requiredText(MAX_DN).refine(withName, 'must contain {name}').optional(),
    bindDn: requiredText(MAX_DN).optional(),
    bindPassword: secret().optional(),
    caCertificate: requiredText(MAX_CERTIFICATE)
      .refine((pem) => pem.includes('-----BEGIN CERTIFICATE-----'), 'must be a certificate in PEM')
      .optional(),
  })
  .superRefine((settings, ctx) => {
    for (const [path, message] of ldapProblems(settings)) ctx.addIssue({ code: 'custom', path: [path], message });
  });

const oauthSettings = z.object({
  tokenUrl: webhookUrl(),
  clientId: requiredText(500),
  clientSecret: secret().optional(),
  clientAuth: z.enum(['post', 'basic'], 'must be post or basic').default('post'),
  scope: requiredText(1000).optional(),
  audience: requiredText(1000).optional(),
  realm: requiredText(200).optional(),
});

const cognitoSettings = z.object({
  region: requiredText(30).regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'must be a region such as eu-central-1'),
  clientId: requiredText(200),
  clientSecret: secret().optional(),
  endpoint: webhookUrl().optional(),
});

const httpSource = z.object({ kind: z.literal('http'), ...common, settings: z.object({ url: webhookUrl() }) });
const otherSources = [
  z.object({ kind: z.literal('ldap'), ...common, settings: ldapSettings }),
  z.object({ kind: z.literal('oauth-password'), ...common, settings: oauthSettings }),
  z.object({ kind: z.literal('cognito'), ...common, settings: cognitoSettings }),
] as const;
const KINDS = 'must be http, ldap, oauth-password or cognito';

/** The body of `POST /management/v1/password_sources`. */
export const newSource = z.discriminatedUnion('kind', [httpSource, ...otherSources], KINDS);
export type NewSource = z.output<typeof newSource>;

const newSecret = z
  .boolean('must be true or false')
  .default(false)
  .meta({ description: 'Replaces the secret that signs the requests; the new one is in the answer, and only once.' });

/** The body of `PUT /management/v1/password_sources/{sourceId}`. */
export const changedSource = z.discriminatedUnion('kind', [httpSource.extend({ newSecret }), ...otherSources], KINDS);
export type ChangedSource = z.output<typeof changedSource>;

export const SOURCE_KINDS = ['http', 'ldap', 'oauth-password', 'cognito'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** The settings that are stored encrypted and never returned. */
export const SECRET_SETTINGS = ['clientSecret', 'bindPassword'] as const;

/** The body of `POST /management/v1/password_sources/{sourceId}/_test`, with the name of a user at the source. */
export const testBody = z.object({ userName: requiredText(500), password: requiredText(200) });

const sourceState = z.enum(['PASSWORD_SOURCE_STATE_ACTIVE', 'PASSWORD_SOURCE_STATE_ENDED']);

const source = z
  .object({
    sourceId: z.string(),
    name: z.string(),
    kind: z.enum(SOURCE_KINDS),
    state: sourceState,
    settings: z.record(z.string(), z.unknown()).meta({ description: 'The settings of its kind, without secrets.' }),
    userName: z.string(),
    timeoutMs: z.int(),
    checksPerSecond: z.number(),
    until: timestampOrNull(),
    endDate: timestampOrNull(),
    details: createdDetails,
  })
  .meta({ id: 'PasswordSource' });

const sourceId = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const settings = { url: 'ldaps://ldap.acme.example', userDn: 'uid={name},ou=people,dc=acme,dc=example' };
const exampleSource = {
  sourceId,
  name: 'The old directory',
  kind: 'ldap',
  state: 'PASSWORD_SOURCE_STATE_ACTIVE',
  settings,
  userName: '{userName}',
  timeoutMs: 5000,
  checksPerSecond: 10,
  until: null,
  endDate: null,
  details: exampleCreated,
};

export const passwordSourceOperations = operations({
  addPasswordSource: {
    path: 'POST /management/v1/password_sources',
    who: OWNER,
    of: 'org',
    summary: 'Add a password source',
    description:
      'An import refers to it (`passwordSource`) for users whose password no export contains. At their first sign-in, ' +
      'the password that they type is verified at the source and then hashed here. `secret` is only in the answer for ' +
      'the kind `http`, and only once: the requests are signed with it according to Standard Webhooks 1.0.0. Other ' +
      'secrets are stored encrypted and never returned.',
    body: {
      schema: newSource,
      error: 'PASSWORD-SOURCE-INVALID',
      examples: {
        ldap: { name: 'The old directory', kind: 'ldap', settings },
        http: { name: 'The old shop', kind: 'http', settings: { url: 'https://shop.acme.example/password-check' } },
        'oauth-password': {
          name: 'The old realm',
          kind: 'oauth-password',
          settings: {
            tokenUrl: 'https://sso.acme.example/realms/acme/protocol/openid-connect/token',
            clientId: 'migration',
            clientSecret: 'not a secret of anybody',
          },
          until: '2099-01-31T12:00:00Z',
        },
        cognito: {
          name: 'The old user pool',
          kind: 'cognito',
          userName: '{email}',
          settings: { region: 'eu-central-1', clientId: '1h57kf5cpq17m0eml12EXAMPLE' },
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ sourceId: z.string(), secret: z.string().optional(), details: createdDetails }),
        example: { sourceId, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', details: exampleCreated },
      },
    },
    errors: ['PASSWORD-SOURCES-FULL', 'ORG-STATE'],
  },
  listPasswordSources: {
    path: 'GET /management/v1/password_sources',
    who: OWNER,
    of: 'org',
    summary: 'List the password sources of an organization',
    answers: { 200: { schema: searchAnswer(source), example: exampleSearch(exampleSource) } },
  },
  getPasswordSource: {
    path: 'GET /management/v1/password_sources/{sourceId}',
    who: OWNER,
    of: 'source',
    summary: 'Get a password source',
    answers: {
      200: { schema: z.object({ passwordSource: source }), example: { passwordSource: exampleSource } },
    },
  },
  changePasswordSource: {
    path: 'PUT /management/v1/password_sources/{sourceId}',
    who: OWNER,
    of: 'source',
    summary: 'Change a password source',
    description:
      'Replaces the name, settings, limits and end of a source that has not ended; its kind and its users stay. What the ' +
      'body leaves out gets its default, and without `until` the source has no end. A secret that it leaves out stays, ' +
      'unless the address changes: a stored secret is never sent to another address. Sign-ins use the change at once.',
    body: {
      schema: changedSource,
      // The secrets that stay are added before it is judged.
      reads: z.unknown(),
      error: 'PASSWORD-SOURCE-INVALID',
      examples: {
        ldap: { name: 'The old directory', kind: 'ldap', settings, until: '2099-01-31T12:00:00Z', checksPerSecond: 25 },
        'a new secret': {
          name: 'The old shop',
          kind: 'http',
          settings: { url: 'https://shop.acme.example/password-check' },
          newSecret: true,
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ secret: z.string().optional(), details: changed.schema.shape.details }),
        example: { details: changed.example.details },
      },
    },
    errors: ['PASSWORD-SOURCE-ENDED', 'ORG-STATE'],
  },
  getPasswordSourceStatus: {
    path: 'GET /management/v1/password_sources/{sourceId}/status',
    who: OWNER,
    of: 'source',
    summary: 'Get the progress of a password source',
    description: 'How many users were migrated, on which days (UTC), and how many still depend on the source.',
    answers: {
      200: {
        schema: z.object({
          sourceId: z.string(),
          state: sourceState,
          users: z.object({ remaining: z.int(), migrated: z.int() }),
          perDay: z.array(z.object({ date: z.string().meta({ format: 'date' }), migrated: z.int() })),
        }),
        example: {
          sourceId,
          state: 'PASSWORD_SOURCE_STATE_ACTIVE',
          users: { remaining: 812, migrated: 188 },
          perDay: [{ date: AT.slice(0, 10), migrated: 188 }],
        },
      },
    },
  },
  testPasswordSource: {
    path: 'POST /management/v1/password_sources/{sourceId}/_test',
    who: OWNER,
    of: 'source',
    tries: 'always',
    summary: 'Verify a password at a password source',
    description:
      'Asks the source as a sign-in does, and changes nothing. `userName` is the name of the user at the source. ' +
      '`reason` says why an answer is missing.',
    body: {
      schema: testBody,
      error: 'PASSWORD-SOURCE-TEST',
      examples: { 'a user': { userName: 'ann', password: 'correct horse battery staple' } },
    },
    answers: {
      200: {
        schema: z.object({
          result: z.enum(['YES', 'NO', 'UNAVAILABLE']),
          reason: z.string().optional(),
          passwordChangeRequired: z.boolean().optional(),
          milliseconds: z.int(),
        }),
        example: { result: 'UNAVAILABLE', reason: 'no answer in time', milliseconds: 5003 },
      },
    },
  },
  endPasswordSource: {
    path: 'POST /management/v1/password_sources/{sourceId}/_end',
    who: OWNER,
    of: 'source',
    summary: 'End a password source',
    description:
      'Nobody is verified there any more. Users who have not signed in get the initialisation email, as users without ' +
      'a password do, at the rate of emails. Idempotent: repeating the call has no further effect.',
    answers: { 200: changed },
    errors: ['ORG-STATE'],
  },
  removePasswordSource: {
    path: 'DELETE /management/v1/password_sources/{sourceId}',
    who: OWNER,
    of: 'source',
    summary: 'Delete a password source',
    answers: { 200: changed },
    errors: ['PASSWORD-SOURCE-IN-USE', 'ORG-STATE'],
  },
});

interface LdapParts {
  userDn?: string | undefined;
  searchBase?: string | undefined;
  searchFilter?: string | undefined;
  bindDn?: string | undefined;
  bindPassword?: string | undefined;
}

function ldapProblems({ userDn, searchBase, searchFilter, bindDn, bindPassword }: LdapParts): [string, string][] {
  const isSearched = searchBase !== undefined || searchFilter !== undefined || bindDn !== undefined;
  const found: [string, string][] = [];
  if (userDn !== undefined && isSearched) found.push(['userDn', 'must not be given together with a search']);
  if (userDn === undefined && !isSearched) found.push(['userDn', 'is required without searchBase and searchFilter']);
  if (isSearched && searchBase === undefined) found.push(['searchBase', 'is required for a search']);
  if (isSearched && searchFilter === undefined) found.push(['searchFilter', 'is required for a search']);
  if ((bindDn === undefined) !== (bindPassword === undefined)) {
    found.push([bindDn === undefined ? 'bindDn' : 'bindPassword', 'is required, as the other one is given']);
  }
  return found;
}

function isLdapUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hostname } = new URL(text);
  return /^ldaps?:$/.test(protocol) && hostname !== '' && username === '' && password === '';
}
