/** The form in which the other files describe operations, and what is derived from it: parameters, errors, roles. */
import type { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi';
import { type OperationId, PERMISSIONS } from './permissions.ts';

export interface Operation {
  /** The name of the operation in the table of permissions. */
  id: OperationId;
  summary: string;
  description?: string;
  /** Acts on the caller's organization, or on that of `x-service-orgid`. */
  onOrg?: true;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: Body;
  /** The responses by HTTP status. */
  answers: Record<number, Answer>;
  /** Meaning of an error status where the shared description is too general. 409 and 504 occur only if listed here. */
  errors?: Partial<Record<ErrorStatus, string>>;
}

/** Operations by method and path: `GET /v2beta/users/{userId}`. */
export type Operations = Record<`${Uppercase<string>} /${string}`, Operation>;

export interface Body {
  schema: z.ZodType;
  examples: Record<string, unknown>;
  /** Schemas of the body in other formats, by media type. */
  others?: Record<string, { schema: z.ZodType; example: unknown }>;
}

export interface Answer {
  /** Absent when the response has no body. */
  schema?: z.ZodType;
  example?: unknown;
  description?: string;
  mediaType?: string;
  /** Schemas of the response in other formats, by media type. */
  others?: Record<string, { schema: z.ZodType; example: unknown }>;
  headers?: z.ZodObject;
}

export type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 504;

/** Names of the shared responses in `components.responses`. */
export const ERROR_ANSWERS: Record<ErrorStatus, string> = {
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

/** The operation object of the document. */
export function operationObject(operation: Operation, path: string, tag: string): ZodOpenApiOperationObject {
  const { id, summary, description, query, headers, body, answers } = operation;
  const parameters = parameterRefs(path, operation.onOrg);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [description, requiredRole(id)].filter(Boolean).join('\n\n'),
    ...(PERMISSIONS[id].code ? { security: [{ bearer: [] }, {}] } : {}),
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

/** The sentences on roles, from the table of permissions. */
function requiredRole(id: OperationId): string {
  const { roles, self, code } = PERMISSIONS[id];
  return [
    `Required role: ${['IAM_OWNER', ...roles].join(', ')}.`,
    ...(self ? ['Users need no role to call it for themselves.'] : []),
    ...(code ? ['A caller with a valid code needs no token.'] : []),
  ].join(' ');
}

function parameterRefs(path: string, onOrg: true | undefined) {
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
