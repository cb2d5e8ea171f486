/**
 * Errors with a text for people: `ApiError` for callers of the API, `StartError` for the person who starts a process.
 *
 * Guarantee: a caller sees the code, the id and the message of an ApiError; its cause stays in the log. Any other error
 * is answered as INTERNAL, and its text is never shown.
 */

/** gRPC codes by name, each with its HTTP status. */
export const STATUS = {
  INVALID_ARGUMENT: { code: 3, http: 400 },
  DEADLINE_EXCEEDED: { code: 4, http: 504 },
  NOT_FOUND: { code: 5, http: 404 },
  ALREADY_EXISTS: { code: 6, http: 409 },
  PERMISSION_DENIED: { code: 7, http: 403 },
  RESOURCE_EXHAUSTED: { code: 8, http: 429 },
  FAILED_PRECONDITION: { code: 9, http: 400 },
  ABORTED: { code: 10, http: 409 },
  UNIMPLEMENTED: { code: 12, http: 501 },
  INTERNAL: { code: 13, http: 500 },
  UNAVAILABLE: { code: 14, http: 503 },
  UNAUTHENTICATED: { code: 16, http: 401 },
} as const;

export type StatusName = keyof typeof STATUS;

/** What callers are told about an error id. */
export interface KnownError {
  /** The status that the id is raised with, or each of them. */
  status: StatusName | readonly StatusName[];
  /** The HTTP status where it is not that of `status`. */
  http?: number;
  /** What is wrong, as a sentence; one for each status, if there are several. */
  meaning: string | readonly string[];
  /** What to do, as a sentence; one for each status, if they differ. */
  remedy: string | readonly string[];
  /** What answers it, where no operation does: `\`/metrics\``. Default: any request, or a page. */
  from?: string;
  /** What it is stored with: a user of an import, or a draft. */
  stored?: 'user' | 'draft';
  /** The first version that raises it. Default: 1.0.0. */
  since?: string;
}

/** The ids of errors. Empty here: src/contract/errors.ts, the list of them, declares what it consists of. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled elsewhere.
export interface ErrorIds {}
/** A stable id such as `IMPORT-TIMEOUT`; programs can match on it. */
export type ErrorId = keyof ErrorIds;
/** The statuses that an id may be raised with. */
export type StatusOf<Id extends ErrorId> = StatusesIn<ErrorIds[Id]>;
/** The ids that may be raised with a status. */
export type IdOf<S extends StatusName> = { [Id in ErrorId]: S extends StatusOf<Id> ? Id : never }[ErrorId];
type StatusesIn<E> = E extends { status: infer S } ? (S extends readonly (infer One)[] ? One : S) : never;

/** One invalid field: `field` is a path such as `user.email.email`, `description` says what is wrong with it. */
export interface FieldViolation {
  field: string;
  description: string;
}

/** The JSON body of every error response, also stored as the error of a failed import item. */
export interface ErrorBody {
  code: number;
  message: string;
  details: ErrorDetail[];
}

export type ErrorDetail =
  | { '@type': 'type.googleapis.com/service.v1.ErrorDetail'; id: string; message: string; fieldViolations?: never }
  | { '@type': 'type.googleapis.com/google.rpc.BadRequest'; fieldViolations: FieldViolation[]; id?: never };

/** An error that is shown to callers. */
export class ApiError<Id extends ErrorId = ErrorId> extends Error {
  readonly status: StatusOf<Id>;
  readonly id: Id;
  readonly violations: FieldViolation[];
  readonly http: number;
  /** Seconds after which the request may succeed, for `Retry-After`. */
  readonly retryAfterS: number | undefined;
  /** `WWW-Authenticate` of a 401, if it says more than `Bearer`. */
  readonly challenge: string | undefined;

  constructor(
    status: StatusOf<Id>,
    id: Id,
    message: string,
    options: {
      violations?: FieldViolation[];
      http?: number;
      retryAfterS?: number;
      challenge?: string;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.status = status;
    this.id = id;
    this.violations = options.violations ?? [];
    this.http = options.http ?? STATUS[status].http;
    this.retryAfterS = options.retryAfterS ?? (this.http === 503 ? 1 : undefined);
    this.challenge = options.challenge;
  }

  /** The error body. */
  toBody(): ErrorBody {
    return errorBody<Id>(this.status, this.id, this.message, this.violations);
  }
}

/** Builds the error body without throwing, for failed import items. */
export function errorBody<Id extends ErrorId>(
  status: StatusOf<Id>,
  id: Id,
  message: string,
  violations: FieldViolation[] = [],
): ErrorBody {
  const details: ErrorBody['details'] = [{ '@type': 'type.googleapis.com/service.v1.ErrorDetail', id, message }];
  if (violations.length > 0) {
    details.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations });
  }
  return { code: STATUS[status].code, message, details };
}

/** 400 that names every invalid field. */
export function invalidArgument(
  id: IdOf<'INVALID_ARGUMENT'>,
  message: string,
  violations: FieldViolation[] = [],
): ApiError {
  return new ApiError('INVALID_ARGUMENT', id, message, { violations });
}

/**
 * An error with a message for the person who starts the program: what is wrong and what to do.
 * Entry points print only this message. Any other error is a bug and is logged with its stack.
 */
export class StartError extends Error {}
