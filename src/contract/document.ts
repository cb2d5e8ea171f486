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
import { id } from '../platform/fields.ts';
import { errorAnswers, errorRefs } from './error-answers.ts';
import { oauthPaths } from './oauth.ts';
import type { Answer, Body, Operation } from './operation.ts';
import { FEATURES, OPERATIONS } from './operations.ts';
import type { Permission } from './roles.ts';

const OTHER_TAGS = [
  { name: 'OAuth', description: 'OAuth 2.0 and OpenID Connect.' },
  { name: 'Operations', description: 'Health, metrics and this document.' },
];

const DESCRIPTION = `Errors have the body \`Error\`. Match on \`details[0].id\`: it is stable, and \`docs/errors.md\` says what to do
about each. An unknown path returns 404, or 401 without a valid token. A method that a path does not support returns 405
with an \`Allow\` header. Every response has an \`x-request-id\` header. Request bodies can use camelCase or snake_case
names. A field that is null is treated as absent. \`/v2/users\`, \`/v2/sessions\` and \`/v2/idp_intents\` are aliases of
\`/v2beta/users\`, \`/v2beta/sessions\` and \`/v2beta/idp_intents\`, with everything below them, and \`/v2/organizations/_search\` of \`/admin/v1/orgs/_search\`. Clients of
ZITADEL can call by its names over Connect, with JSON: \`POST /zitadel.user.v2.UserService/GetUserByID\`.`;

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
      ...errorRefs(operation),
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
