import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Step } from '../../../src/imports/entries/parser.ts';
import { around, cutAt, refusedAs, steps, usersOf } from '../../support/imports/parse.ts';

function errorOf(all: Step[]) {
  const last = all.at(-1);
  assert.equal(last?.type, 'error');
  return (last as Extract<Step, { type: 'error' }>).error;
}

describe('text that is not JSON', () => {
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
    it(`is refused: ${JSON.stringify(body)}`, () => assert.equal(refusedAs(body), 'REQUEST-JSON'));

  it('includes invalid UTF-8, in the frame and in entries', () => {
    for (const bad of ['ff', 'c3', 'c0af', 'eda080', 'f4908080', '80', 'e28', 'f09f98'].map((hex) =>
      Buffer.from(hex, 'hex'),
    )) {
      const inText = ([before, after]: string[]) =>
        Buffer.concat([Buffer.from(before ?? ''), bad, Buffer.from(after ?? '')]);
      assert.equal(refusedAs(inText(around('[{"a":"#"}]').split('#'))), 'REQUEST-JSON');
      assert.equal(refusedAs(inText(around('[#]').split('#'))), 'REQUEST-JSON');
      assert.equal(refusedAs(inText('{"x#":1}'.split('#'))), 'REQUEST-JSON');
      assert.equal(refusedAs(inText('{"x":"#"}'.split('#'))), 'REQUEST-JSON');
      assert.equal(refusedAs(inText('{"x":#}'.split('#'))), 'REQUEST-JSON');
      assert.equal(refusedAs(inText([around('[]'), ''])), 'REQUEST-JSON');
    }
  });
});

describe('valid JSON', () => {
  it('may begin with one byte order mark, and contain none elsewhere', () => {
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
      assert.equal(refusedAs(body), 'REQUEST-JSON', JSON.stringify(body));
    }
  });

  it('keeps every string unchanged, including escaped NUL and lone surrogates', () => {
    const values = ['\0', '\ud800', '\u2028', '"\\', 'ž😀', '[,]{}'];
    const text = JSON.stringify(values);
    assert.deepEqual(usersOf(steps(around(text))), values);
    assert.deepEqual(usersOf(steps(...cutAt(Buffer.from(around(text)), 'every byte'))), values);
  });

  it('may contain empty arrays', () => {
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

  it('must not contain a key of the body twice, nor a known one elsewhere, in any spelling', () => {
    for (const body of [
      '{"timeout":"1h","timeout":"1h"}',
      '{"x":1,"dataOrgs":{},"x":2}',
      '{"dataOrgs":{},"dataOrgs":{}}',
      '{"dataOrgs":{},"data_orgs":{}}',
      '{"dataOrgs":{},"data\\u004frgs":{}}',
      '{"dataOrgs":{"orgs":[],"orgs":[]}}',
      '{"dataOrgs":{"orgs":[{"orgId":"a","org_id":"a"}]}}',
      '{"dataOrgs":{"orgs":[{"humanUsers":[1],"human_users":[2]}]}}',
    ]) {
      assert.equal(refusedAs(body), 'IMPORT-DUPLICATE-KEY', body);
    }
    assert.equal(refusedAs('{"x":1,"dataOrgs":{"y":1,"y":2,"orgs":[{"orgId":"a"},{"orgId":"a"}]}}'), undefined);
  });

  it('is recognised only where it belongs: the same names inside unknown fields have no meaning', () => {
    const all = steps(
      '{"x":{"dataOrgs":1,"dataOrgs":2,"orgs":3},"y":[{"humanUsers":7,"orgId":0}],"orgs":1,"dataOrgs":{"timeout":1,"orgs":[{"orgs":2}]}}',
    );
    assert.deepEqual(
      all.map((s) => (s.type === 'unknown' ? s.path : s.type)),
      ['x', 'y', 'orgs', 'dataOrgs.timeout', 'orgs[].orgs', 'orgEnd', 'end'],
    );
  });
});
