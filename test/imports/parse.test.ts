import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_ENTRY_BYTES, type Step } from '../../src/imports/parse.ts';
import { MAX_DEPTH } from '../../src/imports/parse-error.ts';
import { cutAt, refusal, steps, usersOf } from '../support/parse.ts';

const CHUNK = 65_536;

/** A body around the text of `humanUsers`. */
const around = (humanUsers: string) =>
  `{"timeout":"1h","dataOrgs":{"orgs":[{"orgId":"o","humanUsers":${humanUsers}}]}}`;
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const chunked = (bytes: Buffer) =>
  steps(
    ...Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, i) => bytes.subarray(i * CHUNK, (i + 1) * CHUNK)),
  );

/** The refusal, which must be the same for the whole body and byte by byte. */
function refusedAs(body: string | Buffer): string | undefined {
  const id = refusal(steps(body));
  assert.equal(refusal(steps(...cutAt(Buffer.from(body), 'every byte'))), id, `byte by byte: ${body}`);
  return id;
}

function errorOf(all: Step[]) {
  const last = all.at(-1);
  assert.equal(last?.type, 'error');
  return (last as Extract<Step, { type: 'error' }>).error;
}

describe('what is no JSON', () => {
  const BODIES = [
    '',
    ' \n',
    '{',
    'tru',
    around('[{}]').slice(0, -1),
    around('[{}'),
    `${around('[{}]')}{}`,
    `${around('[{}]')} ${around('[{}]')}`,
    `${around('[{}]')}"`,
    `${around('[{}]')}\0`,
    `${around('[{}]')},`,
    ...['[,]', '[{},]', '[ {} , ]', '[,{}]', '[{},,{}]', '[{} {}]', '[{}}', '[}', '[{]}]', '[1}', '["a]'].map(around),
    ...[
      '[nul]',
      '[01]',
      '[1.]',
      '[-]',
      "['a']",
      '[{a:1}]',
      '["\t"]',
      '["\\x"]',
      '["\\u12"]',
      '[undefined]',
      '[/**/]',
      '[\v1]',
    ].map(around),
    '{"timeout":"1h",}',
    '{"timeout" "1h"}',
    '{"timeout":}',
    '{1:2}',
    '{"x":[1 2]}',
    '{"x":[1,]}',
    '{"x":{]}',
    '{"dataOrgs":{"orgs":[,]}}',
    '{"dataOrgs":{"orgs":[{},]}}',
    '{"x":\u00a01}',
  ];
  for (const body of BODIES)
    it(`is refused: ${JSON.stringify(body)}`, () => assert.equal(refusedAs(body), 'IMPORT-JSON'));

  it('is invalid UTF-8 too, in the frame and in entries', () => {
    for (const bad of ['ff', 'c3', 'c0af', 'eda080', 'f4908080', '80', 'e28', 'f09f98'].map((hex) =>
      Buffer.from(hex, 'hex'),
    )) {
      const inText = ([before, after]: string[]) =>
        Buffer.concat([Buffer.from(before ?? ''), bad, Buffer.from(after ?? '')]);
      assert.equal(refusedAs(inText(around('[{"a":"#"}]').split('#'))), 'IMPORT-JSON');
      assert.equal(refusedAs(inText(around('[#]').split('#'))), 'IMPORT-JSON');
      assert.equal(refusedAs(inText('{"x#":1}'.split('#'))), 'IMPORT-JSON');
      assert.equal(refusedAs(inText('{"x":"#"}'.split('#'))), 'IMPORT-JSON');
      assert.equal(refusedAs(inText('{"x":#}'.split('#'))), 'IMPORT-JSON');
      assert.equal(refusedAs(inText([around('[]'), ''])), 'IMPORT-JSON');
    }
  });
});

describe('what is JSON', () => {
  it('may begin with one byte order mark, and hold none elsewhere', () => {
    const bom = '\ufeff';
    assert.equal(refusedAs(bom + around('[1]')), undefined);
    assert.deepEqual(usersOf(steps(bom + around('[1]'))), [1]);
    for (const body of [
      bom,
      bom + bom + around('[1]'),
      ` ${bom}${around('[1]')}`,
      around(`[${bom}1]`),
      around('[1]') + bom,
    ]) {
      assert.equal(refusedAs(body), 'IMPORT-JSON', JSON.stringify(body));
    }
  });

  it('keeps every text as it is, escaped NUL and lone surrogates too', () => {
    const values = ['\0', '\ud800', '\u2028', '"\\', 'ž😀', '[,]{}'];
    const text = JSON.stringify(values);
    assert.deepEqual(usersOf(steps(around(text))), values);
    assert.deepEqual(usersOf(steps(...cutAt(Buffer.from(around(text)), 'every byte'))), values);
  });

  it('may hold arrays that are empty', () => {
    for (const body of ['{"dataOrgs":{"orgs":[]}}', around('[]'), around('[ \n ]')])
      assert.equal(refusedAs(body), undefined);
    assert.deepEqual(usersOf(steps(around('[ ]'))), []);
  });
});

describe('the shape of the frame', () => {
  const BODIES: [string, string | undefined][] = [
    ['[]', undefined],
    ['7', undefined],
    ['null', undefined],
    ['"{}"', undefined],
    ['{"dataOrgs":[]}', 'dataOrgs'],
    ['{"data_orgs":null}', 'dataOrgs'],
    ['{"dataOrgs":{"orgs":{}}}', 'orgs'],
    ['{"dataOrgs":{"orgs":null}}', 'orgs'],
    ['{"dataOrgs":{"orgs":[null]}}', 'orgs[0]'],
    ['{"dataOrgs":{"orgs":[{},[]]}}', 'orgs[1]'],
    ['{"dataOrgs":{"orgs":[{"humanUsers":{}}]}}', 'humanUsers'],
    ['{"dataOrgs":{"orgs":[{"human_users":null}]}}', 'humanUsers'],
  ];
  for (const [body, field] of BODIES) {
    it(`is refused: ${body}`, () => {
      assert.equal(refusedAs(body), 'IMPORT-BODY');
      assert.equal(errorOf(steps(body)).field, field);
    });
  }

  it('holds no known key twice, in whatever spelling', () => {
    for (const body of [
      '{"timeout":"1h","timeout":"1h"}',
      '{"dataOrgs":{},"dataOrgs":{}}',
      '{"dataOrgs":{},"data_orgs":{}}',
      '{"dataOrgs":{},"data\\u004frgs":{}}',
      '{"dataOrgs":{"orgs":[],"orgs":[]}}',
      '{"dataOrgs":{"orgs":[{"orgId":"a","org_id":"a"}]}}',
      '{"dataOrgs":{"orgs":[{"humanUsers":[1],"human_users":[2]}]}}',
    ]) {
      assert.equal(refusedAs(body), 'IMPORT-DUPLICATE-KEY', body);
    }
    assert.equal(refusedAs('{"x":1,"x":2,"dataOrgs":{"orgs":[{"orgId":"a"},{"orgId":"a"}]}}'), undefined);
  });

  it('is known only where it belongs: the same names inside of what is unknown mean nothing', () => {
    const all = steps(
      '{"x":{"dataOrgs":1,"dataOrgs":2,"orgs":3},"y":[{"humanUsers":7,"orgId":0}],"orgs":1,"dataOrgs":{"timeout":1,"orgs":[{"orgs":2}]}}',
    );
    assert.deepEqual(
      all.map((s) => (s.type === 'unknown' ? s.path : s.type)),
      ['x', 'y', 'orgs', 'dataOrgs.timeout', 'orgs[].orgs', 'orgEnd', 'end'],
    );
  });
});

describe('limits', () => {
  it(`lets ${MAX_DEPTH} levels pass and refuses one more, in the frame and in entries`, () => {
    const frame = (levels: number) => `{"x":${nested(levels - 1)}}`;
    const inEntry = (levels: number) => around(`[1,${nested(levels - 5)}]`);
    const inObject = (levels: number) => around(`[{"a":${nested(levels - 6)}}]`);
    for (const make of [frame, inEntry, inObject]) {
      assert.equal(refusedAs(make(MAX_DEPTH)), undefined);
      assert.equal(refusedAs(make(MAX_DEPTH + 1)), 'IMPORT-DEPTH');
      assert.equal(refusal(steps(make(100_000).slice(0, 50_000))), 'IMPORT-DEPTH');
    }
    assert.equal(refusedAs(around(`["${'['.repeat(200)}"]`)), undefined, 'a text does not nest');
  });

  it('holds no entry larger than it may be, and any number that are not', () => {
    const entry = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
    const most = MAX_ENTRY_BYTES - CHUNK;
    assert.equal(refusal(chunked(Buffer.from(around(`[${entry(most)},${entry(most)}]`)))), undefined);
    assert.equal(refusal(chunked(Buffer.from(around(`[1,${entry(MAX_ENTRY_BYTES + CHUNK)}]`)))), 'IMPORT-ENTRY-SIZE');
  });

  it('reads over unknown values of any size, but over no single text above one MiB', () => {
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

  it('is the one reported', () => {
    assert.equal(refusedAs(around(`[1,${bad},${deep}]`)), 'IMPORT-JSON');
    assert.equal(refusedAs(around(`[1,${deep},${bad}]`)), 'IMPORT-DEPTH');
    assert.equal(refusedAs(around(`[1,{]},${deep}]`)), 'IMPORT-JSON');
    assert.equal(refusedAs(`{"x":${deep}${bad}`), 'IMPORT-DEPTH');
    assert.equal(refusedAs(around(`[${bad}]`).replace('}}', ',"orgId":"o"}}')), 'IMPORT-JSON');
    assert.equal(refusedAs(around(`[{}],"orgId":"o","humanUsers":[${bad}]`)), 'IMPORT-DUPLICATE-KEY');
  });

  it('comes after the steps before it, and nothing comes after it', () => {
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
