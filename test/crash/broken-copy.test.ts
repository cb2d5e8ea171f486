/**
 * Uploads whose connection to PostgreSQL breaks: at every moment the caller is told to try again, and nothing is
 * visible. The test holds each upload at its moment by a lock; then the server ends the session, or the network cuts
 * it.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pool } from '../../src/platform/db/pool.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { rowCounts } from '../support/imports/outcome.ts';
import { startUpload } from '../support/imports/upload.ts';
import { must, type Service, startService } from '../support/processes/service.ts';
import { abandonLocks, hold } from '../support/stores/locks.ts';
import { startSilentProxy } from '../support/stores/silent-proxy.ts';
import { waitFor } from '../support/wait.ts';

/** Large enough that a COPY begins before the end of the body. */
const USERS = people('up', 300, { metadata: [{ key: 'padding', value: 'A'.repeat(2000) }] });
/** Advisory locks that triggers take: in the middle of a COPY, at its commit, at the commit of the acceptance. */
const [MIDDLE, COPIED, ACCEPTED] = [1, 2, 3];
const TRIGGERS = `
  create function stand_before() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock_shared(tg_argv[0]::int);
    return new; end $$;
  create trigger in_the_middle before insert on import_items for each row when (new.ordinal = 150)
    execute function stand_before('${MIDDLE}');
  create constraint trigger at_the_end after insert on import_items deferrable initially deferred
    for each row when (new.ordinal = 150) execute function stand_before('${COPIED}');
  create constraint trigger at_acceptance after insert on import_dispatch deferrable initially deferred
    for each row execute function stand_before('${ACCEPTED}');`;

test('an upload whose PostgreSQL connection breaks', async (t) => {
  const service = await startService(t, { ownProcesses: true, backend: 'postgres', workers: 0 });
  await service.startWorker({ WORKER_ROLES: 'rescue' });
  const proxy = await startSilentProxy(service.databaseUrl);
  t.after(() => proxy.stop());
  t.afterEach(() => abandonLocks(service.pool));
  const { orgId } = await service.newOrg();
  await service.pool.query(TRIGGERS);
  await service.startApi({ DATABASE_URL: proxy.url });
  const text = JSON.stringify(bulk(orgId, USERS));
  const cut = text.indexOf('"id-up200"');
  const [head, tail] = [text.slice(0, cut), text.slice(cut)];

  const strikes = {
    'is ended by the server': async (pid: number) => {
      await service.pool.query('select pg_terminate_backend($1)', [pid]);
    },
    'is cut': async () => proxy.cut(),
  };
  const moments: [string, lock: string, isOpen: boolean][] = [
    ['before the first row', 'lock table imports in exclusive mode', true],
    ['before its COPY begins', 'lock table import_items in exclusive mode', true],
    ['in the middle of its COPY', `select pg_advisory_xact_lock(${MIDDLE})`, true],
    ['at the end of its COPY', `select pg_advisory_xact_lock(${COPIED})`, false],
    ['in the acceptance', 'lock table import_orgs in exclusive mode', false],
  ];
  for (const [when, lock, isOpen] of moments) {
    for (const [what, strike] of Object.entries(strikes)) {
      await t.test(`that ${what} ${when} is answered 503, and nothing remains`, async () => {
        const before = await rowCounts(service.pool);
        const held = await hold(service.pool, lock);
        const upload = startUpload(service);
        if (isOpen) await upload.write(head);
        const answer = isOpen ? undefined : upload.end(text);
        const pid = await waitingApi(service.pool);
        await strike(pid);
        // A session that was cut still waits for its lock; what it writes afterwards must not remain either.
        await held.commit();
        await ended(service.pool, pid);
        const { status, text: body, headers } = await (answer ?? upload.end(tail));
        assert.equal(status, 503, body);
        assert.equal(headers['retry-after'], '1');
        assert.deepEqual((await must(service.call('GET', '/admin/v1/imports'))).body.imports, []);
        await sweep(service);
        assert.deepEqual(await rowCounts(service.pool), before);
      });
    }
  }

  await t.test(
    'that is ended by the server at the moment of the commit is answered 503, and nothing remains',
    async () => {
      const before = await rowCounts(service.pool);
      const held = await hold(service.pool, `select pg_advisory_xact_lock(${ACCEPTED})`);
      const answer = startUpload(service).end(text);
      await strikes['is ended by the server'](await waitingApi(service.pool));
      const { status, text: body } = await answer;
      await held.commit();
      assert.equal(status, 503, body);
      await sweep(service);
      assert.deepEqual(await rowCounts(service.pool), before);
    },
  );

  await t.test('that is cut at the moment of the commit, which succeeds, is answered 202', async () => {
    const held = await hold(service.pool, `select pg_advisory_xact_lock(${ACCEPTED})`);
    const answer = startUpload(service).end(text);
    const pid = await waitingApi(service.pool);
    proxy.cut();
    await waitFor(async () => (await waiting(service.pool)).some((other) => other !== pid), {
      what: 'the API to check the commit',
    });
    await held.commit();
    const { status, text: body } = await answer;
    assert.equal(status, 202, body);
    const { importId, state, counts } = JSON.parse(body);
    assert.deepEqual([state, counts.pending], ['IMPORT_STATE_RUNNING', USERS.length]);
    const { rows } = await service.pool.query('select import_id, count(*)::int as n from import_items group by 1');
    assert.deepEqual(rows, [{ import_id: importId, n: USERS.length }]);
  });
});

/** Server processes of the API that wait for a lock. */
async function waiting(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'muster-api' and wait_event_type = 'Lock'`,
  );
  return rows.map((r) => r.pid);
}

function waitingApi(pool: Pool): Promise<number> {
  return waitFor(async () => (await waiting(pool))[0], { what: 'the API to wait', timeoutMs: 30_000 });
}

async function ended(pool: Pool, pid: number): Promise<void> {
  const isGone = async () => (await pool.query('select from pg_stat_activity where pid = $1', [pid])).rowCount === 0;
  await waitFor(isGone, { what: 'the session to end', timeoutMs: 30_000 });
}

/** Sets uploads back in time until the sweep has removed them all. */
async function sweep({ pool }: Service): Promise<void> {
  const left = async () => {
    await pool.query(`update imports set changed_at = now() - interval '1 day' where state = 'receiving'`);
    const { rows } = await pool.query(
      `select (select count(*) from imports where state = 'receiving')::int as imports`,
    );
    return rows[0].imports;
  };
  await waitFor(async () => (await left()) === 0, { what: 'the sweep', timeoutMs: 30_000 });
}
