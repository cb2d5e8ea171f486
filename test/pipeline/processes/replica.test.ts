/** The processes of a service whose API reads from a real streaming replica. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Finding } from '../../../src/contract/finding.ts';
import { openPool } from '../../../src/platform/db/pool.ts';
import { bulk, people } from '../../support/imports/bodies.ts';
import { assertEachOnce } from '../../support/imports/outcome.ts';
import { runMuster } from '../../support/processes/muster.ts';
import { must, startService } from '../../support/processes/service.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { startDistributionServer, startReplica } from '../../support/stores/distribution.ts';
import { waitFor } from '../../support/wait.ts';

const IMPORTS = 5;

test('an API process reads from a replica', async (t) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const primary = await startDistributionServer();
  t.after(() => primary.stop());
  const replica = await startReplica(primary);
  t.after(() => replica.stop());
  const [pool, direct] = [openPool(primary.url, { max: 4 }), openPool(replica.url, { max: 1 })];
  t.after(() => Promise.all([pool.end(), direct.end()]));
  const env = { DATABASE_REPLICA_URL: replica.url };
  const service = await startService(t, { backend: 'postgres', database: { url: primary.url, pool }, env });
  const { orgId } = await service.newOrg();

  const doctor = async (...args: string[]): Promise<Finding | undefined> => {
    const local = { DATABASE_URL: primary.url, ...env };
    const { stdout } = await runMuster(['doctor', '--json', ...args], {
      env: { MUSTER_URL: service.url, MUSTER_TOKEN: service.token, ...local },
    });
    return JSON.parse(stdout).findings.find(({ name }: Finding) => name === 'replica');
  };
  /** Each status is read right after the import was accepted; a stale one would be 404. */
  const importSome = async (name: string) => {
    for (let n = 0; n < IMPORTS; n++) {
      const { importId } = (await must(service.importBody(bulk(orgId, people(`${name}${n}`, 3))))).body;
      assert.equal((await must(service.call('GET', `/admin/v1/imports/${importId}`))).body.counts.total, 3);
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: 3 });
    }
  };

  await t.test('which answers, and is never stale', async () => {
    await importSome('a');
    const isRead = async () => {
      await must(service.call('GET', '/admin/v1/imports'));
      return (await direct.query(`select from pg_stat_activity where application_name = 'muster-replica'`)).rowCount;
    };
    assert.ok(await waitFor(isRead, { what: 'a read on the replica' }));
    for (const args of [[], ['--local']]) assert.equal((await doctor(...args))?.state, 'ok');
  });

  await t.test('which is behind: the primary answers, and muster doctor says how far', async () => {
    await direct.query('select pg_wal_replay_pause()');
    await importSome('b');
    // As if the last replayed transaction were old.
    const behind = async () => (await doctor())?.message.match(/(\d.*) and \d+ s behind/);
    assert.ok(await waitFor(behind, { what: 'the lag' }));
    await direct.query('select pg_wal_replay_resume()');
  });

  await t.test('which is away: the primary answers, and muster doctor says so', async () => {
    await replica.stop();
    await importSome('c');
    const found = await doctor();
    assert.deepEqual([found?.state, found?.message], ['warning', 'it does not answer']);
    assert.match((await doctor('--local'))?.message ?? '', /^it does not answer \(.*ECONNREFUSED/);
  });
});
