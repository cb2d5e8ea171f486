import assert from 'node:assert/strict';
import test from 'node:test';
import { longestPause, type Sample, tenthRates, timeAt } from '../../bench/machine/growth.ts';

const SAMPLES: Sample[] = [
  { ms: 1000, ended: 0 },
  { ms: 1200, ended: 0 },
  { ms: 1400, ended: 100 },
  { ms: 1600, ended: 100 },
  { ms: 1800, ended: 200 },
];

test('between two samples, progress is taken to be even', () => {
  assert.equal(timeAt(SAMPLES, 50), 1300);
  assert.equal(timeAt(SAMPLES, 150), 1700);
  assert.equal(timeAt(SAMPLES, 200), 1800);
});

test('without progress between samples, a number is reached at the first sample that has it', () => {
  assert.equal(timeAt(SAMPLES, 100), 1400);
  assert.equal(timeAt(SAMPLES, 1), 1202);
});

test('a number outside the samples is an error, not a guess', () => {
  assert.throws(() => timeAt(SAMPLES, 201), /no samples around 201 users/);
  assert.throws(() => timeAt([], 1), /no samples/);
  assert.throws(() => timeAt([{ ms: 5, ended: 10 }], 1), /no samples/);
});

test('the longest pause is between two samples with progress, or before the end', () => {
  assert.equal(longestPause(SAMPLES), 400);
  assert.equal(longestPause([...SAMPLES, { ms: 2500, ended: 200 }]), 700);
  assert.equal(longestPause([]), 0);
});

/** Samples, every 200 ms, of an import whose `total` users end at `rate(ended)` users per second. */
function simulate(total: number, startMs: number, rate: (ended: number) => number): Sample[] {
  const samples: Sample[] = [{ ms: 0, ended: 0 }];
  for (let ms = 1, ended = 0; ended < total; ms++) {
    if (ms > startMs) ended = Math.min(total, ended + rate(ended) / 1000);
    if (ms % 200 === 0 || ended === total) samples.push({ ms, ended });
  }
  return samples;
}

function assertNear(actual: number, expected: number, share = 0.02): void {
  assert.ok(Math.abs(actual - expected) < expected * share, `${actual} is not near ${expected}`);
}

test('an import of constant speed has ten equal tenths, however late its first user ends', () => {
  for (const startMs of [0, 150, 30_000]) {
    const rates = tenthRates(
      simulate(100_000, startMs, () => 5000),
      100_000,
    );
    assert.equal(rates.length, 10);
    for (const rate of rates) assertNear(rate, 5000, 0.1);
    for (const rate of rates.slice(1)) assertNear(rate, 5000, 0.001);
  }
});

test('an import that slows down has slower later tenths', () => {
  const rates = tenthRates(
    simulate(100_000, 500, (ended) => (ended < 50_000 ? 4000 : 2000)),
    100_000,
  );
  for (const rate of rates.slice(0, 5)) assertNear(rate, 4000, 0.08);
  for (const rate of rates.slice(5)) assertNear(rate, 2000);
});

test('an import that ends between two samples counts as constant speed', () => {
  const samples = [
    { ms: 10, ended: 0 },
    { ms: 110, ended: 1000 },
  ];
  for (const rate of tenthRates(samples, 1000)) assertNear(rate, 10_000, 0.0001);
});
