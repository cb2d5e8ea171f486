/**
 * The errors of an operation: which ids it may answer, and how the OpenAPI document describes them.
 *
 * An operation lists only what is its own. What its target, its query and its body may be refused with follows from
 * them, and every operation may answer GENERAL.
 */
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { type ErrorId, errorBody, type FieldViolation, type KnownError, type StatusOf } from '../platform/errors.ts';
import { LARGE_BODY, SMALL_BODY } from '../platform/http/parse.ts';
import { PAGE_ERRORS } from './errors/pages.ts';
import { REQUEST_ERRORS } from './errors/requests.ts';
import { casesOf, ERRORS } from './errors.ts';
import type { Of, Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
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
  idp: 'IDP-NOT-FOUND',
};

/** The errors of this operation, each once: of its query, its body, its own and its target. */
export function errorsOf({ queryError, body, errors = [], of }: Operation): ErrorAnswer[] {
  const listed = [queryError, body?.error, ...errors, OF_TARGET[of]].filter((one) => one !== undefined);
  return [...new Set(listed)].map((one) => {
    const [id, http] = one.split(' ').reverse() as [ErrorId, string?];
    return http === undefined ? usual(id) : { id, http: Number(http) };
  });
}

/** What this operation may answer beside `errorsOf`. */
export function generalErrorsOf({ path, body }: Operation): ErrorAnswer[] {
  return [...GENERAL, ...(path.includes('{') ? OF_PATH : []), ...(body ? OF_BODY : [])].map(usual);
}

/** An id with its usual status. */
function usual(id: ErrorId): ErrorAnswer {
  return { id, http: statusesOf(id)[0] as number };
}

/** The HTTP statuses of an id, the usual one first. */
export function statusesOf(id: ErrorId): number[] {
  return casesOf(id).map(({ http }) => http);
}

/** What an id means with this HTTP status. */
function meaningOf({ id, http }: ErrorAnswer): string {
  return casesOf(id).find((one) => one.http === http)?.meaning as string;
}

/** What answers an id: operations by name, or a text for all requests of a kind. */
export function answerersOf(id: ErrorId): readonly string[] | string {
  if (GENERAL.includes(id)) return 'any operation';
  const names = OPERATIONS.filter((operation: Operation) => errorsOf(operation).some((one) => one.id === id));
  const { from, stored }: KnownError = ERRORS[id];
  const kind = OF_PATH.includes(id)
    ? 'any operation with an id'
    : OF_BODY.includes(id)
      ? 'any operation with a body'
      : from;
  if (kind !== undefined) return kind;
  if (Object.hasOwn(REQUEST_ERRORS, id) && names.length === 0) return 'any request';
  if (Object.hasOwn(PAGE_ERRORS, id)) return 'pages';
  if (names.length === 0 && stored === undefined) throw new Error(`Nothing answers ${id}.`);
  return names.map((operation) => operation.id);
}

/** The error responses of an operation: what its ids mean, where it has some with a status, or what all have in common. */
export function errorRefs(operation: Operation) {
  const own = Map.groupBy(errorsOf(operation), ({ http }) => nameOf(http));
  const general = Map.groupBy(generalErrorsOf(operation), ({ http }) => nameOf(http));
  const refs = [...STATUSES, 'default' as const]
    .map((status) => [status, RESPONSES[status]] as const)
    .filter(([, name]) => own.has(name) || general.has(name))
    .map(([status, name]) => {
      const errors = own.get(name);
      const description = errors ? { description: described(errors, general.get(name)) } : {};
      return [status, { $ref: `#/components/responses/${name}`, ...description }];
    });
  return Object.fromEntries(refs);
}

/** A sentence for each error; the general ones have theirs in the shared response. */
function described(errors: readonly ErrorAnswer[], general: readonly ErrorAnswer[] = []): string {
  const sentences = errors.map((error) => `\`${error.id}\`: ${meaningOf(error)}`);
  const others = general.map(({ id }) => `\`${id}\``).join(', ');
  const lines = [...sentences, ...(others ? [`As for other operations: ${others}.`] : [])];
  return lines.length === 1 ? (lines[0] as string) : lines.map((line) => `- ${line}`).join('\n');
}

/** Names of the shared responses in `components.responses`. */
const RESPONSES = {
  400: 'BadRequest',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  415: 'WrongMediaType',
  429: 'TooManyRequests',
  504: 'TooLate',
  default: 'Unexpected',
} as const;
type Shared = keyof typeof RESPONSES;
const STATUSES = [400, 401, 403, 404, 409, 413, 415, 429, 504] as const;

/** The shared response of a status. */
function nameOf(http: number): (typeof RESPONSES)[Shared] {
  return Object.hasOwn(RESPONSES, http) ? RESPONSES[http as Shared] : RESPONSES.default;
}

type Sample = [status: StatusOf<ErrorId>, id: ErrorId, message: string, violations?: FieldViolation[]];

const BAD_FIELDS: FieldViolation[] = [
  { field: 'human.profile.firstName', description: 'is required' },
  { field: 'human.email.email', description: 'must be an email address such as ann@example.com' },
];

/** What operations have in common, by status: a sentence before and after the general ids, and an example. */
const SAMPLES: Record<Shared, { before?: string; after?: string; sample: Sample }> = {
  400: {
    before:
      'The request is invalid, or the state of the resource does not allow it. The error names every invalid field.',
    sample: [
      'INVALID_ARGUMENT',
      'ORG-SETUP',
      'human.profile.firstName is required; human.email.email must be an email address such as ann@example.com.',
      BAD_FIELDS,
    ],
  },
  401: {
    after: '`WWW-Authenticate` names the error as RFC 6750 says.',
    sample: ['UNAUTHENTICATED', 'AUTH-TOKEN', 'A valid bearer token is needed.'],
  },
  403: { sample: ['PERMISSION_DENIED', 'AUTH-PERMISSION', 'No permission to access the resource.'] },
  404: {
    before: 'The resource does not exist.',
    sample: ['NOT_FOUND', 'USER-NOT-FOUND', 'The user does not exist.'],
  },
  409: {
    before: 'The resource already exists, or was changed meanwhile.',
    sample: ['ALREADY_EXISTS', 'USER-ID-TAKEN', 'The user id is taken.'],
  },
  413: {
    after: `The limit is ${SMALL_BODY.bytes} bytes; for operations with long fields, ${LARGE_BODY.bytes}.`,
    sample: ['RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', `The body must be at most ${LARGE_BODY.bytes} bytes.`],
  },
  415: {
    after: 'Only a bulk import may be compressed.',
    sample: ['INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', 'Content-Type must be application/json in UTF-8.'],
  },
  429: {
    after: 'Wait for the number of seconds in `Retry-After`, then try again.',
    sample: ['RESOURCE_EXHAUSTED', 'RATE-LIMIT', 'Too many requests from this IP address. Try again later.'],
  },
  504: {
    before: 'The operation did not finish in time. It will not be performed later.',
    sample: [
      'DEADLINE_EXCEEDED',
      'IMPORT-TIMEOUT',
      'The user was not imported in time, and will not be imported later.',
    ],
  },
  default: {
    before: 'An unexpected error.',
    sample: ['UNAVAILABLE', 'SERVICE-UNAVAILABLE', 'The service is temporarily unavailable. Try again.'],
  },
};

/** Builds `components.responses`. */
export function errorAnswers(): Record<string, ZodOpenApiResponseObject> {
  const general = Map.groupBy([...GENERAL, ...OF_PATH, ...OF_BODY].map(usual), ({ http }) => nameOf(http));
  return Object.fromEntries(
    ([...STATUSES, 'default'] as const).map((status) => {
      const { before, after, sample } = SAMPLES[status];
      const errors = general.get(RESPONSES[status]);
      const description = [before, errors && described(errors), after].filter(Boolean).join('\n\n');
      return [RESPONSES[status], answer(description, sample)];
    }),
  );
}

function answer(description: string, [status, id, message, violations]: Sample): ZodOpenApiResponseObject {
  const example = errorBody(status, id, message, violations);
  return { description, content: { 'application/json': { schema: error, example } } };
}
