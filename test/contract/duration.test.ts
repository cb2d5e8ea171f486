/** Compares with Go's time.ParseDuration (https://pkg.go.dev/time#ParseDuration). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDuration, timeoutProblem } from '../../src/contract/import-options.ts';
import fc from '../support/fast-check.ts';

const GOOD: [string, number][] = [
  ['0', 0],
  ['+0', 0],
  ['-0', -0],
  ['0s', 0],
  ['5s', 5000],
  ['30s', 30_000],
  ['1478s', 1_478_000],
  ['-5s', -5000],
  ['+5s', 5000],
  ['5.0s', 5000],
  ['5.6s', 5600],
  ['5.s', 5000],
  ['.5s', 500],
  ['1.0s', 1000],
  ['1.00s', 1000],
  ['1.004s', 1004],
  ['100.00100s', 100_001],
  ['10ns', 1e-5],
  ['11us', 0.011],
  ['12µs', 0.012],
  ['12μs', 0.012],
  ['13ms', 13],
  ['14s', 14_000],
  ['15m', 900_000],
  ['16h', 57_600_000],
  ['3h30m', 12_600_000],
  ['10.5s4m', 250_500],
  ['-2m3.4s', -123_400],
  ['1h2m3s4ms5us6ns', 3_723_004.005006],
  ['39h9m14.425s', 140_954_425],
  ['1h30m0s', 5_400_000],
  ['1.5h', 5_400_000],
  ['300ms', 300],
  ['1s1s', 2000],
  ['007s', 7000],
  ['0.3333333333333333333h', 1_200_000],
  ['9223372036854775807ns', 9_223_372_036_854.775],
];

const BAD = [
  '',
  '3',
  '5',
  '-',
  '+',
  's',
  '.',
  '-.',
  '.s',
  '+.s',
  '1d',
  '1 h',
  ' 1h',
  '1h ',
  '1h 30m',
  '1H',
  '1M',
  '1S',
  '1hour',
  '1h30',
  '1..5s',
  '1.5.5s',
  '--1s',
  '+-1s',
  '1s-1s',
  '1e3s',
  '0x1s',
  '1_000s',
  '1,5s',
  '٣s',
  '1ｓ',
  '1s\n',
  '\0',
  'Infinity',
  'PT1H',
  '00:30:00',
  `${'1'.repeat(1_000_000)}s`,
];

describe('a duration', () => {
  for (const [text, ms] of GOOD) {
    it(`may be ${text}`, () => {
      const got = parseDuration(text);
      assert.ok(got !== undefined && Math.abs(got - ms) <= Math.abs(ms) * 1e-12, `${got}`);
    });
  }
  for (const text of BAD)
    it(`is not ${JSON.stringify(text.slice(0, 20))}`, () => assert.equal(parseDuration(text), undefined));

  it('is the sum of its parts, in any order', () => {
    const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
    const part = fc.tuple(fc.nat(1_000_000), fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])));
    fc.assert(
      fc.property(fc.constantFrom('', '+', '-'), fc.array(part, { minLength: 1, maxLength: 6 }), (sign, parts) => {
        const ms = parts.reduce((sum, [n, unit]) => sum + n * units[unit], 0);
        assert.equal(parseDuration(sign + parts.map((p) => p.join('')).join('')), sign === '-' ? -ms : ms);
      }),
    );
  });
});

describe('a timeout', () => {
  it('must be more than 0 and at most the maximum', () => {
    for (const text of ['1ns', '300ms', '1.5h', '24h', '1440m', '+23h59m60s'])
      assert.equal(timeoutProblem(text, '24h'), undefined, text);
    for (const text of ['0', '0s', '-0', '-1s', '0h0m0s', '0.0000000000001s', '0.9ns'])
      assert.equal(timeoutProblem(text, '24h'), 'must be more than 0', text);
    for (const text of ['24h1ns', '25h', '1441m', '99999999999h', `${'9'.repeat(90)}h`]) {
      assert.equal(timeoutProblem(text, '24h'), 'must be at most 24h', text);
    }
    assert.equal(timeoutProblem('2s', '1.5s'), 'must be at most 1.5s');
  });

  it('is required, and must be a string with a duration', () => {
    assert.equal(timeoutProblem(undefined, '24h'), 'is required');
    for (const value of [null, 30, true, {}, []]) assert.match(timeoutProblem(value, '24h') ?? '', /^must be a string/);
    for (const text of ['', '30', '1 h', 'soon'])
      assert.match(timeoutProblem(text, '24h') ?? '', /^must be a duration such as/);
  });
});
