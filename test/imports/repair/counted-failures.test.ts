/** Failures are counted as they happen, and the counts never say anything else than the failed users themselves. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { errorGroups } from '../../../src/imports/repair/causes.ts';
import { BatchFault } from '../../../src/imports/run/batch-writer.ts';
import { batchStore, specialStores } from '../../../src/imports/run/stores.ts';
import { removeRound } from '../../../src/imports/upkeep/retention.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { entry, openWriterPool } from '../../support/imports/imports.ts';

const SETTINGS = { codeTtlMs: 100_000 };

describe('the errors of failed users', () => {
  let api: TestApi;
  let pool: Pool;
  let writer: Pool;
  let orgId: string;
  let taken: string[];
  before(async () => {
    api = await startApi();
    pool = api.deps.pool;
    writer = openWriterPool(api.deps.config.DATABASE_URL);
  });
  beforeEach(async () => {
    const suffix = Math.random().toString(36).slice(2);
    orgId = (await api.call('POST', '/management/v1/orgs', { name: `Acme ${suffix}` })).body.id;
    taken = Array.from({ length: 12 }, (_, n) => `u${n}-${suffix}`);
    const first = await accepted(taken.map((name) => entry(name)));
    await batchStore(writer, SETTINGS).write(first, range(0, 12));
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

  async function accepted(users: unknown[], query = ''): Promise<string> {
    const { status, body } = await api.call('POST', `/admin/v1/import${query}`, bulk(orgId, users));
    assert.equal(status, 202, JSON.stringify(body));
    return body.importId;
  }

  /** Eight names that are taken under other ids, an invalid address, and one name twice. */
  const bad = () => [
    ...taken.slice(0, 8).map((name) => ({ ...entry(name), userId: `other-${name}` })),
    entry(`new-${taken[0]}`, { email: { email: 'none' } }),
    entry(`twice-${taken[0]}`),
    entry(`twice-${taken[0]}`),
  ];

  async function groups(importId: string): Promise<{ found: unknown[]; isCounted: boolean }> {
    let isCounted = true;
    const watched = {
      query(statement: { name?: string }) {
        if (statement.name === 'errors-page') isCounted = false;
        return pool.query(statement as never);
      },
    } as unknown as Pool;
    const found = [];
    for await (const { error, n, first } of errorGroups(watched, importId)) {
      found.push({ error: JSON.stringify(error), n, first });
    }
    return { found: found.sort((a, b) => (a.first[0] as number) - (b.first[0] as number)), isCounted };
  }

  /** The same, read from the users. */
  async function groupsOfUsers(importId: string): Promise<unknown[]> {
    const { rows } = await pool.query<{ error: object; n: number; first: number[] }>(
      `select error, count(*)::int as n, (array_agg(ordinal order by ordinal))[1:5] as first from import_items
       where import_id = $1 and state = 'failed' group by error order by min(ordinal)`,
      [importId],
    );
    return rows.map(({ error, n, first }) => ({ error: JSON.stringify(error), n, first }));
  }

  async function assertExact(importId: string, isCounted: boolean): Promise<void> {
    const read = await groups(importId);
    assert.deepEqual(read.found, await groupsOfUsers(importId));
    assert.equal(read.isCounted, isCounted, isCounted ? 'the users were read' : 'the counts were used');
  }

  const act = async (path: string, body: unknown, method = 'POST') => {
    const { status, body: answer } = await api.call(method, `/admin/v1/imports/${path}`, body);
    assert.equal(status, 200, JSON.stringify(answer));
  };
  const causeOf = async (importId: string, id: string) =>
    (await api.call('GET', `/admin/v1/imports/${importId}/causes`)).body.causes.find((c: { id: string }) => c.id === id)
      ?.cause;

  it('are counted at the acceptance and by each batch, without reading the users', async () => {
    const id = await accepted(bad());
    await assertExact(id, true);
    for (const [from, to] of [
      [0, 2],
      [2, 8],
      [8, 11],
    ] as const) {
      await batchStore(writer, SETTINGS).write(id, range(from, to));
      await assertExact(id, true);
    }
    const { found } = await groups(id);
    assert.deepEqual((found[0] as { first: number[] }).first, [0, 1, 2, 3, 4]);
  });

  it('are counted when existing users are skipped or updated, and in a dry run', async () => {
    for (const [query, rule] of [
      ['?onExisting=skip', 'skip'],
      ['?onExisting=update', 'update'],
      ['?dryRun=true', 'dry'],
    ] as const) {
      const id = await accepted(bad(), query);
      await specialStores(writer, SETTINGS)[rule].write(id, range(0, 11));
      assert.notEqual((await groupsOfUsers(id)).length, 0, rule);
      await assertExact(id, true);
    }
  });

  it('are counted for a user whom the database refuses', async () => {
    const id = await accepted(bad());
    await batchStore(writer, SETTINGS).poison(id, 3, new BatchFault('data', new Error('refused')));
    await batchStore(writer, SETTINGS).write(id, range(0, 11));
    await assertExact(id, true);
  });

  it('are read from the users after a correction, and counted again once all were sent again', async () => {
    const id = await accepted(bad());
    const store = batchStore(writer, SETTINGS);
    await store.write(id, range(0, 11));
    await act(`${id}/items/8`, { user: { email: { email: `good-${taken[0]}@example.com` } } }, 'PATCH');
    await assertExact(id, false);
    await act(`${id}/_retry`, {});
    await store.write(id, range(0, 11));
    await assertExact(id, true);
    const cause = await causeOf(id, 'USER-NAME-TAKEN');
    await act(`${id}/_fix`, { cause, remedy: 'leave-out' });
    await assertExact(id, false);
  });

  it('are read from the users of an import that a process of the previous release wrote', async () => {
    const id = await accepted(bad());
    await batchStore(writer, SETTINGS).write(id, range(0, 11));
    await pool.query('delete from import_failures where import_id = $1 and users > 2', [id]);
    await assertExact(id, false);
  });

  it('are removed with the import', async () => {
    const id = await accepted(bad());
    await batchStore(writer, SETTINGS).write(id, range(0, 11));
    await pool.query(
      `update imports set erased_to = total, finished_at = now() - interval '2 days' where id = $1 and state <> 'running'`,
      [id],
    );
    while (await removeRound(pool, 1));
    const { rows } = await pool.query('select from import_failures where import_id = $1', [id]);
    assert.equal(rows.length, 0);
  });
});
