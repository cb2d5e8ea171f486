/** The arithmetic of the benches' figures, and the users that they import. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { listed } from '../../bench/benches/cost.ts';
import { smallBody } from '../../bench/benches/fair.ts';
import { CASES } from '../../bench/benches/hashes.ts';
import { mostInASecond, rateOf } from '../../bench/benches/mail.ts';
import { parseRedisMemory } from '../../bench/benches/memory.ts';
import { longestPause, type Sample, tenthRates, timeAt } from '../../bench/testbed/import-all.ts';
import { importBody, userId } from '../../bench/testbed/load.ts';
import { importEntry } from '../../src/contract/import-entry.ts';
import { hashProblem, schemeOf } from '../../src/passwords/registry.ts';

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

/** `count` arrivals, `ms` apart. */
function every(ms: number, count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, n) => from + n * ms);
}

test('the rate is computed from the gaps between arrivals', () => {
  assert.equal(rateOf(every(10, 11)), 100);
  assert.equal(rateOf(every(10, 11, 5000)), 100);
  assert.equal(rateOf([5]), 0);
});

test('the most mails within one second are found wherever that second begins', () => {
  assert.equal(mostInASecond(every(10, 500)), 100);
  assert.equal(mostInASecond([...every(0, 100, 990), ...every(0, 100, 1985)]), 200);
  assert.equal(mostInASecond([...every(0, 100, 0), ...every(0, 100, 1000)]), 100);
});

const INFO =
  '# Memory\r\nused_memory:9000000\r\nused_memory_peak:12345678\r\nused_memory_peak_human:11.77M\r\n\r\n' +
  '# Persistence\r\naof_rewrites:17\r\naof_rewrites_consecutive_failures:0\r\naof_last_cow_size:3000000\r\n';

test('the figures are read from the reply to INFO', () => {
  assert.deepEqual(parseRedisMemory(INFO), { usedMemoryPeakMegabytes: 12.3, rewrites: 17, rewriteCopyMegabytes: 3 });
});

test('a missing figure is an error, not zero', () => {
  assert.throws(() => parseRedisMemory('used_memory_peak:1\r\n'), /aof_rewrites/);
});

test('purposes are listed largest first, and small ones are summed up', () => {
  assert.equal(listed({ a: 0.3, b: 2, c: 10.04, d: 0.4 }), 'c 10.0, b 2.0, all else 0.7');
  assert.equal(listed({ a: 0.3 }), '');
});

test('the body has the requested number of different valid users, of about 350 bytes each', () => {
  const chunks = [...importBody(2000, 'acme')];
  const bytes = Buffer.concat(chunks);
  const { orgs } = JSON.parse(bytes.toString()).dataOrgs;
  const users = orgs[0].humanUsers;
  assert.equal(orgs[0].orgId, 'acme');
  assert.equal(users.length, 2000);
  assert.equal(users.at(-1).userId, userId(1999));
  for (const user of users) {
    assert.ok(importEntry.safeParse(user).success, JSON.stringify(user));
    assert.equal(hashProblem(user.user.hashedPassword.value), undefined);
  }
  assert.equal(new Set(users.map((u: { userId: string }) => u.userId)).size, 2000);
  assert.equal(new Set(users.map((u: { user: { userName: string } }) => u.user.userName)).size, 2000);
  const average = bytes.length / 2000;
  assert.ok(average > 320 && average < 380, `${average}`);
  assert.ok(chunks.length > 5 && Math.max(...chunks.map((c) => c.length)) < 100_000, 'the body comes in chunks');
});

interface Entry {
  userId: string;
  user: { userName: string };
}

function entriesOf(bytes: Buffer, orgId: string): Entry[] {
  const [org] = JSON.parse(bytes.toString()).dataOrgs.orgs;
  assert.equal(org.orgId, orgId);
  return org.humanUsers;
}

test('each small import has ten valid users, which are in no other import', () => {
  const large = entriesOf(Buffer.concat([...importBody(100, 'large')]), 'large');
  const small = [100, 110].map((first) => entriesOf(smallBody('small', first), 'small'));
  const all = [...large, ...small.flat()];
  assert.deepEqual(
    small.map((entries) => entries.length),
    [10, 10],
  );
  for (const entry of small.flat()) assert.ok(importEntry.safeParse(entry).success, JSON.stringify(entry));
  assert.equal(new Set(all.map((entry) => entry.userId)).size, 120);
  assert.equal(new Set(all.map((entry) => entry.user.userName)).size, 120);
});

for (const { make, usual, dearest = usual } of CASES) {
  test(`${schemeOf(make(usual))}: ${usual}, ${dearest}`, () => {
    for (const cost of [usual, dearest]) assert.equal(hashProblem(make(cost)), undefined, cost);
  });
}
