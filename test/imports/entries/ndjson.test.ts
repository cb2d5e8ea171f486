import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NdjsonParser } from '../../../src/imports/entries/ndjson.ts';
import { MAX_DEPTH, MAX_ENTRY_BYTES, type Step } from '../../../src/imports/entries/parser.ts';
import { cpuMs } from '../../support/cpu.ts';
import fc from '../../support/fast-check.ts';
import { lineError, lineSteps, lines } from '../../support/imports/ndjson.ts';
import { cutAt, cuts, refusal, usersOf } from '../../support/imports/parse.ts';

const a = { orgId: 'a', userId: '1', user: {} };
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

function orgsOf(all: Step[]): unknown[] {
  return all.flatMap((step) => (step.type === 'orgId' ? [[step.org, step.value, step.line]] : []));
}

describe('NDJSON lines', () => {
  it('become the steps of a body, with each organization at its first mention', () => {
    const all = lineSteps(lines([a, { ...a, orgId: 'b' }, { user: {}, orgId: 'b' }, a]));
    assert.deepEqual(
      all.map((s) => s.type),
      ['timeout', 'orgId', 'users', 'orgId', 'users', 'users', 'end'],
    );
    assert.deepEqual(all[0], { type: 'timeout', value: '1h' });
    assert.deepEqual(orgsOf(all), [
      [0, 'a', 1],
      [1, 'b', 2],
    ]);
    assert.deepEqual(usersOf(all), [
      { userId: '1', user: {} },
      { userId: '1', user: {} },
      { user: {} },
      { userId: '1', user: {} },
    ]);
    assert.deepEqual(
      all.flatMap((s) => (s.type === 'users' ? [s.org] : [])),
      [0, 1, 0],
    );
  });

  it('may end with CRLF, be blank, lack the last newline, and begin with a byte order mark', () => {
    const line = JSON.stringify(a);
    for (const body of [
      line,
      `${line}\n`,
      `\n\r\n \t\n${line}\r\n\r\n  `,
      `\ufeff${line}\r\n`,
      `\ufeff\n${line}`,
      `  ${line}\t\n`,
    ]) {
      assert.deepEqual(usersOf(lineSteps(body)), [{ userId: '1', user: {} }], JSON.stringify(body));
    }
    assert.deepEqual(orgsOf(lineSteps(`\n\r\n${line}`)), [[0, 'a', 3]]);
  });

  it('accept orgId in both spellings, but only once', () => {
    assert.deepEqual(orgsOf(lineSteps('{"org_id":"a"}\n{"orgId":"a"}')), [[0, 'a', 1]]);
    assert.deepEqual(usersOf(lineSteps('{"org_id":"a","x":1}')), [{ x: 1 }]);
    assert.equal(lineError('{"org_id":"a","orgId":"a"}').id, 'IMPORT-DUPLICATE-KEY');
  });

  it('keep every other field, whatever its name', () => {
    const [user] = usersOf(lineSteps('{"__proto__":{"userId":"1"},"constructor":1,"orgId":"a"}')) as object[];
    assert.deepEqual(Object.keys(user ?? {}), ['__proto__', 'constructor']);
    assert.equal((user as { userId?: string }).userId, undefined);
  });

  it('mark runs without escapes as plain', () => {
    const parser = new NdjsonParser('1h');
    const steps = [
      ...parser.push(Buffer.from(lines([a, a]))),
      ...parser.push(Buffer.from(lines([a, { ...a, x: '\n' }]))),
    ];
    assert.deepEqual(
      steps.flatMap((s) => (s.type === 'users' ? [s.plain] : [])),
      [true, false],
    );
  });
});

describe('an NDJSON body is refused with the number of the line', () => {
  const good = JSON.stringify(a);
  const BROKEN: [line: string, id: string][] = [
    ['{', 'REQUEST-JSON'],
    [`${good}}`, 'REQUEST-JSON'],
    [`${good},`, 'REQUEST-JSON'],
    [`${good} ${good}`, 'REQUEST-JSON'],
    [`${good},${good}`, 'REQUEST-JSON'],
    ['{"orgId":"a","user":{"x":"\\', 'REQUEST-JSON'],
    ['{"orgId":"a","user":{"x":"', 'REQUEST-JSON'],
    ['\u00a0', 'REQUEST-JSON'],
    ['\ufeff\ufeff', 'REQUEST-JSON'],
    ['\0', 'REQUEST-JSON'],
    ['nul', 'REQUEST-JSON'],
    ['null', 'IMPORT-BODY'],
    ['7', 'IMPORT-BODY'],
    ['"a"', 'IMPORT-BODY'],
    [`[${good}]`, 'IMPORT-BODY'],
    ['{}', 'IMPORT-BODY'],
    ['{"userId":"1","user":{}}', 'IMPORT-BODY'],
    ['{"orgId":null}', 'IMPORT-BODY'],
    ['{"orgId":7}', 'IMPORT-BODY'],
    ['{"orgId":["a"]}', 'IMPORT-BODY'],
    [`{"orgId":"a","x":${nested(MAX_DEPTH)}}`, 'IMPORT-DEPTH'],
    [`{"x":${'['.repeat(100_000)}`.slice(0, 3000), 'IMPORT-DEPTH'],
  ];
  for (const [line, id] of BROKEN) {
    it(`${JSON.stringify(line).slice(0, 60)}`, () => {
      const { message, ...error } = lineError(`${good}\n\n${line}\n${good}\n{`);
      assert.equal(error.id, id);
      assert.match(message, /^Line 3\b/);
      assert.match(lineError(line).message, /^Line 1\b/);
    });
  }

  it('when its bytes are not UTF-8', () => {
    for (const bad of ['ff', 'c3', 'c0af', 'eda080', '80', 'f09f98']) {
      const bytes = Buffer.concat([Buffer.from(`${good}\n{"orgId":"`), Buffer.from(bad, 'hex'), Buffer.from(`"}\n{`)]);
      assert.deepEqual([lineError(bytes).id, lineError(bytes).message], ['REQUEST-JSON', 'Line 2 is not valid UTF-8.']);
    }
  });

  it('and the name of the field', () => {
    assert.equal(lineError('{}').field, 'orgId');
  });

  it('when it contains no line at all', () => {
    for (const body of ['', '\n', ' \r\n\n', '\ufeff', '\ufeff\n'])
      assert.equal(lineError(body).id, 'IMPORT-BODY', JSON.stringify(body));
  });

  it('after the steps of the lines before it, and nothing follows', () => {
    const parser = new NdjsonParser('1h');
    const steps = parser.push(Buffer.from(lines([a, '{', a])));
    assert.deepEqual(
      steps.map((s) => s.type),
      ['timeout', 'orgId', 'users', 'error'],
    );
    assert.deepEqual([parser.push(Buffer.from(lines([a]))), parser.end()], [[], []]);
  });
});

describe('the limits of lines', () => {
  it(`are ${MAX_DEPTH} levels, including the braces of the line`, () => {
    assert.equal(refusal(lineSteps(`{"orgId":"a","x":${nested(MAX_DEPTH - 1)}}`)), undefined);
    assert.equal(
      refusal(lineSteps(`{"orgId":"a","x":"${'['.repeat(200)}"}`)),
      undefined,
      'brackets in a string do not count',
    );
  });

  it('are those of an entry for each line, complete or not, and none for the number of lines', () => {
    const line = (bytes: number) => `{"orgId":"a","x":"${'x'.repeat(bytes - 20)}"}`;
    const refused = (...pieces: string[]) => refusal(lineSteps(...pieces));
    assert.equal(refused(`${line(MAX_ENTRY_BYTES)}\n`, `${line(MAX_ENTRY_BYTES)}`), undefined);
    assert.equal(refused(`${line(MAX_ENTRY_BYTES + 1)}\n`), 'IMPORT-ENTRY-SIZE');
    assert.equal(refused(lines([a]), line(MAX_ENTRY_BYTES + 1)), 'IMPORT-ENTRY-SIZE');
    const half = line(MAX_ENTRY_BYTES).slice(0, MAX_ENTRY_BYTES / 2);
    const parser = new NdjsonParser('1h');
    parser.push(Buffer.from(half));
    const [error] = parser.push(Buffer.from('x'.repeat(MAX_ENTRY_BYTES / 2 + 1)));
    assert.ok(error?.type === 'error');
    assert.match(error.error.message, /^Line 1 must be at most/);
  });

  it('allow a long line to be copied only a few times, in however many chunks it arrives', () => {
    const parser = new NdjsonParser('1h');
    const piece = Buffer.alloc(64, 'x');
    parser.push(Buffer.from('{"orgId":"a","x":"'));
    const ms = cpuMs(() => {
      for (let i = 0; i < 100_000; i++) parser.push(piece); // 6.4 MB; over 300 GB if each piece copied the line
    });
    assert.equal(refusal(parser.push(Buffer.from('"}\n'))), undefined);
    assert.ok(ms < 20_000, `${ms} ms`);
  });
});

describe('any split of any lines', () => {
  const json = fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' });
  const line = fc.record(
    { orgId: fc.constantFrom('a', 'b', 'ž'), userId: json, user: json, 'x y': json },
    { requiredKeys: ['orgId'] },
  );
  const ends = fc.constantFrom('\n', '\r\n', '\n\n', ' \t\r\n');

  it('gives the same users in the same order, each in its organization', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(line, ends), { minLength: 1, maxLength: 12 }), cuts, (body, at) => {
        const text = Buffer.from(body.map(([value, end]) => JSON.stringify(value) + end).join(''));
        const all = lineSteps(...cutAt(text, at));
        assert.equal(refusal(all), undefined);
        const ids = all.flatMap((s) => (s.type === 'orgId' ? [s.value] : []));
        assert.deepEqual(ids, [...new Set(body.map(([{ orgId }]) => orgId))]);
        const users = all.flatMap((s) =>
          s.type === 'users' ? s.entries.map((one) => ({ orgId: ids[s.org], ...(one as object) })) : [],
        );
        assert.deepEqual(
          users.map((u) => JSON.stringify(u)),
          body.map(([{ orgId, ...rest }]) => JSON.stringify({ orgId, ...JSON.parse(JSON.stringify(rest)) })),
        );
      }),
    );
  });
});
