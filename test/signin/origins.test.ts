import assert from 'node:assert/strict';
import test from 'node:test';
import type { Db } from '../../src/platform/db/pool.ts';
import { openOrigins } from '../../src/signin/clients.ts';

/** A database that counts the reads, and answers when `release` is called. */
function held(uris: string[]) {
  const waiting: (() => void)[] = [];
  const query = async () => {
    const rows = uris.map((uri) => ({ uri }));
    await new Promise<void>((resolve) => waiting.push(resolve));
    return { rows };
  };
  const release = async (i: number) => {
    await settle();
    assert(waiting[i]);
    waiting[i]();
  };
  return { db: { query } as unknown as Db, uris, reads: () => waiting.length, release };
}

/** Lets all that can run now run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('requests from a known origin read the database once', async () => {
  const { db, reads, release } = held(['https://a.example.com/callback', 'https://a.example.com/other']);
  const origins = openOrigins(db, 60_000);
  const first = Promise.all([origins.has('https://a.example.com'), origins.has('https://a.example.com')]);
  await release(0);
  assert.deepEqual(await first, [true, true]);
  assert.equal(await origins.has('https://a.example.com'), true);
  assert.equal(reads(), 1);
});

test('requests from unknown origins share a read that begins after them', async () => {
  const { db, uris, reads, release } = held([]);
  const origins = openOrigins(db, 60_000);
  const early = origins.has('https://a.example.com');
  await settle();
  uris.push('https://a.example.com/callback'); // registered while the first read is under way
  const late = Promise.all([1, 2, 3].map(() => origins.has('https://a.example.com')));
  await release(0);
  assert.equal(await early, false);
  await release(1);
  assert.deepEqual(await late, [true, true, true]);
  assert.equal(reads(), 2);
});

test('a removed origin is forgotten', async () => {
  const { db, uris, release } = held(['https://a.example.com/callback']);
  const origins = openOrigins(db, 0);
  const first = origins.has('https://a.example.com');
  await release(0);
  assert.equal(await first, true);
  uris.pop();
  const second = origins.has('https://a.example.com');
  await release(1);
  assert.equal(await second, false);
});

test('a read that fails does not stay', async () => {
  let broken = true;
  const query = async () => {
    if (broken) throw new Error('the database is down');
    return { rows: [{ uri: 'https://a.example.com/' }] };
  };
  const origins = openOrigins({ query } as unknown as Db, 60_000);
  await assert.rejects(origins.has('https://a.example.com'), /down/);
  broken = false;
  assert.equal(await origins.has('https://a.example.com'), true);
});
