/** Numbers with more digits than a number of JavaScript holds. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { jsonRecords } from '../../src/sources/read/json.ts';
import { ndjsonRecords } from '../../src/sources/read/ndjson.ts';
import { exactJson } from '../../src/sources/values.ts';

const TEXT = '{"id":1145148919810123457,"in":[{"n":-9007199254740993}],"x":0.12345678901234567891,"small":12.50}';
const EXACT = { id: '1145148919810123457', in: [{ n: '-9007199254740993' }], x: '0.12345678901234567891', small: 12.5 };

async function* chunks(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test('a number that would lose digits becomes the text of its digits; others stay numbers', () => {
  assert.deepEqual(exactJson(TEXT), EXACT);
  for (const exact of ['9007199254740992', '1000000000000000000000', '1.5000000000000000000', '123e20', '0.1']) {
    assert.deepEqual(exactJson(`[${exact}]`), [Number(exact)], exact);
  }
  assert.equal(exactJson('"1145148919810123457"'), '1145148919810123457');
  assert.throws(() => exactJson('{"a":11451489198101234570'), SyntaxError);
});

test('the readers of files keep the digits', async () => {
  for await (const [record] of ndjsonRecords(chunks(`${TEXT}\n`))) assert.deepEqual(record?.value, EXACT);
  for await (const [record] of jsonRecords(chunks(`[${TEXT}]`), [['*']])) assert.deepEqual(record?.value, EXACT);
});
