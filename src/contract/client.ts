/**
 * The operations as a program calls them: by name, with types of what is sent and answered. The transport is the
 * caller's own: `muster` sends requests over the network, the console in its process. In a file that loads no zod: the
 * command line starts without it.
 */
import type { z } from 'zod';
import type { AnswerOf, Operation, ParamsOf } from './operation.ts';
import type { Contract, OperationId } from './operations.ts';
import { OUTLINE } from './outline.ts';

export type { OperationId };

/** The values of the path; unknown if it has none. */
export type Params<Id extends OperationId> = ParamsOf<Contract[Id]['path']>;

/** The parameters of the query, as the document shows them; undefined if there is none. */
export type Query<Id extends OperationId> = Contract[Id] extends { query: infer S extends z.ZodType }
  ? OfText<z.input<S>>
  : undefined;
/** A number is read from the text of a query, so that its schema takes anything. */
type OfText<T> = { [Name in keyof T]: unknown extends T[Name] ? string | number | undefined : T[Name] };

/** The JSON body, as the document shows it; undefined if there is none. */
export type Sent<Id extends OperationId> = Contract[Id] extends { body: { schema: infer S extends z.ZodType } }
  ? z.input<S>
  : undefined;

/** The JSON that it answers; never, if it answers something else. */
export type Answer<Id extends OperationId> = z.output<AnswerOf<Contract[Id] & Operation>>;

type Nothing = Record<never, never>;
/** Demanded unless it may be empty. */
type Part<Name extends string, T> = [T] extends [undefined]
  ? { readonly [N in Name]?: undefined }
  : Nothing extends T
    ? { readonly [N in Name]?: T | undefined }
    : { readonly [N in Name]: T };

/** Operations whose body can have another format than JSON, or is a part of a file. */
type Streamed = { body: { others: object } } | { path: `PATCH ${string}/files/{fileId}` };
type BodyPart<Id extends OperationId> =
  | Part<'body', Sent<Id>>
  | (Contract[Id] extends Streamed ? { readonly stream: ReadableStream<Uint8Array> } : never);

/** Operations that take `x-service-orgid`. */
type OfOrg = { of: 'org' } | { orgHeader: true };
type OrgPart<Id extends OperationId> = [Extract<Contract[Id], OfOrg>] extends [never]
  ? Nothing
  : { readonly org?: string | undefined };

/** What is sent in addition to the values of the path. */
export type Options<Id extends OperationId> = Part<'query', Query<Id>> &
  BodyPart<Id> &
  OrgPart<Id> & {
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal | undefined;
  };
type LastArg<T> = Nothing extends T ? [options?: T] : [options: T];

/** What follows the name in a call: the values of the path, if it has any, then the options. */
export type Args<Id extends OperationId> =
  unknown extends Params<Id> ? LastArg<Options<Id>> : [params: Params<Id>, ...LastArg<Options<Id>>];

/** `await call('pauseImport', { importId })`: the JSON of the answer. */
export type Call = <Id extends OperationId>(id: Id, ...args: Args<Id>) => Promise<Answer<Id>>;

/** A request as a transport sends it. */
export interface ApiRequest {
  method: string;
  /** With the query. */
  path: string;
  /** Without those of the transport. */
  headers: Record<string, string>;
  /** JSON, or bytes to send unchanged. */
  body?: string | ReadableStream<Uint8Array>;
  signal?: AbortSignal;
}

/** The options of any operation. */
interface Given {
  query?: Readonly<Record<string, string | number | undefined>>;
  body?: unknown;
  stream?: ReadableStream<Uint8Array>;
  org?: string;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** The request for a call. */
export function requestOf<Id extends OperationId>(id: Id, ...args: Args<Id>): ApiRequest {
  const [method = '', pattern = ''] = OUTLINE[id].path.split(' ');
  const hasParams = pattern.includes('{');
  const params = (hasParams ? args[0] : {}) as Readonly<Record<string, string>>;
  const { query, body, stream, org, headers, signal } = ((hasParams ? args[1] : args[0]) ?? {}) as Given;
  const sent = stream ?? (body === undefined ? undefined : JSON.stringify(body));
  return {
    method,
    path: pattern.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name]))) + queryText(query),
    headers: {
      ...(typeof sent === 'string' ? { 'content-type': 'application/json' } : {}),
      ...(org === undefined ? {} : { 'x-service-orgid': headerText(org) }),
      ...headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
    ...(signal === undefined ? {} : { signal }),
  };
}

function queryText(query: Given['query'] = {}): string {
  const given = Object.entries(query).filter((part): part is [string, string | number] => part[1] !== undefined);
  return given.map(([name, value], i) => `${i === 0 ? '?' : '&'}${name}=${encodeURIComponent(value)}`).join('');
}

/** Programs send headers as ISO 8859-1, and the service reads UTF-8: here, the bytes of the text in UTF-8. */
function headerText(text: string): string {
  return Buffer.from(text).toString('latin1');
}
