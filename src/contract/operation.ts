/**
 * The form in which an operation is written, once. From it come its route and the checks before its handler
 * (serve.ts), its place in the OpenAPI document (document.ts), who may call it (permissions.ts), and the types of its
 * callers.
 */
import type { z } from 'zod';
import type { ErrorId, IdOf } from '../platform/errors.ts';
import type { BodyLimits } from '../platform/http/parse.ts';
import type { Permission } from './roles.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';

/**
 * What `who` is checked against, before anything else of a request is read:
 *
 * - `instance`: the roles in the instance.
 * - `org`: the organization of `x-service-orgid`, or else the caller's own.
 * - `user`, `session`, `import`, `source`, `idp`: the organization of the one that the path names.
 * - `orgs`: nothing more than that the caller has the role somewhere; the result is limited to where.
 * - `body`: the organizations that the body names, which the handler asks for.
 * - `caller`: the caller themselves.
 */
export type Of = 'instance' | 'org' | 'user' | 'session' | 'import' | 'source' | 'idp' | 'orgs' | 'body' | 'caller';

export interface Operation {
  /** Its name: `operationId` in the document, and in permissions, spans and events. */
  id: string;
  /** Method and path: `GET /v2beta/users/{userId}`. */
  path: `${Method} /${string}`;
  /** Its name in ZITADEL's API; `POST /<name>` with all parameters in the body is the same operation (connect.ts). */
  rpc?: `zitadel.${string}Service/${string}`;
  who: Permission;
  of: Of;
  summary: string;
  description?: string;
  /** Counts as an attempt at a secret (RATE_LIMIT_LOGINS): every call, or those that the handler counts by their body. */
  tries?: 'always' | 'by-body';
  /** `x-service-orgid` limits or names the organization, though `of` is another. */
  orgHeader?: true;
  /** Parameters; absent: they are ignored. */
  query?: z.ZodObject;
  /** The schema that validates, where the document shows another form of it. */
  readsQuery?: z.ZodObject;
  /** Stable id of the error when a parameter is invalid. Absent: the handler reads the query itself. */
  queryError?: IdOf<'INVALID_ARGUMENT'>;
  /** A query is refused with `queryError`. */
  noQuery?: true;
  headers?: z.ZodObject;
  body?: Body;
  /** The responses by HTTP status. */
  answers: Readonly<Record<number, Answer>>;
  /**
   * Errors beside those that every operation may answer and those of its target, its query and its body: see
   * error-answers.ts. With an HTTP status where the id has several.
   */
  errors?: readonly (ErrorId | `${number} ${ErrorId}`)[];
}

/** An operation as it is written: its id is the key. */
export type Written = Omit<Operation, 'id'>;

/** Gives operations their ids, and keeps their exact types. */
export function operations<const T extends Record<string, Written>>(
  written: T,
): { readonly [Id in keyof T & string]: T[Id] & { readonly id: Id } } {
  const entries = Object.entries(written).map(([id, operation]) => [id, { id, ...operation }]);
  return Object.fromEntries(entries) as { readonly [Id in keyof T & string]: T[Id] & { readonly id: Id } };
}

export interface Body {
  schema: z.ZodType;
  /** The schema that validates, where the document shows another form of it. */
  reads?: z.ZodType;
  /** Stable id of the error when a field is invalid. Absent: the handler reads the body itself. */
  error?: IdOf<'INVALID_ARGUMENT'>;
  /** Default: SMALL_BODY. */
  limits?: BodyLimits;
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

/** The value of each `{name}` in a path. */
export type ParamsOf<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : unknown;

/** The schema of the query, as it is read. */
export type QueryOf<O extends Operation> = O['readsQuery'] extends z.ZodType
  ? O['readsQuery']
  : O['query'] extends z.ZodType
    ? O['query']
    : z.ZodUndefined;

/** The schema of the body, as it is read. */
export type BodyOf<O extends Operation> = O['body'] extends { reads: infer S extends z.ZodType }
  ? S
  : O['body'] extends { schema: infer S extends z.ZodType }
    ? S
    : z.ZodUndefined;

type Success = 200 | 201 | 202 | 204;
type SchemaOf<A> = A extends { mediaType: string }
  ? never
  : A extends { schema: infer S extends z.ZodType }
    ? S
    : never;
/** The schema of a JSON answer; never, if there is none. */
export type AnswerOf<O extends Operation> = SchemaOf<O['answers'][keyof O['answers'] & Success]>;
