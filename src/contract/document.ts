/**
 * The OpenAPI document, built from the schemas that validate requests.
 *
 * Guarantee: an operation's name, path, roles and security are those with which it is mounted.
 */
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { type ErrorId, errorBody, type FieldViolation, type StatusOf } from '../platform/errors.ts';
import { id } from '../platform/fields.ts';
import { LARGE_BODY, SMALL_BODY } from '../platform/http/parse.ts';
import { oauthPaths } from './oauth.ts';
import type { Answer, Body, ErrorStatus, Operation } from './operation.ts';
import { FEATURES, OPERATIONS } from './operations.ts';
import type { Permission } from './roles.ts';
import { error } from './shapes.ts';

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
    for (const operation of Object.values<Operation>(operations)) {
      const [method = '', path = ''] = operation.path.split(' ');
      found[path] = { ...found[path], [method.toLowerCase()]: operationObject(operation, path, tag) };
    }
  }
  return { ...found, ...oauthPaths, ...publicPaths };
}

/** The operation object of the document. */
function operationObject(operation: Operation, path: string, tag: string): ZodOpenApiOperationObject {
  const { id, who, summary, description, query, headers, body, answers } = operation;
  const parameters = parameterRefs(path, operation.of === 'org' || operation.orgHeader === true);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [description, requiredRole(who)].filter(Boolean).join('\n\n'),
    ...(who.code ? { security: [{ bearer: [] }, {}] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(query || headers
      ? { requestParams: { ...(query ? { query } : {}), ...(headers ? { header: headers } : {}) } }
      : {}),
    ...(body ? { requestBody: requestBody(body) } : {}),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerObject(answer)])),
      ...errorRefs(operation, path),
      default: { $ref: '#/components/responses/Unexpected' },
    },
  };
}

/** The sentences on roles. */
function requiredRole({ roles, self, code }: Permission): string {
  return [
    `Required role: ${['IAM_OWNER', ...roles].join(', ')}.`,
    ...(self ? ['Users need no role to call it for themselves.'] : []),
    ...(code ? ['A caller with a valid code needs no token.'] : []),
  ].join(' ');
}

function parameterRefs(path: string, onOrg: boolean) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => String(match[1]));
  return [...names, ...(onOrg ? ['orgHeader'] : [])].map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** An absent body is read as an empty object. */
function requestBody({ schema, examples, others }: Body) {
  const named = Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));
  const content = { 'application/json': { schema, examples: named }, ...others };
  return { required: !schema.safeParse({}).success, content };
}

function answerObject({ schema, example, description, mediaType, others, headers }: Answer): ZodOpenApiResponseObject {
  return {
    description: description ?? 'OK.',
    ...(headers ? { headers } : {}),
    ...(schema ? { content: { [mediaType ?? 'application/json']: { schema, example }, ...others } } : {}),
  };
}

function errorRefs({ body, query, errors = {} }: Operation, path: string) {
  const named = path.includes('{');
  const general: ErrorStatus[] = [
    ...(body || query || named ? [400 as const] : []),
    401,
    403,
    ...(named ? [404 as const] : []),
    ...(body ? [413 as const, 415 as const] : []),
    429,
  ];
  const statuses = [...new Set([...general, ...Object.keys(errors).map((status) => Number(status) as ErrorStatus)])];
  return Object.fromEntries(statuses.sort().map((status) => [status, errorRef(status, errors[status])]));
}

function errorRef(status: ErrorStatus, description: string | undefined) {
  return { $ref: `#/components/responses/${ERROR_ANSWERS[status]}`, ...(description ? { description } : {}) };
}

const ORG_HEADER = {
  name: 'x-service-orgid',
  in: 'header',
  description:
    'The organization to act on. Default: the organization of the caller. The caller needs the role in this organization. `x-zitadel-orgid` is an alias.',
  schema: { type: 'string' },
} as const;

function pathParameters() {
  const names = new Set(
    OPERATIONS.flatMap(({ path }) => [...path.matchAll(/\{(\w+)\}/g)].map((match) => String(match[1]))),
  );
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

type Sample = [status: StatusOf<ErrorId>, id: ErrorId, message: string, violations?: FieldViolation[]];

const BAD_FIELDS: FieldViolation[] = [
  { field: 'human.profile.firstName', description: 'is required' },
  { field: 'human.email.email', description: 'must be an email address such as ann@example.com' },
];

/** Names of the shared responses in `components.responses`. */
const ERROR_ANSWERS: Record<ErrorStatus, string> = {
  400: 'BadRequest',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  415: 'WrongMediaType',
  429: 'TooManyRequests',
  504: 'TooLate',
};

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
