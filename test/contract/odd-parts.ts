/** Parts of requests that no client would send. */
import fc from '../support/fast-check.ts';
import type { Json } from './judge.ts';

/** Path segments that are sent without encoding. */
export const RAW_SEGMENTS = fc.constantFrom(
  '%',
  '%zz',
  '%E0%A4%A',
  '%00',
  '%2F',
  '%2e%2e',
  'a%2Fb',
  ';x=1',
  '%ed%a0%80',
  '*',
  ':userId',
);

/** Bodies that are not JSON, or JSON that no client would write. */
export const RAW_BODIES: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    '',
    '{',
    '[]',
    'null',
    '"text"',
    '1e999',
    '{"a":1e999,"a":2}',
    '[1,]',
    '\ufeff{}',
    '{}{}',
    '{"__proto__":{"isIamOwner":true}}',
    '['.repeat(100_000),
    '{"a":'.repeat(20_000),
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0x00]),
  ),
  fc.string({ maxLength: 50 }),
  fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
);

/** Headers in addition to `Authorization`; usually none. */
export const ODD_HEADERS: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { arbitrary: fc.constant({}), weight: 12 },
  {
    arbitrary: fc.constantFrom<Record<string, string>>(
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': '' },
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'br' },
      { 'content-encoding': 'nonsense' },
      { 'x-request-id': "'; drop" },
      { 'idempotency-key': 'one' },
      { prefer: 'wait=0' },
      { prefer: 'wait=x, respond-async' },
      { accept: 'text/html' },
      { 'x-service-orgid': 'no-such-organization' },
      { 'x-service-orgid': 'acme' },
      { 'x-service-orgid': '\u00ff\u0080' },
      { 'x-zitadel-orgid': 'globex' },
      { authorization: 'Basic Og==' },
      { authorization: `Bearer ${'x'.repeat(5000)}` },
    ),
    weight: 5,
  },
);
