import assert from 'node:assert/strict';
import test from 'node:test';
import { median, rowsOf, slope, soakTable, trendOf } from '../../bench/soak/report.ts';
import { readSoakOptions } from '../../bench/soak/soak.ts';

const TOLERANCE = { share: 0.1, least: 5 };
const points = (value: (n: number) => number, count = 50) =>
  Array.from({ length: count }, (_, n) => ({ seconds: n * 5, value: value(n) }));

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.deepEqual([median([3, 1, 2]), median([4, 1, 3, 2])], [2, 2.5]);
});

test('a figure grows by its slope, however it swings', () => {
  const leak = trendOf(
    points((n) => 100 + n + (n % 7) * 10),
    TOLERANCE,
  );
  assert.equal(leak.verdict, 'grows');
  assert.ok(Math.abs(leak.growth - 49) < 8, `${leak.growth}`);
  const saw = points((n) => 100 + (n % 10) * 10);
  assert.equal(trendOf(saw, TOLERANCE).verdict, 'steady');
});

test('single peaks, at the end too, are no growth', () => {
  const peaks = points((n) => (n > 46 || n === 20 ? 5000 : 100));
  assert.equal(trendOf(peaks, TOLERANCE).verdict, 'steady');
  assert.equal(slope(peaks), 0);
});

test('growth within the tolerance is none, and so is a decrease', () => {
  assert.equal(
    trendOf(
      points((n) => 1000 + n),
      TOLERANCE,
    ).verdict,
    'steady',
  );
  assert.equal(
    trendOf(
      points((n) => 10 + n / 12),
      TOLERANCE,
    ).verdict,
    'steady',
  );
  assert.equal(
    trendOf(
      points((n) => 1000 - 10 * n),
      TOLERANCE,
    ).verdict,
    'steady',
  );
});

test('a few samples show no trend', () => {
  assert.equal(
    trendOf(
      points((n) => n * 100, 5),
      TOLERANCE,
    ).verdict,
    'too short',
  );
  assert.equal(
    trendOf(
      points((n) => n, 1),
      TOLERANCE,
    ).growth,
    0,
  );
});

test('a table that should shrink is judged, one of data is not, and small ones are not shown', () => {
  const samples = points((n) => n * 1000).map(({ seconds, value }) => ({
    seconds,
    figures: {
      'rows users': value,
      'rows sessions': value,
      'rows leases': 1,
      'rows codes': 0,
      'p50 login': Number.NaN,
    },
  }));
  const rows = rowsOf(samples);
  assert.deepEqual(
    rows.map(({ name, verdict }) => [name, verdict]),
    [
      ['rows users', 'grows with the imported users'],
      ['rows sessions', 'grows'],
      ['rows leases', 'steady'],
    ],
  );
  assert.ok(soakTable(rows).includes('rows sessions') && !soakTable(rows).includes('rows leases'));
});

test('arguments are checked', () => {
  assert.deepEqual(readSoakOptions(['--minutes', '0.5', '--streams', '20']), {
    minutes: 0.5,
    streams: 20,
    users: 200_000,
    workers: 1,
    json: false,
  });
  for (const args of [['--minutes', '0'], ['--minutes', 'x'], ['--streams', '2.5'], ['--streams', '9999'], ['--fast']])
    assert.throws(() => readSoakOptions(args), /^Error: .+/);
});
