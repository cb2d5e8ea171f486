/**
 * The errors of an operation: which ids it may answer, and how the OpenAPI document describes them.
 *
 * An operation lists only what is its own. What its target, its query and its body may be refused with follows from
 * them, and every operation may answer GENERAL.
 */
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import {
  type ErrorId,
  errorBody,
  type FieldViolation,
  type KnownError,
  STATUS,
  type StatusOf,
} from '../platform/errors.ts';
import { LARGE_BODY, SMALL_BODY } from '../platform/http/parse.ts';
import { ERRORS } from './errors.ts';
import type { ErrorStatus, Of, Operation } from './operation.ts';
import { error } from './shapes.ts';

/** An id with one of its HTTP statuses. */
export interface ErrorAnswer {
  id: ErrorId;
  http: number;
}

/** Of the token, the limits and the stores. */
const GENERAL: readonly ErrorId[] = [
  'AUTH-TOKEN',
  'AUTH-SCOPE',
  'AUTH-PERMISSION',
  'RATE-LIMIT',
  'ORG-LIMIT-REQUESTS',
  'PASSWORDS-BUSY',
  'SERVICE-UNAVAILABLE',
  'INTERNAL',
];
/** Of an id in the path. */
const OF_PATH: readonly ErrorId[] = ['REQUEST-ID'];
/** Of a body that cannot be read. */
const OF_BODY: readonly ErrorId[] = [
  'REQUEST-JSON',
  'REQUEST-BODY',
  'REQUEST-DEPTH',
  'REQUEST-VALUES',
  'REQUEST-TOO-LARGE',
  'REQUEST-MEDIA-TYPE',
  'REQUEST-ENCODING',
  'REQUEST-BODIES',
];
/** Of what the operation acts on, for a caller who may know that it does not exist. */
const OF_TARGET: Partial<Record<Of, ErrorId>> = {
  org: 'ORG-NOT-FOUND',
  user: 'USER-NOT-FOUND',
  session: 'SESSION-NOT-FOUND',
  import: 'IMPORT-NOT-FOUND',
  source: 'PASSWORD-SOURCE-NOT-FOUND',
};

/** The errors of this operation, each once: of its query, its body, its own and its target. */
export function errorsOf({ queryError, body, errors = [], of }: Operation): ErrorAnswer[] {
  const listed = [queryError, body?.error, ...errors, OF_TARGET[of]].filter((one) => one !== undefined);
  return [...new Set(listed)].map((one) => {
    const [id, http] = one.split(' ').reverse() as [ErrorId, string?];
    return { id, http: http === undefined ? (statusesOf(id)[0] as number) : Number(http) };
  });
}

/** The ids that this operation may answer beside `errorsOf`. */
export function generalErrorsOf({ path, body }: Operation): ErrorId[] {
  return [...GENERAL, ...(path.includes('{') ? OF_PATH : []), ...(body ? OF_BODY : [])];
}

/** The HTTP statuses of an id, the usual one first. */
export function statusesOf(id: ErrorId): number[] {
  const { status, http }: KnownError = ERRORS[id];
  return http === undefined ? [status].flat().map((name) => STATUS[name].http) : [http];
}

/** The error responses of an operation. */
export function errorRefs({ body, query, errorText = {} }: Operation, path: string) {
  const named = path.includes('{');
  const general: ErrorStatus[] = [
    ...(body || query || named ? [400 as const] : []),
    401,
    403,
    ...(named ? [404 as const] : []),
    ...(body ? [413 as const, 415 as const] : []),
    429,
  ];
  const statuses = [...new Set([...general, ...Object.keys(errorText).map((status) => Number(status) as ErrorStatus)])];
  return Object.fromEntries(statuses.sort().map((status) => [status, errorRef(status, errorText[status])]));
}

function errorRef(status: ErrorStatus, description: string | undefined) {
  return { $ref: `#/components/responses/${ERROR_ANSWERS[status]}`, ...(description ? { description } : {}) };
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
