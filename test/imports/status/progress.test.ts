import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Counts, ImportResult } from '../../../src/contract/import-types.ts';
import { cancelImport } from '../../../src/imports/control/control.ts';
import { isEnded } from '../../../src/imports/entries/states.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { listImports, readProgress } from '../../../src/imports/status/progress.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptBody,
  acceptImport,
  addOrgs,
  entries,
  entry,
  openWriterPool,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const ZERO: Counts = {
  total: 0,
  pending: 0,
  succeeded: 0,
  skipped: 0,
  failed: 0,
  timedOut: 0,
  cancelled: 0,
  undone: 0,
};

/** Asserts that every set of counts in the result sums to its total, and the organizations to that of the import. */
function assertSums({ counts, orgs }: ImportResult): void {
  for (const { total, ...states } of [counts, ...orgs.map((o) => o.counts)]) {
    assert.equal(
      Object.values(states).reduce((a, b) => a + b),
      total,
    );
  }
  for (const name of Object.keys(counts) as (keyof Counts)[]) {
    assert.equal(
      orgs.reduce((sum, o) => sum + o.counts[name], 0),
      counts[name],
      name,
    );
  }
}

describe('the result of an import', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'progress' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const read = async (importId: string) => (await readProgress(db.pool, importId)) ?? assert.fail('no such import');
  const settle = (importId: string, ordinals: number[]) => writeBatch(writer, importId, ordinals, { codeTtlMs: 1000 });
  /** Two organizations, the first one twice: 3 + 2 + 2 users, one of them invalid. */
  function acceptMixed() {
    const orgs = [
      { orgId: 'org', humanUsers: [entry('a'), 0, entry('b')] },
      { orgId: 'other', humanUsers: [entry('c'), entry('d')] },
      { orgId: 'org', humanUsers: [entry('e'), entry('f')] },
    ];
    return acceptBody(db.pool, { dataOrgs: { orgs }, timeout: '10m' });
  }

  it('has the time of its start, which for a draft is later than its creation', async () => {
    const importId = await acceptMixed();
    const { startDate, details } = await read(importId);
    assert(startDate !== undefined && startDate >= String(details.creationDate), `${startDate}`);
    await db.pool.query('update imports set accepted_at = null where id = $1', [importId]);
    assert.equal((await read(importId)).startDate, undefined);
  });

  it('reports the progress, in total and for each organization', async () => {
    const importId = await acceptMixed();
    await settle(importId, [0, 3, 5]);
    const result = await read(importId);
    assertSums(result);
    assert.deepEqual(result.counts, { ...ZERO, total: 7, pending: 3, succeeded: 3, failed: 1 });
    assert.deepEqual(result.orgs, [
      { orgId: 'org', counts: { ...ZERO, total: 5, pending: 2, succeeded: 2, failed: 1 } },
      { orgId: 'other', counts: { ...ZERO, total: 2, pending: 1, succeeded: 1 } },
    ]);
    const { state, dryRun, timeout, mails, details, deadline, eta } = result;
    assert.deepEqual([result.importId, state, dryRun, timeout], [importId, 'IMPORT_STATE_RUNNING', false, '10m']);
    assert.deepEqual(mails, { pending: 0, held: 0, sent: 0, failed: 0 });
    assert.match(details.sequence, /^\d+$/);
    assert.equal(details.resourceOwner, 'home');
    for (const time of [deadline, eta, details.creationDate, details.changeDate]) {
      assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
    assert.ok(result.usersPerSecond > 0);
    assert.equal(isEnded(result), false);
  });

  const ENDS = {
    timed_out: { state: 'IMPORT_STATE_TIMED_OUT', counts: { timedOut: 3 }, other: { timedOut: 1 } },
    cancelled: { state: 'IMPORT_STATE_CANCELLED', counts: { cancelled: 3 }, other: { cancelled: 1 } },
  };
  for (const [state, want] of Object.entries(ENDS)) {
    it(`shows the pending items of a ${state} import as such, without changing the items`, async () => {
      const importId = await acceptMixed();
      await settle(importId, [0, 3, 5]);
      await setImport(db.pool, importId, { state: `'${state}'`, finished_at: 'clock_timestamp()' });
      const result = await read(importId);
      assertSums(result);
      assert.equal(result.state, want.state);
      assert.deepEqual(result.counts, { ...ZERO, total: 7, succeeded: 3, failed: 1, ...want.counts });
      assert.deepEqual(result.orgs[1]?.counts, { ...ZERO, total: 2, succeeded: 1, ...want.other });
      assert.deepEqual([result.eta, isEnded(result)], [null, true]);
    });
  }

  it('adds up in every state', async () => {
    const importId = await acceptMixed();
    await settle(importId, [0, 3]);
    for (const state of ['running', 'paused', 'undoing', 'timed_out', 'cancelled', 'undone']) {
      await setImport(db.pool, importId, { state: `'${state}'` });
      assertSums(await read(importId));
    }
    await setImport(db.pool, importId, { state: `'running'` });
    await settle(importId, [0, 1, 2, 3, 4, 5, 6]);
    const result = await read(importId);
    assertSums(result);
    assert.deepEqual([result.state, result.eta], ['IMPORT_STATE_COMPLETED_WITH_ERRORS', null]);
  });

  it('does not exist during the upload, for an import of one user, or for an invalid id', async () => {
    const importId = await acceptImport(db.pool, entries(1));
    await setImport(db.pool, importId, { state: `'receiving'` });
    assert.equal(await readProgress(db.pool, importId), undefined);
    await setImport(db.pool, importId, { state: `'running'`, kind: `'single'` });
    assert.equal(await readProgress(db.pool, importId), undefined);
    assert.deepEqual(await listImports(db.pool, { within: undefined, pageSize: 10, before: undefined }), []);
    for (const id of ['', '0', '-1', '1.5', 'abc', '9'.repeat(18), '9'.repeat(30), "1' or '1"]) {
      assert.equal(await readProgress(db.pool, id), undefined, id);
    }
  });

  it('is listed newest first, in pages, only to callers whose organizations cover all of it', async () => {
    const ofOrg = [await acceptImport(db.pool, entries(1)), await acceptImport(db.pool, entries(2))];
    const ofOther = await acceptImport(db.pool, entries(3), { orgId: 'other' });
    const ofBoth = await acceptMixed();
    const list = async (within?: string[], pageSize = 10, before?: string) =>
      (await listImports(db.pool, { within, pageSize, before })).map((r) => r.importId);
    assert.deepEqual(await list(), [ofBoth, ofOther, ...ofOrg.toReversed()]);
    assert.deepEqual(await list(['org']), ofOrg.toReversed());
    assert.deepEqual(await list(['other', 'third']), [ofOther]);
    assert.deepEqual(await list([]), []);
    assert.deepEqual(await list(['org', 'other'], 2), [ofBoth, ofOther]);
    assert.deepEqual(await list(['org', 'other'], 2, ofOther), ofOrg.toReversed());
    await setImport(db.pool, ofOther, { deadline: 'clock_timestamp()' });
    const [listed] = await listImports(db.pool, { within: ['other'], pageSize: 1, before: undefined });
    assert.equal(listed?.state, 'IMPORT_STATE_TIMED_OUT', 'an overdue import is ended first');
  });

  it('changes its sequence with each action on it', async () => {
    const importId = await acceptImport(db.pool, entries(1));
    const accepted = await read(importId);
    await cancelImport(db.pool, ADMIN, importId);
    assert.ok(BigInt((await read(importId)).details.sequence) > BigInt(accepted.details.sequence));
  });
});
