/** A fault of neither the connection nor a row, such as a bug in Muster: the import ends nevertheless. */
import assert from 'node:assert/strict';
import type { Answer } from '../support/answers.ts';
import { freePort } from '../support/free-port.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';

const USERS = 300;
const BAD = ['p7', 'p8', 'p250'];

onEachBackend('an unknown fault', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const { orgId } = await service.newOrg();
  const { pool } = service;
  const failures = async (importId: string): Promise<Answer['body'][]> => {
    const { body } = await must(
      service.call('GET', `/admin/v1/imports/${importId}/items?state=ITEM_STATE_FAILED&pageSize=1000`),
    );
    return body.items;
  };

  await t.test('fails the affected users and is counted; they can be retried after it is fixed', async () => {
    // Makes the statement that writes users fail, as a mistake in it would.
    await pool.query(`
      create function stumble() returns trigger language plpgsql as $$ begin
        raise exception 'a mistake in a statement';
      end $$;
      create trigger stumble before insert on users for each row
        when (new.user_name in ('${BAD.join("', '")}')) execute function stumble()`);
    const port = await freePort();
    await service.startWorker({ HEALTH_PORT: String(port) });
    const { importId } = (await must(service.importBody(bulk(orgId, people('p', USERS))))).body;
    const ended = await service.waitForEnd(importId, { timeoutMs: 60_000 });
    assert.equal(ended.state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
    assert.deepEqual([ended.counts.succeeded, ended.counts.failed], [USERS - BAD.length, BAD.length]);
    const failed = await failures(importId);
    assert.deepEqual(failed.map((item) => item.userName).sort(), [...BAD].sort());
    for (const { error } of failed) {
      assert.equal(error.details[0].id, 'IMPORT-USER-FAULT');
      assert.doesNotMatch(JSON.stringify(error), /mistake|trigger|statement/);
    }
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    assert.match(metrics, /^# TYPE muster_import_faults_total counter$/m);
    assert.match(metrics, /^muster_import_faults_total\{kind="other"\} [1-9]\d*$/m);

    await pool.query('drop trigger stumble on users');
    await must(service.call('POST', `/admin/v1/imports/${importId}/_retry`, {}));
    const retried = await service.waitForEnd(importId);
    assert.deepEqual([retried.state, retried.counts.succeeded], ['IMPORT_STATE_SUCCEEDED', USERS]);
  });

  await t.test('fails the user whose password cannot be read', async () => {
    const plain = { hashedPassword: undefined, password: 'a plain one' };
    const { importId } = await (async () => {
      const held = await pool.connect();
      try {
        await held.query('begin');
        await held.query('lock table users in share mode'); // no user is written before the change below
        const accepted = (await must(service.importBody(bulk(orgId, [entry('q0', plain), entry('q1', plain)])))).body;
        await pool.query(`update import_items set password_sealed = 'damaged' where import_id = $1 and ordinal = 1`, [
          accepted.importId,
        ]);
        return accepted;
      } finally {
        await held.query('commit');
        held.release();
      }
    })();
    const { state, counts } = await service.waitForEnd(importId, { timeoutMs: 60_000 });
    assert.deepEqual([state, counts.succeeded, counts.failed], ['IMPORT_STATE_COMPLETED_WITH_ERRORS', 1, 1]);
    assert.equal((await failures(importId))[0]?.error.details[0].id, 'IMPORT-USER-FAULT');
  });
});
