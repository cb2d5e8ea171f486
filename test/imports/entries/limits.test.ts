/** The limits of the parser, and which of several problems it reports. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_DEPTH, MAX_ENTRY_BYTES } from '../../../src/imports/entries/parser.ts';
import { around, refusal, refusedAs, steps } from '../../support/imports/parse.ts';

const CHUNK = 65_536;

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const chunked = (bytes: Buffer) =>
  steps(
    ...Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, i) => bytes.subarray(i * CHUNK, (i + 1) * CHUNK)),
  );

describe('limits', () => {
  it(`allow ${MAX_DEPTH} levels of nesting and refuse one more, in the frame and in entries`, () => {
    const frame = (levels: number) => `{"x":${nested(levels - 1)}}`;
    const inEntry = (levels: number) => around(`[1,${nested(levels - 5)}]`);
    const inObject = (levels: number) => around(`[{"a":${nested(levels - 6)}}]`);
    for (const make of [frame, inEntry, inObject]) {
      assert.equal(refusedAs(make(MAX_DEPTH)), undefined);
      assert.equal(refusedAs(make(MAX_DEPTH + 1)), 'IMPORT-DEPTH');
      assert.equal(refusal(steps(make(100_000).slice(0, 50_000))), 'IMPORT-DEPTH');
    }
    assert.equal(refusedAs(around(`["${'['.repeat(200)}"]`)), undefined, 'brackets in a string do not count');
  });

  it('refuse an entry over the limit, and allow any number of entries below it', () => {
    const entry = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
    const most = MAX_ENTRY_BYTES - CHUNK;
    assert.equal(refusal(chunked(Buffer.from(around(`[${entry(most)},${entry(most)}]`)))), undefined);
    assert.equal(refusal(chunked(Buffer.from(around(`[1,${entry(MAX_ENTRY_BYTES + CHUNK)}]`)))), 'IMPORT-ENTRY-SIZE');
  });

  it('skip unknown values of any size, but no single string larger than one MiB', () => {
    const large = `{"x":[${Array(100_000).fill('{"some":["thing",1,null]}').join()}],"timeout":"1h"}`;
    const all = chunked(Buffer.from(large));
    assert.deepEqual(
      all.map((s) => s.type),
      ['unknown', 'timeout', 'end'],
    );
    const text = (bytes: number) => Buffer.from(`{"x":"${'x'.repeat(bytes)}"}`);
    for (const read of [chunked, (bytes: Buffer) => steps(bytes)]) {
      assert.equal(refusal(read(text(2 ** 20 - 2))), undefined);
      assert.equal(refusal(read(text(2 ** 20 - 1))), 'IMPORT-BODY');
    }
  });
});

describe('the first fatal problem in body order', () => {
  const bad = '{"a":}';
  const deep = nested(MAX_DEPTH);

  it('is the problem that is reported', () => {
    assert.equal(refusedAs(around(`[1,${bad},${deep}]`)), 'REQUEST-JSON');
    assert.equal(refusedAs(around(`[1,${deep},${bad}]`)), 'IMPORT-DEPTH');
    assert.equal(refusedAs(around(`[1,{]},${deep}]`)), 'REQUEST-JSON');
    assert.equal(refusedAs(`{"x":${deep}${bad}`), 'IMPORT-DEPTH');
    assert.equal(refusedAs(around(`[${bad}]`).replace('}}', ',"orgId":"o"}}')), 'REQUEST-JSON');
    assert.equal(refusedAs(around(`[{}],"orgId":"o","humanUsers":[${bad}]`)), 'IMPORT-DUPLICATE-KEY');
  });

  it('follows the steps before it, and nothing follows it', () => {
    const all = steps(
      `{"timeout":7,"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[1,2]},{"orgId":`,
      `${bad}`,
      '"timeout":"1h"}',
    );
    assert.deepEqual(
      all.map((s) => s.type),
      ['timeout', 'orgId', 'users', 'orgEnd', 'orgId', 'error'],
    );
  });
});
