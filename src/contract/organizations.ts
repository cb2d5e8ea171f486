/** Organizations: what a request may contain, and the operations on them. */
import { z } from 'zod';
import { bool, emailAddress, gender, id, language, requiredText, text, userName } from '../platform/fields.ts';
import { paging } from '../platform/http/answers.ts';
import { mobileNumber, phoneIfAny } from '../platform/phone.ts';
import { domainName } from './domain-name.ts';
import { orgRoleList } from './members.ts';
import { operations } from './operation.ts';
import { ANY_ROLE, IAM_OWNER_ONLY, OWNER } from './roles.ts';
import {
  changed,
  createdDetails,
  details,
  exampleCreated,
  exampleDetails,
  exampleSearch,
  searchAnswer,
} from './shapes.ts';

/** The bare user name; `userName@domain`; a verified address that no other user of the organization has. */
export const SIGN_IN_NAMES = ['userName', 'loginName', 'email'] as const;

export const signInNamesBody = z.object({
  signInNames: z
    .array(z.enum(SIGN_IN_NAMES, `must be one of ${SIGN_IN_NAMES.join(', ')}`))
    .min(1, 'must have at least one entry')
    .max(SIGN_IN_NAMES.length, `must have at most ${SIGN_IN_NAMES.length} entries`)
    .transform((names) => SIGN_IN_NAMES.filter((name) => names.includes(name))),
});

const profile = z.object({
  firstName: requiredText(200),
  lastName: requiredText(200),
  nickName: text(200).default(''),
  displayName: text(200).default(''),
  preferredLanguage: language().default(''),
  gender: gender().default('GENDER_UNSPECIFIED'),
});

const human = z.object({
  userName: userName(),
  profile,
  email: z.object({ email: emailAddress(), isEmailVerified: bool().default(false) }),
  phone: phoneIfAny(z.object({ phone: mobileNumber(50), isPhoneVerified: bool().default(false) })),
  password: requiredText(200),
});

export const orgSetUp = z.object({
  org: z.object({ name: requiredText(200), domain: domainName().optional(), orgId: id().optional() }),
  human,
  roles: orgRoleList().optional(),
});
export type OrgSetUp = z.output<typeof orgSetUp>;

export const newOrg = z.object({ name: requiredText(200), domain: domainName().optional(), orgId: id().optional() });

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** An origin, with or without a slash at its end. */
const origin = requiredText(200).transform((text, ctx) => {
  const url = URL.parse(text);
  const isOrigin = url !== null && [url.origin, `${url.origin}/`].includes(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (isOrigin && isSafe) return url.origin;
  const message = 'must be an origin such as https://app.example.com, without a path; http only on a loopback address';
  if (text !== '') ctx.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const MAX_URLS = 50;

export const allowedUrlsBody = z.object({
  allowedUrls: z
    .array(origin)
    .max(MAX_URLS, `must have at most ${MAX_URLS} entries`)
    .transform((list) => [...new Set(list)]),
});

/** An organization that is deactivated or deleted: nobody acts for it. */
export const ORG_STATES = ['ORG_STATE_ACTIVE', 'ORG_STATE_INACTIVE', 'ORG_STATE_REMOVED'] as const;

const METHODS = ['TEXT_QUERY_METHOD_EQUALS'] as const;
const method = z.enum(METHODS, `must be ${METHODS[0]}`).optional();

const query = z
  .object({
    idQuery: z.object({ id: requiredText(200) }).optional(),
    nameQuery: z.object({ name: requiredText(200), method }).optional(),
    domainQuery: z.object({ domain: requiredText(200), method }).optional(),
  })
  .refine((q) => Object.values(q).filter((v) => v !== undefined).length === 1, 'must contain exactly one known query')
  .meta({ minProperties: 1, maxProperties: 1 });

export type OrgQuery = z.output<typeof query>;
export const orgSearch = z.object({
  query: paging(),
  queries: z.array(query).max(100, 'must have at most 100 queries').default([]),
});

const org = z
  .object({
    id: z.string(),
    details: createdDetails,
    state: z.enum(ORG_STATES),
    name: z.string(),
    primaryDomain: z.string().meta({ description: 'The part after the `@` in the login names of its users.' }),
    removalDate: z.iso
      .datetime()
      .optional()
      .meta({ description: 'When an organization that was deleted is removed for good.' }),
  })
  .meta({ id: 'Organization' });

const exampleOrg = {
  id: 'acme',
  details: exampleCreated,
  state: 'ORG_STATE_ACTIVE',
  name: 'Acme',
  primaryDomain: 'acme.example',
};
const oneOrg = { 200: { schema: z.object({ org }).meta({ id: 'OneOrganization' }), example: { org: exampleOrg } } };

export const orgOperations = operations({
  setUpOrg: {
    path: 'POST /admin/v1/orgs/_setup',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Set up an organization with its first user',
    description:
      'The user becomes a member with `roles` (default: ORG_OWNER). Without a domain in the body, the service makes one ' +
      'from the name. It sends a verification email if the address is not marked as verified. The password follows the ' +
      'rules of the instance (PASSWORD-POLICY).',
    body: {
      schema: orgSetUp,
      error: 'ORG-SETUP',
      examples: {
        minimal: {
          org: { name: 'Small Acme' },
          human: {
            userName: 'ann',
            profile: { firstName: 'Ann', lastName: 'Arbor' },
            email: { email: 'ann@acme.example' },
            password: 'correct horse battery staple',
          },
        },
        full: {
          org: { name: 'Acme', domain: 'acme.example', orgId: 'acme' },
          human: {
            userName: 'ann',
            profile: {
              firstName: 'Ann',
              lastName: 'Arbor',
              nickName: 'Annie',
              displayName: 'Ann A.',
              preferredLanguage: 'en',
              gender: 'GENDER_FEMALE',
            },
            email: { email: 'ann@acme.example', isEmailVerified: true },
            phone: { phone: '+41 79 123 45 67', isPhoneVerified: true },
            password: 'correct horse battery staple',
          },
          roles: ['ORG_OWNER'],
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ details: createdDetails, orgId: z.string(), userId: z.string() }),
        example: { details: exampleCreated, orgId: 'acme', userId: '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11' },
        description: 'The organization, the user and the membership are created.',
      },
    },
    errors: ['ORG-ID-TAKEN', 'ORG-DOMAIN-TAKEN', 'PASSWORD-POLICY'],
  },
  createOrg: {
    path: 'POST /management/v1/orgs',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Create an organization',
    body: { schema: newOrg, error: 'ORG-INVALID', examples: { 'with an id': { name: 'Globex', orgId: 'globex' } } },
    answers: {
      200: {
        schema: z.object({ id: z.string(), details: createdDetails }),
        example: { id: 'globex', details: { ...exampleCreated, resourceOwner: 'globex' } },
      },
    },
    errors: ['ORG-ID-TAKEN', 'ORG-DOMAIN-TAKEN'],
  },
  getMyOrg: {
    path: 'GET /management/v1/orgs/me',
    who: ANY_ROLE,
    of: 'org',
    summary: "Get the caller's organization",
    answers: oneOrg,
  },
  getAllowedUrls: {
    path: 'GET /management/v1/orgs/me/allowed_urls',
    who: ANY_ROLE,
    of: 'org',
    summary: 'Get the URLs that links in emails may lead to',
    answers: {
      200: {
        schema: z.object({ details, allowedUrls: z.array(z.string()) }),
        example: { details: exampleDetails, allowedUrls: ['https://portal.acme.example'] },
      },
    },
  },
  setAllowedUrls: {
    path: 'PUT /management/v1/orgs/me/allowed_urls',
    who: OWNER,
    of: 'org',
    summary: 'Set the URLs that links in emails may lead to',
    description:
      'A `urlTemplate` of a user of the organization must begin with one of these origins, with `BASE_URL`, or with the ' +
      'origin of a redirect URI of an OAuth client. Replaces the list.',
    body: {
      schema: allowedUrlsBody,
      error: 'ALLOWED-URLS',
      examples: { 'one origin': { allowedUrls: ['https://portal.acme.example'] } },
    },
    answers: { 200: changed },
    errors: ['ORG-STATE'],
  },
  getSignInNames: {
    path: 'GET /management/v1/orgs/me/sign_in_names',
    who: ANY_ROLE,
    of: 'org',
    summary: 'Get the names that users sign in with',
    answers: {
      200: {
        schema: z.object({ details, signInNames: z.array(z.enum(SIGN_IN_NAMES)) }),
        example: { details: exampleDetails, signInNames: ['userName', 'loginName', 'email'] },
      },
    },
  },
  setSignInNames: {
    path: 'PUT /management/v1/orgs/me/sign_in_names',
    who: OWNER,
    of: 'org',
    summary: 'Set the names that users sign in with',
    description:
      '`userName` is the bare user name, `loginName` the user name with the domain of the organization, `email` a ' +
      'verified address that no other user of the organization has. The default is all three. Replaces the list.',
    body: {
      schema: signInNamesBody,
      error: 'SIGN-IN-NAMES',
      examples: { 'without addresses': { signInNames: ['userName', 'loginName'] } },
    },
    answers: { 200: changed },
    errors: ['ORG-STATE'],
  },
  setWebhookSecret: {
    path: 'PUT /management/v1/orgs/me/webhook_secret',
    who: OWNER,
    of: 'org',
    summary: 'Create or replace the secret that signs webhooks of the organization',
    description:
      'The secret is shown only once, in this response. The previous secret is no longer used. Messages are signed ' +
      'according to Standard Webhooks 1.0.0: they have the headers `webhook-id`, `webhook-timestamp` and ' +
      '`webhook-signature`, which is an HMAC-SHA256 of id, timestamp and body.',
    answers: {
      200: {
        schema: z.object({ secret: z.string().meta({ pattern: '^whsec_[A-Za-z0-9+/]+=*$' }), details }),
        example: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', details: exampleDetails },
      },
    },
    errors: ['ORG-STATE'],
  },
  getOrg: {
    path: 'GET /admin/v1/orgs/{orgId}',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Get an organization',
    answers: oneOrg,
    errors: ['ORG-NOT-FOUND'],
  },
  searchOrgs: {
    path: 'POST /admin/v1/orgs/_search',
    rpc: 'zitadel.org.v2.OrganizationService/ListOrganizations',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Search organizations',
    description:
      'Returns the organizations that match all queries, ordered by id. Without queries, returns all organizations.',
    body: {
      schema: orgSearch,
      error: 'ORG-SEARCH',
      examples: {
        'by domain': { query: { limit: 10 }, queries: [{ domainQuery: { domain: 'acme.example' } }] },
      },
    },
    answers: { 200: { schema: searchAnswer(org), example: exampleSearch(exampleOrg) } },
  },
});
