/**
 * The OpenAPI document, built from the schemas that validate requests.
 *
 * Guarantee: an operation's name, roles and security come from the table of permissions, not from a second list.
 */
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { errorBody, type FieldViolation, type StatusName } from '../platform/errors.ts';
import { id } from '../platform/fields.ts';
import { LARGE_BODY, SMALL_BODY } from '../platform/http/request-body.ts';
import { clientOperations } from './clients.ts';
import { credentialOperations, totpOperations } from './credentials.ts';
import { diagnosticsOperations } from './diagnostics.ts';
import { draftOperations } from './drafts.ts';
import { eventOperations } from './events.ts';
import { humanOperations } from './humans.ts';
import { importOperations } from './imports.ts';
import { machineOperations } from './machines.ts';
import { memberOperations } from './members.ts';
import { oauthPaths } from './oauth.ts';
import { ERROR_ANSWERS, type ErrorStatus, type Operations, operationObject } from './operation.ts';
import { organizationLimitOperations } from './organization-limits.ts';
import { organizationStateOperations } from './organization-states.ts';
import { orgOperations } from './organizations.ts';
import { passwordSourceOperations } from './password-sources.ts';
import { policyOperations } from './policies.ts';
import { loginOperations, sessionOperations } from './sessions.ts';
import { error } from './shapes.ts';
import { userOperations } from './users.ts';

/** The groups of operations, in the order in which they are shown. */
const FEATURES: [tag: string, description: string, Operations][] = [
  [
    'Organizations',
    'Set up, create, find, limit, deactivate and delete organizations.',
    { ...orgOperations, ...organizationLimitOperations, ...organizationStateOperations },
  ],
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

/** Builds the document for a version of the service and its public URL without a trailing slash. */
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

type Sample = [StatusName, id: string, message: string, violations?: FieldViolation[]];

const BAD_FIELDS: FieldViolation[] = [
  { field: 'human.profile.firstName', description: 'is required' },
  { field: 'human.email.email', description: 'must be an email address such as ann@example.com' },
];

/** The error responses that operations share, by status. */
const SAMPLES: Record<ErrorStatus, { description: string; sample: Sample }> = {
  400: {
    description:
      'The request is invalid, or the state of the resource does not allow it. The error names every invalid field.',
    sample: [
      'INVALID_ARGUMENT',
      'ORG-SETUP',
      'human.profile.firstName is required; human.email.email must be an email address such as ann@example.com.',
      BAD_FIELDS,
    ],
  },
  401: {
    description:
      'AUTH-TOKEN: the request has no valid bearer token. AUTH-SCOPE: the access token does not have the scope of the API. `WWW-Authenticate` names the error as RFC 6750 says.',
    sample: ['UNAUTHENTICATED', 'AUTH-TOKEN', 'A valid bearer token is needed.'],
  },
  403: {
    description: 'The caller does not have a required role. The response does not reveal whether the resource exists.',
    sample: ['PERMISSION_DENIED', 'AUTH-PERMISSION', 'No permission to access the resource.'],
  },
  404: {
    description: 'The resource does not exist.',
    sample: ['NOT_FOUND', 'USER-NOT-FOUND', 'The user does not exist.'],
  },
  409: {
    description: 'The resource already exists.',
    sample: ['ALREADY_EXISTS', 'USER-ID-TAKEN', 'The user id is taken.'],
  },
  413: {
    description: `REQUEST-TOO-LARGE: the body is larger than ${SMALL_BODY.bytes} bytes; for operations with long fields, than ${LARGE_BODY.bytes}.`,
    sample: ['RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', `The body must be at most ${LARGE_BODY.bytes} bytes.`],
  },
  415: {
    description:
      'REQUEST-MEDIA-TYPE: the `Content-Type` is not supported. REQUEST-ENCODING: the `Content-Encoding` is not supported; only a bulk import may be compressed.',
    sample: ['INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', 'Content-Type must be application/json in UTF-8.'],
  },
  429: {
    description:
      'RATE-LIMIT: too many requests from this IP address. ORG-LIMIT-REQUESTS: too many requests of your organization in this minute. REQUEST-BODIES: the caller has too many large bodies under way. MAIL-LIMIT: the user has had too many emails and text messages in a day. SESSION-FAILURES: too many wrong passwords of this user. Wait for the number of seconds in `Retry-After`, then try again.',
    sample: ['RESOURCE_EXHAUSTED', 'RATE-LIMIT', 'Too many requests from this IP address. Try again later.'],
  },
  504: {
    description: 'The operation did not finish in time. It will not be performed later.',
    sample: [
      'DEADLINE_EXCEEDED',
      'IMPORT-TIMEOUT',
      'The user was not imported in time, and will not be imported later.',
    ],
  },
};

/** Builds `components.responses`. */
export function errorAnswers(): Record<string, ZodOpenApiResponseObject> {
  const named = (Object.keys(ERROR_ANSWERS) as unknown as ErrorStatus[]).map((status) => {
    const { description, sample } = SAMPLES[status];
    return [ERROR_ANSWERS[status], answer(description, sample)];
  });
  const unexpected = answer('An unexpected error, such as 500 INTERNAL or 503 UNAVAILABLE.', [
    'UNAVAILABLE',
    'SERVICE-UNAVAILABLE',
    'The service is temporarily unavailable. Try again.',
  ]);
  return { ...Object.fromEntries(named), Unexpected: unexpected };
}

function answer(description: string, [status, id, message, violations]: Sample): ZodOpenApiResponseObject {
  const example = errorBody(status, id, message, violations);
  return { description, content: { 'application/json': { schema: error, example } } };
}

const status = z.object({ status: z.literal('ok') });
const fine = { description: 'OK.', content: { 'application/json': { schema: status, example: { status: 'ok' } } } };
const failing = z.array(z.object({ part: z.string(), since: z.iso.datetime() })).optional();
const ready = {
  description: 'Ready. `failing` lists optional parts that do not work, and since when.',
  content: { 'application/json': { schema: status.extend({ failing }), example: { status: 'ok' } } },
};
const text = (mediaType: string) => ({ description: 'OK.', content: { [mediaType]: { schema: z.string() } } });
const document = {
  description: 'An OpenAPI 3.1 document.',
  content: { 'application/json': { schema: z.object({ openapi: z.string() }).catchall(z.unknown()) } },
};
const unexpected = { $ref: '#/components/responses/Unexpected' };

function get(operationId: string, summary: string, answer: ZodOpenApiResponseObject): ZodOpenApiOperationObject {
  const responses = { 200: answer, default: unexpected };
  return { operationId, tags: ['Operations'], summary, security: [], responses };
}

/** Health, metrics and documentation; these paths need no token, unless METRICS_TOKEN is set. */
export const publicPaths: ZodOpenApiPathsObject = {
  '/healthz': { get: get('isAlive', 'Check that the process responds', fine) },
  '/readyz': { get: get('isReady', 'Check that the process is ready to work', ready) },
  '/metrics': {
    get: {
      ...get('getMetrics', 'Get metrics for Prometheus', text('text/plain')),
      description:
        'With the setting METRICS_TOKEN, send its value as a bearer token. With METRICS_PORT, this path is on that port only.',
    },
  },
  '/openapi.json': { get: get('getOpenApi', 'Get this document', document) },
  '/docs': { get: get('getDocs', 'Read this document in the browser', text('text/html')) },
};
