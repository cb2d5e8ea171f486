/**
 * The OpenAPI document, built from the schemas that validate requests.
 * Guarantee: an operation's name, roles and security come from the table of permissions, not from a second list.
 */
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { id } from '../fields/fields.ts';
import { clientOperations } from './clients.ts';
import { diagnosticsOperations } from './diagnostics.ts';
import { errorAnswers } from './errors.ts';
import { eventOperations } from './events.ts';
import { draftOperations } from './imports/drafts.ts';
import { importOperations } from './imports/imports.ts';
import { oauthPaths } from './oauth.ts';
import { type Operations, operationObject } from './operation.ts';
import { orgOperations } from './orgs.ts';
import { passwordSourceOperations } from './password-sources.ts';
import { policyOperations } from './policies.ts';
import { publicPaths } from './public.ts';
import { sessionOperations } from './sessions.ts';
import { credentialOperations } from './users/credentials.ts';
import { humanOperations } from './users/humans.ts';
import { loginOperations } from './users/logins.ts';
import { machineOperations } from './users/machines.ts';
import { memberOperations } from './users/members.ts';
import { totpOperations } from './users/totp.ts';
import { userOperations } from './users/users.ts';

/** In the order in which they are shown. */
const FEATURES: [tag: string, description: string, Operations][] = [
  ['Organizations', 'Set up, create and find organizations.', orgOperations],
  ['Users', 'Create, find, change and delete users.', { ...humanOperations, ...userOperations }],
  ['Email, phone, password', 'Change and verify what a user signs in with.', credentialOperations],
  ['Second factor', 'One-time codes of an authenticator app (TOTP).', totpOperations],
  [
    'Imports',
    'Import users with their password hashes, and control a running import.',
    { ...importOperations, ...draftOperations },
  ],
  [
    'Password sources',
    'Other systems that verify the passwords of imported users at their first sign-in.',
    passwordSourceOperations,
  ],
  ['Machine users', 'Users that are programs, with their tokens, keys and secrets.', machineOperations],
  ['Members', 'Roles in an organization and in the instance.', memberOperations],
  ['Sessions', 'Check the password of a user.', sessionOperations],
  ['Logins', 'See and end where a user is logged in.', loginOperations],
  ['Password age', 'Rules for new passwords, and the age at which a password expires.', policyOperations],
  ['OAuth clients', 'Applications that sign users in.', clientOperations],
  ['Audit events', 'Who did what, from where.', eventOperations],
  ['Diagnostics', 'What an operator must know about the stores and the workers.', diagnosticsOperations],
];
const OTHER_TAGS = [
  { name: 'OAuth', description: 'OAuth 2.0 and OpenID Connect.' },
  { name: 'Operations', description: 'Health, metrics and this document.' },
];

const DESCRIPTION = `Errors have the body \`Error\`. Match on \`details[0].id\`: it is stable. An unknown path returns 404, or 401
without a valid token. A method that a path does not support returns 405 with an \`Allow\` header. Every response has an
\`x-request-id\` header. Request bodies can use camelCase or snake_case names. A field that is null is treated as absent.
\`/v2/users\` and \`/v2/sessions\` are aliases of \`/v2beta/users\` and \`/v2beta/sessions\`, with everything below them.`;

const LICENSE = { name: 'Apache License 2.0', identifier: 'Apache-2.0' };

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** @param of version of the service, and its public URL without a trailing slash */
export function openApiDocument({ version, baseUrl }: { version: string; baseUrl: string }) {
  return createDocument(
    {
      openapi: '3.1.0',
      info: { title: 'Muster', version, description: DESCRIPTION, license: LICENSE },
      servers: [{ url: baseUrl }],
      tags: [...FEATURES.map(([name, description]) => ({ name, description })), ...OTHER_TAGS],
      security: [{ bearer: [] }, { oauth2: Object.keys(SCOPES) }],
      paths: paths(),
      components: {
        parameters: { ...pathParameters(), orgHeader: ORG_HEADER },
        responses: errorAnswers(),
        securitySchemes: securitySchemes(baseUrl),
      },
    },
    // Custom fields have an empty schema; their `meta` describes them.
    { allowEmptySchema: { custom: true } },
  );
}

function paths(): ZodOpenApiPathsObject {
  const found: ZodOpenApiPathsObject = {};
  for (const [tag, , operations] of FEATURES) {
    for (const [route, operation] of Object.entries(operations)) {
      const [method = '', path = ''] = route.split(' ');
      found[path] = { ...found[path], [method.toLowerCase()]: operationObject(operation, path, tag) };
    }
  }
  return { ...found, ...oauthPaths, ...publicPaths };
}

const ORG_HEADER = {
  name: 'x-service-orgid',
  in: 'header',
  description:
    'The organization to act on. Default: the organization of the caller. The caller needs the role in this organization. `x-zitadel-orgid` is an alias.',
  schema: { type: 'string' },
} as const;

function pathParameters() {
  const routes = FEATURES.flatMap(([, , operations]) => Object.keys(operations));
  const names = new Set(routes.flatMap((route) => [...route.matchAll(/\{(\w+)\}/g)].map((match) => String(match[1]))));
  return Object.fromEntries([...names].map((name) => [name, id().meta({ param: { name, in: 'path' } })]));
}

/** The two scopes of the API. */
const SCOPES = {
  openid: 'Identify the user.',
  'urn:service:iam:org:project:id:service:aud': 'Call this API.',
};

function securitySchemes(baseUrl: string) {
  const authorizationCode = {
    authorizationUrl: `${baseUrl}/oauth/v2/authorize`,
    tokenUrl: `${baseUrl}/oauth/v2/token`,
    scopes: SCOPES,
  };
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A personal access token, or an OAuth access token issued by this service.',
    },
    oauth2: { type: 'oauth2', flows: { authorizationCode } },
  } as const;
}
