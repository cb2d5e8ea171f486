/** Compares the parser with JSON.parse: same entries and same verdict, however the bytes are split. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Step } from '../../../src/imports/entries/parser.ts';
import fc from '../../support/fast-check.ts';
import { cutAt, cuts, goodBody, refusal, steps, usersOf } from '../../support/imports/parse.ts';

type Json = Record<string, unknown>;

/** The expected steps, derived from the whole value in its own order. */
function expected(body: Json): Step[] {
  const all: Step[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (name === 'timeout') all.push({ type: 'timeout', value: isContainer(value) ? null : value });
    else if (name === 'dataOrgs' || name === 'data_orgs') inDataOrgs(value as Json, all);
    else all.push({ type: 'unknown', path: name });
  }
  return [...all, { type: 'end', hasDataOrgs: true, hasOrgs: true, hasTimeout: true }];
}

function inDataOrgs(value: Json, all: Step[]): void {
  for (const [name, inner] of Object.entries(value)) {
    if (name !== 'orgs') all.push({ type: 'unknown', path: `dataOrgs.${name}` });
    else for (const [i, org] of (inner as Json[]).entries()) inOrg(org, i, all);
  }
}

function inOrg(value: Json, org: number, all: Step[]): void {
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'orgId' || name === 'org_id') all.push({ type: 'orgId', org, value: inner });
    else if (name !== 'humanUsers' && name !== 'human_users') all.push({ type: 'unknown', path: `orgs[].${name}` });
    else if ((inner as unknown[]).length > 0)
      all.push({ type: 'users', org, entries: inner as unknown[], plain: false });
  }
  all.push({ type: 'orgEnd', org, hasId: true });
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

test('a valid body gives the same steps as a whole, in chunks and byte by byte', () => {
  fc.assert(
    fc.property(goodBody, cuts, ({ text }, at) => {
      const want = expected(JSON.parse(text));
      const bytes = Buffer.from(text);
      assert.deepEqual(steps(bytes), want);
      assert.deepEqual(steps(...cutAt(bytes, at)), want);
    }),
    { numRuns: 150 },
  );
});

/** Bytes that are likely to break something. */
const spice = fc.oneof(
  fc.constantFrom(...Buffer.from('{}[]:,"\\ \n\t0-1eE.truefalsn/*'), 0x00, 0x80, 0xc3, 0xe2, 0xef, 0xff, 0xed, 0xf0),
  fc.nat(255),
);
const mark = fc.constantFrom(...Buffer.from('{}[]:,"'));
/** Inserts bytes anywhere or at the end, or replaces one structural character by another. */
const change = fc.oneof(
  fc.record({
    at: fc.nat(5000),
    where: fc.constantFrom('anywhere', 'end'),
    drop: fc.nat(3),
    insert: fc.array(spice, { maxLength: 2 }),
  }),
  fc.record({ at: fc.nat(5000), where: fc.constant('mark'), drop: fc.constant(1), insert: fc.tuple(mark) }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function mutate(bytes: Buffer, changes: Change[]): Buffer {
  let out = bytes;
  for (const { at, where, drop, insert } of changes) {
    const places =
      where === 'end' ? [out.length] : [...out.keys()].filter((i) => where === 'anywhere' || isMark(out[i] as number));
    const from = places[at % places.length] ?? 0;
    out = Buffer.concat([out.subarray(0, from), Buffer.from(insert), out.subarray(from + drop)]);
  }
  return out;
}

function isMark(byte: number): boolean {
  return '{}[]:,"'.includes(String.fromCharCode(byte));
}

function parseWhole(bytes: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
}

test('damaged bytes are refused if and only if they are not JSON, however they are split', () => {
  const seen = { taken: 0, notJson: 0, wrongShape: 0 };
  fc.assert(
    fc.property(goodBody, fc.array(change, { minLength: 1, maxLength: 3 }), cuts, ({ text }, changes, at) => {
      const bytes = mutate(Buffer.from(text), changes);
      const got = steps(bytes);
      const json = parseWhole(bytes);
      const id = refusal(got);
      if (!json) assert.notEqual(id, undefined, 'text that is not JSON is refused');
      else assert.notEqual(id, 'REQUEST-JSON', 'valid JSON is not refused as invalid JSON');
      if (id === undefined)
        assert.deepEqual(JSON.stringify(usersOf(got)), JSON.stringify(usersOf(expected(json?.value as Json))));
      assert.equal(refusal(steps(...cutAt(bytes, at))), id);
      seen[id === undefined ? 'taken' : id === 'REQUEST-JSON' ? 'notJson' : 'wrongShape']++;
    }),
    { numRuns: 600 },
  );
  assert.ok(seen.taken > 20 && seen.notJson > 20, `the property covered both: ${JSON.stringify(seen)}`);
});

const RICH =
  '{"x":[{"a\\"":"\\\\"}],"dataOrgs":{"orgs":[{"orgId":"ž","humanUsers":[{"u":"\\u017e\\\\"} , "]}", [[]],-1.5e3,null]},{"orgId":"b","humanUsers":[]}]},"timeout":"1h"}';

test('one body gives the same steps when it is split at any byte', () => {
  const bytes = Buffer.from(RICH);
  const want = expected(JSON.parse(RICH));
  for (let i = 0; i <= bytes.length; i++) {
    assert.deepEqual(steps(bytes.subarray(0, i), bytes.subarray(i)), want, `cut at ${i}`);
  }
  assert.deepEqual(steps(...cutAt(bytes, 'every byte')), want);
});

test('one body with each structural character in place of or before each byte, and with each byte left out', () => {
  const bytes = Buffer.from(RICH);
  for (let i = 0; i <= bytes.length; i++) {
    for (const insert of ['', ...'{}[]:,"\\ 0']) {
      for (const drop of [0, 1]) {
        const changed = Buffer.concat([bytes.subarray(0, i), Buffer.from(insert), bytes.subarray(i + drop)]);
        const id = refusal(steps(changed));
        if (parseWhole(changed)) assert.notEqual(id, 'REQUEST-JSON', changed.toString());
        else assert.notEqual(id, undefined, changed.toString());
      }
    }
  }
});
