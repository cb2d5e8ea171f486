/** Plain passwords: encrypted at rest, hashed by the worker, and then erased. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { QueryConfig } from 'pg';
import { type ItemPointer, PASSWORD_PURPOSE } from '../../../src/imports/entries/item.ts';
import { createBatchWriter } from '../../../src/imports/run/batch-writer.ts';
import { type HashLane, openHashLane } from '../../../src/imports/run/hash-lane.ts';
import { hashAndWrite, processItem } from '../../../src/imports/run/process-job.ts';
import { batchStore } from '../../../src/imports/run/stores.ts';
import { type Hasher, openHasher } from '../../../src/passwords/hasher.ts';
import { verifyHash } from '../../../src/passwords/registry.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { MissingKey, openSecrets, type Secrets } from '../../../src/platform/encryption.ts';
import {
  acceptImport,
  addOrgs,
  entry,
  errorIdOf,
  importRow,
  itemRows,
  openWriterPool,
  SECRETS,
  setImport,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const withPassword = (name: string, password: string) => entry(name, { password, hashedPassword: undefined });

describe('a plain password', () => {
  let db: TestDatabase;
  let writerPool: Pool;
  let hasher: Hasher;
  before(async () => {
    db = await testDatabase({ name: 'import_passwords' });
    writerPool = openWriterPool(db.url);
    hasher = openHasher({ threads: 1, bcryptCost: 4 });
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await hasher.close();
    await writerPool.end();
    await db.drop();
  });

  function startWorker(change: { hasher?: Hasher; secrets?: Secrets; lane?: HashLane } = {}) {
    const limits = {
      maxBatch: 100,
      maxFlushes: 2,
      maxFlushesPerImport: 2,
      fill: { items: 1, ms: 0 },
      retryMs: { first: 1, last: 2 },
    };
    const writer = createBatchWriter(batchStore(writerPool, { codeTtlMs: 1000 }), limits);
    const hashing = { writerPool, secrets: SECRETS, hasher, lane: openLane(), writer, ...change };
    const deps = { writer, handOver: (job: { data: ItemPointer }) => hashAndWrite(hashing, job.data) };
    return (importId: string, count: number) =>
      Promise.all(Array.from({ length: count }, (_, o) => processItem(deps, { data: { i: importId, o } })));
  }
  const openLane = (pool = db.pool) => openHashLane(pool, 1, assert.ifError);
  /** One slot, how many have asked for it, and the imports that were found to run. */
  function countedSlots() {
    const running = new Set<string>();
    const query = async (statement: QueryConfig) => {
      const result = await db.pool.query<{ id: string }>(statement);
      for (const { id } of result.rows) running.add(id);
      return result;
    };
    const lane = openLane({ query } as unknown as Pool);
    const counted = { ...lane, asked: 0, running };
    counted.run = (...args) => {
      counted.asked++;
      return lane.run(...args);
    };
    return counted;
  }
  async function hashOf(userId: string): Promise<string> {
    const { rows } = await db.pool.query('select password_hash from users where id = $1', [userId]);
    return rows[0].password_hash;
  }

  it('is encrypted at rest, then hashed and erased', async () => {
    const secret = 'Žluťoučký kůň';
    const importId = await acceptImport(db.pool, [
      withPassword('a', secret),
      entry('b'),
      withPassword('c', 'x'.repeat(100)),
    ]);
    const [sealed] = await itemRows(db.pool, importId);
    assert.equal(SECRETS.unseal(sealed?.password_sealed, PASSWORD_PURPOSE), secret);
    assert.ok(!JSON.stringify(sealed).includes(secret));
    await startWorker()(importId, 3);
    assert.equal((await importRow(db.pool, importId)).state, 'succeeded');
    assert.match(await hashOf('id-a'), /^\$2b\$04\$/);
    assert.ok(verifyHash(await hashOf('id-a'), secret));
    assert.ok(verifyHash(await hashOf('id-c'), 'x'.repeat(100)));
    assert.ok(!verifyHash(await hashOf('id-c'), 'x'.repeat(99)), 'every character of a long password counts');
    const left = await itemRows(db.pool, importId);
    assert.deepEqual(
      left.map((i) => [i.password_sealed, i.password_hash]),
      Array(3).fill([null, null]),
    );
    assert.equal((await tableCounts(db.pool)).mails, 0, 'a user with a password gets no mail');
  });

  it('does not delay other users while it is hashed', async () => {
    const released = Promise.withResolvers<void>();
    const slow: Hasher = { ...hasher, hash: (plain) => released.promise.then(() => hasher.hash(plain)) };
    const importId = await acceptImport(db.pool, [withPassword('a', 'secret'), entry('b')]);
    const all = startWorker({ hasher: slow })(importId, 2);
    await waitFor(async () => (await importRow(db.pool, importId)).succeeded === 1, { what: 'the other user' });
    released.resolve();
    await all;
    assert.equal((await importRow(db.pool, importId)).succeeded, 2);
  });

  it('of a small import is hashed in turn with those of a large one', async () => {
    const [big, small] = [
      await acceptImport(
        db.pool,
        Array.from({ length: 30 }, (_, i) => withPassword(`big${i}`, 'big')),
      ),
      await acceptImport(
        db.pool,
        ['x', 'y', 'z'].map((name) => withPassword(name, 'small')),
      ),
    ];
    const hashed: string[] = [];
    const lane = countedSlots();
    const gate = Promise.withResolvers<void>();
    const work = startWorker({
      lane,
      hasher: {
        ...hasher,
        hash(plain) {
          hashed.push(plain);
          return gate.promise.then(() => hasher.hash(plain));
        },
      },
    });
    const all = [work(big, 30)];
    // One of its passwords is being hashed, and the others wait.
    await waitFor(() => lane.asked === 30 && hashed.length === 1, { what: 'the large import to wait in line' });
    all.push(work(small, 3));
    await waitFor(() => lane.asked === 33 && lane.running.has(small), { what: 'the small import to wait in line' });
    gate.resolve();
    await Promise.all(all);
    assert.deepEqual(hashed.slice(0, 7), ['big', 'big', 'small', 'big', 'small', 'big', 'small']);
  });

  it('is left to another worker by one that lacks the key', async () => {
    const importId = await acceptImport(db.pool, [withPassword('a', 'secret')]);
    const [item] = await itemRows(db.pool, importId);
    const [now, other] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];
    const newer = openSecrets(other, [now]);
    await db.pool.query('update import_items set password_sealed = $2 where import_id = $1', [
      importId,
      newer.seal(SECRETS.unseal(item?.password_sealed, PASSWORD_PURPOSE), PASSWORD_PURPOSE),
    ]);
    await assert.rejects(startWorker()(importId, 1), MissingKey);
    assert.equal((await itemRows(db.pool, importId))[0]?.state, 'pending');
    await startWorker({ secrets: newer })(importId, 1);
    assert.equal((await importRow(db.pool, importId)).state, 'succeeded');
  });

  it('is hashed once, even if two workers have the job', async () => {
    const importId = await acceptImport(db.pool, [withPassword('a', 'secret')]);
    await Promise.all([startWorker()(importId, 1), startWorker()(importId, 1)]);
    assert.ok(verifyHash(await hashOf('id-a'), 'secret'));
    assert.deepEqual(await tableCounts(db.pool), { users: 1, events: 1, metadata: 0, links: 0, codes: 0, mails: 0 });
    assert.equal((await importRow(db.pool, importId)).succeeded, 1);
  });

  it('is hashed once when it was dispatched again or encrypted again while it waited for its turn', async () => {
    const importId = await acceptImport(db.pool, [withPassword('a', 'secret'), withPassword('b', 'secret')]);
    const lane = countedSlots();
    const gate = Promise.withResolvers<void>();
    let hashes = 0;
    const work = startWorker({
      lane,
      hasher: {
        ...hasher,
        async hash(plain) {
          hashes++;
          await gate.promise;
          return hasher.hash(plain);
        },
      },
    });
    const all = [work(importId, 2), work(importId, 2)];
    await waitFor(() => lane.asked === 4 && hashes === 1, { what: 'all jobs to wait in line' });
    const again = SECRETS.seal('secret', PASSWORD_PURPOSE);
    await db.pool.query('update import_items set password_sealed = $2 where import_id = $1 and ordinal = 1', [
      importId,
      again,
    ]);
    gate.resolve();
    await Promise.all(all);
    assert.equal(hashes, 2);
    assert.equal((await importRow(db.pool, importId)).succeeded, 2);
  });

  it('that is encrypted again with another key while it is hashed is hashed all the same', async () => {
    const importId = await acceptImport(db.pool, [withPassword('a', 'secret')]);
    const [old] = await itemRows(db.pool, importId);
    let replaced = 0;
    const work = startWorker({
      hasher: {
        ...hasher,
        async hash(plain) {
          if (replaced++ === 0) {
            const again = SECRETS.seal('secret', PASSWORD_PURPOSE);
            await db.pool.query('update import_items set password_sealed = $1 where password_sealed = $2', [
              again,
              old?.password_sealed,
            ]);
          }
          return hasher.hash(plain);
        },
      },
    });
    await work(importId, 1);
    assert.ok(verifyHash(await hashOf('id-a'), 'secret'));
    assert.equal((await importRow(db.pool, importId)).succeeded, 1);
  });

  it('is gone from an item that failed with a conflict', async () => {
    await startWorker()(await acceptImport(db.pool, [entry('a')]), 1);
    const importId = await acceptImport(db.pool, [withPassword('a', 'secret')]);
    await startWorker()(importId, 1);
    const [item] = await itemRows(db.pool, importId);
    assert.deepEqual([item?.state, errorIdOf(item), item?.password_sealed], ['failed', 'USER-ID-TAKEN', null]);
  });

  it('is hashed even if the import stopped meanwhile, but the user is not written', async () => {
    const importId = await acceptImport(db.pool, [withPassword('a', 'secret')]);
    const stopping: Hasher = {
      ...hasher,
      async hash(plain) {
        await setImport(db.pool, importId, { state: `'cancelled'` });
        return hasher.hash(plain);
      },
    };
    await startWorker({ hasher: stopping })(importId, 1);
    const [item] = await itemRows(db.pool, importId);
    assert.deepEqual([item?.state, item?.password_sealed], ['pending', null]);
    assert.ok(verifyHash(item?.password_hash, 'secret'), 'a resume does not hash again');
    assert.equal((await tableCounts(db.pool)).users, 0);
  });
});
