/** Requests to the operations of the document: about as many valid as invalid ones. */
import fc from '../support/fast-check.ts';
import { fitting, varied } from './arbitraries.ts';
import { broken, hostileText } from './hostile.ts';
import type { Json, Operation } from './judge.ts';
import { ODD_HEADERS, RAW_BODIES, RAW_SEGMENTS } from './odd-parts.ts';
import { isProtocol, protocolPairs } from './protocol.ts';

/** The sender: `client` with its secret, `oauth` with an access token, `junk` with an invalid token. */
export const SENDERS = ['admin', 'owner', 'viewer', 'stranger', 'client', 'oauth', 'junk', 'none'] as const;

/** An id, the number of a known resource, or a raw path segment. */
export type Segment = string | number | { raw: string };

/** A request with placeholders instead of ids, so that it is the same in each run. */
export interface Draft {
  operation: Operation;
  sender: (typeof SENDERS)[number];
  path: Record<string, Segment>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  /** JSON; bytes and text are sent unchanged; undefined: no body. */
  body: Json;
}

const id: fc.Arbitrary<Segment> = fc.oneof(
  { arbitrary: fc.nat(100), weight: 8 },
  { arbitrary: hostileText.filter((s) => s !== ''), weight: 2 },
  { arbitrary: RAW_SEGMENTS.map((segment) => ({ raw: segment })), weight: 1 },
);
function senderOf(usual: (typeof SENDERS)[number]) {
  return fc.oneof({ arbitrary: fc.constant(usual), weight: 8 }, { arbitrary: fc.constantFrom(...SENDERS), weight: 4 });
}

/** A request to one of the operations. */
export function drafts(operations: Operation[], document: Json): fc.Arbitrary<Draft> {
  return fc.oneof(...operations.map((operation) => draftsOf(operation, document)));
}

function draftsOf(operation: Operation, document: Json): fc.Arbitrary<Draft> {
  const { object } = operation;
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => String(match[1]));
  const json = object.requestBody?.content['application/json'];
  const query = (object.parameters ?? []).filter((p: Json) => p.in === 'query');
  return fc.record({
    operation: fc.constant(operation),
    sender: senderOf(usualSender(operation.path)),
    path: fc.record(Object.fromEntries(names.map((name) => [name, id]))),
    query: queryOf(query, document),
    headers: ODD_HEADERS,
    body: json ? bodyOf(json, document) : formOf(object.requestBody, document),
  });
}

function usualSender(path: string): (typeof SENDERS)[number] {
  if (path.startsWith('/oidc/')) return 'oauth';
  return path.startsWith('/oauth/') ? 'client' : 'admin';
}

function bodyOf({ schema, examples }: Json, document: Json): fc.Arbitrary<Json> {
  const shown = Object.values<Json>(examples).map(({ value }) => value);
  const good = fc.oneof(
    { arbitrary: fc.constantFrom(...shown), weight: 1 },
    { arbitrary: fc.oneof(...shown.map((example) => varied(example, schema, document))), weight: 4 },
    { arbitrary: fitting(schema, document), weight: 1 },
  );
  return fc.oneof(
    { arbitrary: good, weight: 5 },
    { arbitrary: broken(good), weight: 6 },
    { arbitrary: RAW_BODIES, weight: 1 },
    { arbitrary: fc.constant(undefined), weight: 1 },
  );
}

/** Form bodies of OAuth, as text, so that they are sent unchanged. */
function formOf(requestBody: Json, document: Json): fc.Arbitrary<Json> {
  const schema = requestBody?.content['application/x-www-form-urlencoded']?.schema;
  if (!schema) return fc.oneof({ arbitrary: fc.constant(undefined), weight: 9 }, { arbitrary: RAW_BODIES, weight: 1 });
  const names = Object.keys(fitted(schema, document));
  const fields = fc.oneof(fc.constant(names), fc.constant(names.filter((name) => !name.startsWith('client_'))));
  const form = fields.chain(protocolPairs).map(encode);
  return fc.oneof({ arbitrary: form, weight: 9 }, { arbitrary: RAW_BODIES, weight: 1 });
}

function fitted(schema: Json, document: Json): Json {
  return schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)].properties : schema.properties;
}

function queryOf(parameters: Json[], document: Json): fc.Arbitrary<[string, string][]> {
  const unknown: fc.Arbitrary<[string, string]> = fc.tuple(fc.constant('unknown'), hostileText);
  if (parameters.length === 0) return fc.array(unknown, { maxLength: 1 });
  if (parameters.some(({ name }) => isProtocol(name))) return protocolPairs(parameters.map(({ name }) => name));
  const pairs = parameters.map(({ name, schema }) =>
    fc.tuple(
      fc.constant<string>(name),
      fc.oneof({ arbitrary: fitting(schema, document).map(String), weight: 3 }, { arbitrary: hostileText, weight: 1 }),
    ),
  );
  return fc.array(fc.oneof(...pairs, ...pairs, unknown), { maxLength: 8 });
}

/** Encoding of queries and forms. Lone surrogates, which cannot be encoded, become U+FFFD. */
export function encode(pairs: [string, string][]): string {
  return pairs.map((pair) => pair.map((s) => encodeURIComponent(s.toWellFormed())).join('=')).join('&');
}
