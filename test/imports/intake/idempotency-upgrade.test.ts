/**
 * Keys across the upgrade that hashes them (migration 029): those in use keep working, and processes of the previous
 * version, which send keys as they are, import nothing twice.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { claimKey, findKey, type KeyedRequest, keyedRequest } from '../../../src/imports/intake/idempotency.ts';
import { isStoreFault } from '../../../src/platform/db/faults.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { acceptImport, addOrgs, entries, SECRETS, setImport } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const RAW = 'migration-part-1';
const HASH = Buffer.alloc(32, 1);
const keyed = keyedRequest({ get: () => RAW, query: {} } as never, SECRETS, 'caller', '/p', '') as KeyedRequest;

describe('an idempotency key', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'idempotency-upgrade' });
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => db.pool.query('delete from idempotency_keys'));
  after(() => db.drop());

  /** What a process of the previous version sends when it accepts an import. */
  const claimRaw = (importId: string) =>
    db.pool.query(
      `insert into idempotency_keys as k (caller, path, key, request_hash, import_id) values ('caller', '/p', $1, $2, $3)
       on conflict (caller, path, key) do update set
         request_hash = excluded.request_hash, import_id = excluded.import_id, answer = null, created_at = now()
       where k.created_at < now() - interval '24 hours' or exists (
         select from imports i where i.id = k.import_id and i.kind = 'single' and i.state not in ('running', 'succeeded'))`,
      [RAW, HASH, importId],
    );
  const claim = (importId: string) => transaction(db.pool, (tx) => claimKey(tx, keyed, [HASH], importId));
  const found = async () => (await findKey(db.pool, keyed))?.importId;

  it('from a process of the previous version is found by this version', async () => {
    await claimRaw('7');
    assert.equal(await found(), '7');
  });

  it('that this version recorded is refused to the previous version, which answers 503', async () => {
    await claim('7');
    await assert.rejects(claimRaw('8'), (error) => isStoreFault(error));
    assert.equal(await found(), '7');
  });

  it('that no longer identifies an import can be used by the previous version', async () => {
    await claim('7');
    await db.pool.query(`update idempotency_keys set created_at = now() - interval '25 hours'`);
    assert.equal((await claimRaw('8')).rowCount, 1);
    assert.equal(await found(), '8');
    const single = await acceptImport(db.pool, entries(1));
    await setImport(db.pool, single, { kind: `'single'`, state: `'timed_out'` });
    await db.pool.query('update idempotency_keys set import_id = $1', [single]);
    assert.equal((await claimRaw('9')).rowCount, 1);
    assert.equal(await found(), '9');
  });
});
