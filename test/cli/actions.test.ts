/** Commands that act on an import, against a real service: what they do, show, ask and refuse. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { setImport } from '../support/imports/imports.ts';
import { runMuster } from '../support/processes/muster.ts';
import { must, type Service, startService } from '../support/processes/service.ts';
import { openTerminal } from '../support/processes/terminal.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';

const NUMBER = /^\d+$/;

async function stateOf(service: Service, importId: string): Promise<string> {
  const { body } = await must(service.call('GET', `/admin/v1/imports/${importId}`));
  return body.state.replace('IMPORT_STATE_', '');
}

test('a running import: pause, resume, cancel', async (t) => {
  const service = await startService(t, { backend: 'postgres', workers: 0 });
  const org = await service.newOrg();
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: org.ownerToken };
  const muster = (...args: string[]) => runMuster(args, { env });
  const accepted = await must(service.importBody(bulk(org.orgId, people('u', 5))));
  const { importId } = accepted.body;
  assert.match(importId, NUMBER);

  await t.test('status lists the next steps', async () => {
    const { code, stdout } = await muster('status', importId);
    assert.equal(code, 0);
    for (const step of ['status', 'pause', 'cancel'])
      assert.ok(stdout.includes(`  muster ${step} ${importId}`), stdout);
  });

  await t.test('pause is idempotent', async () => {
    for (let i = 0; i < 2; i++) {
      const { code, stdout } = await muster('pause', importId);
      assert.equal(code, 0);
      assert.match(stdout, /: paused\n/);
      assert.ok(stdout.includes(`  muster resume ${importId}`));
    }
    assert.equal(await stateOf(service, importId), 'PAUSED');
  });

  await t.test('resume continues with the given timeout', async () => {
    const { code, stdout } = await muster('resume', importId, '--timeout', '47m', '--json');
    assert.equal(code, 0);
    const { state, timeout } = JSON.parse(stdout);
    assert.deepEqual([state, timeout], ['IMPORT_STATE_RUNNING', '47m']);
  });

  await t.test('resume explains an invalid timeout', async () => {
    await muster('pause', importId);
    const { code, stderr } = await muster('resume', importId, '--timeout', 'soon');
    assert.equal(code, 1);
    assert.match(stderr, /^muster: timeout must be a duration .* \(IMPORT-TIMEOUT\)\n/);
  });

  await t.test('undo of a running import is refused without a question', async () => {
    await must(service.call('POST', `/admin/v1/imports/${importId}/_resume`, {}));
    const { code, stderr } = await muster('undo', importId);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /IMPORT_STATE_RUNNING cannot be undone\. It must be in state .+\. \(IMPORT-STATE\)\n {2}`muster status`/,
    );
  });

  await t.test('cancel ends the import', async () => {
    const { code, stdout } = await muster('cancel', importId);
    assert.equal(code, 0);
    assert.match(stdout, /: cancelled\n {2}users +5: 5 cancelled\n/);
    assert.equal(await stateOf(service, importId), 'CANCELLED');
  });

  await t.test('resume of a timed-out import requires a timeout', async () => {
    await setImport(service.pool, importId, { state: `'timed_out'`, deadline: `now() - interval '1h'` });
    const without = await muster('resume', importId);
    assert.equal(without.code, 1);
    assert.match(without.stderr, /\(IMPORT-TIMEOUT\)/);
    assert.match(without.stderr, /--timeout 30m/);
    assert.equal((await muster('status', importId, '--watch')).code, 6);
    assert.equal((await muster('resume', importId, '--timeout', '5m')).code, 0);
    await service.startWorker();
    const { code, stdout } = await muster('status', importId, '--watch');
    assert.equal(code, 0);
    assert.match(stdout, /: succeeded\n {2}users +5: 5 succeeded\n/);
  });
});

test('an ended import: retry, undo', async (t) => {
  const service = await startService(t, { backend: 'postgres' });
  const org = await service.newOrg();
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: org.ownerToken };
  const muster = (...args: string[]) => runMuster(args, { env });
  const first = await service.imported(bulk(org.orgId, people('u', 1)));
  const { importId } = await service.imported(bulk(org.orgId, people('u', 3)));

  await t.test('retry imports conflicting users once the conflict is gone', async () => {
    assert.equal((await muster('status', importId, '--watch')).code, 3);
    assert.equal((await muster('undo', first.importId, '--yes', '--watch')).code, 0);
    const { code, stdout } = await muster('retry', importId, '--watch', '--json');
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).counts.succeeded, 3);
  });

  await t.test('retry says when there are no users to retry', async () => {
    const { importId: invalid } = await service.imported(bulk(org.orgId, [null]));
    const { code, stdout, stderr } = await muster('retry', invalid);
    assert.equal(code, 0);
    assert.match(stdout, /: completed with errors\n/);
    assert.match(stderr, /^There are no users to retry/);
  });

  await t.test('causes and fix: a remedy for all users of a cause, then a retry', async () => {
    const [first, second] = people('fix', 2);
    const user = { ...second?.user, userName: 'fix-1', email: { email: ' Fix@EXAMPLE.com' } };
    const { importId: broken } = await service.imported(bulk(org.orgId, [first, { ...second, user }]));
    const { stdout } = await muster('causes', broken);
    assert.match(
      stdout,
      /^CAUSE +USERS +FIELD .*\n[0-9a-f]{8} +1 +user\.email\.email +must be an email address .* 1 +trim-email, /,
    );
    const fixed = (...more: string[]) =>
      muster('fix', broken, '--cause', stdout.split('\n')[1]?.slice(0, 8) ?? '', '--remedy', 'trim-email', ...more);
    const dry = await fixed('--dry-run');
    assert.equal(
      dry.stdout,
      '1 user would be corrected; 0 stay as they are.\n  1  fix-1: " Fix@EXAMPLE.com" becomes "fix@example.com"\n',
    );
    assert.deepEqual(JSON.parse((await fixed('--json')).stdout), { changed: 1, unchanged: 0, next: null });
    assert.match((await muster('causes', broken)).stderr, /1 user corrected: import them with `muster retry/);
    const { code, stdout: retried } = await muster('retry', broken, '--watch', '--json');
    assert.deepEqual([code, JSON.parse(retried).counts.succeeded], [0, 2]);
  });

  await t.test('undo --dry-run says what an undo would do, and does nothing', async () => {
    const { code, stdout } = await muster('undo', importId, '--dry-run');
    assert.deepEqual([code, stdout], [0, `An undo of import ${importId} would remove 3 users, keep 0.\n`]);
    const { stdout: json } = await muster('undo', importId, '--dry-run', '--json');
    assert.deepEqual(JSON.parse(json), { removed: 3, kept: 0, reasons: [] });
    assert.equal(await stateOf(service, importId), 'SUCCEEDED');
  });

  await t.test('undo does nothing without --yes when there is no terminal to ask on', async () => {
    const { code, stderr } = await muster('undo', importId);
    assert.equal(code, 2);
    assert.match(stderr, /--yes/);
    assert.equal(await stateOf(service, importId), 'SUCCEEDED');
  });

  await t.test('undo asks with the number of users, and continues only on yes', async (t) => {
    if (!requireOrSkip(t, 'script')) return;
    for (const [keys, code] of [
      ['n\r', 1],
      ['\r', 1],
      ['\x04', 1],
      ['\x03', 130],
    ] as const) {
      const terminal = openTerminal(t, ['undo', importId], { env });
      await terminal.shows(/Undo import \d+: remove 3 users, keep 0\? \[y\/N\] $/);
      terminal.type(keys);
      assert.equal(await terminal.ended, code, JSON.stringify(keys));
      assert.match(terminal.text(), /Nothing was done\./);
    }
    assert.equal(await stateOf(service, importId), 'SUCCEEDED');
    const terminal = openTerminal(t, ['undo', importId, '--watch'], { env });
    await terminal.shows(/\[y\/N\] $/);
    terminal.type('y\r');
    assert.equal(await terminal.ended, 0);
    assert.equal(await stateOf(service, importId), 'UNDONE');
  });

  await t.test('undo keeps users who have signed in, and says where to see them', async () => {
    const { importId: used } = await service.imported(bulk(org.orgId, people('v', 2)));
    const user = { userId: 'id-v1' };
    assert.equal((await service.login(user, 'secret')).status, 201);
    const { code, stdout } = await muster('undo', used, '--yes', '--watch');
    assert.equal(code, 0);
    assert.match(stdout, /users +2: 1 succeeded, 1 undone\n/);
    assert.ok(stdout.includes(`  muster items ${used} --state succeeded`));
    const kept = await muster('items', used, '--state', 'succeeded');
    assert.match(kept.stdout, /id-v1 .* kept: SIGNED_IN\n/);
  });

  await t.test('undo of a dry run is refused', async () => {
    const { body } = await must(
      service.importBody(bulk(org.orgId, unverified('d', 2)), {
        query: '?dryRun=true',
        headers: { prefer: 'wait=20' },
      }),
    );
    const { stdout } = await muster('status', body.importId);
    assert.match(stdout, /^Import \d+: succeeded \(dry run: nothing was written\)\n/);
    assert.match(stdout, /mails +2 to verify an address, 0 to set a password would go out\n/);
    assert.match(stdout, /Hashes:\n {2}bcrypt {2}2 users: will verify\n/);
    const { code, stderr } = await muster('undo', body.importId);
    assert.equal(code, 1);
    assert.match(stderr, /\(IMPORT-DRY-RUN\)/);
  });
});

test('send-mails sends the mails that an import holds', async (t) => {
  const service = await startService(t, { backend: 'postgres' });
  const org = await service.newOrg();
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: org.ownerToken };
  const { body } = await must(service.importBody(bulk(org.orgId, unverified('m', 3)), { query: '?mails=none' }));
  await service.waitForEnd(body.importId);
  assert.equal(service.smtp.mails.length, 0);
  const { code, stdout } = await runMuster(['send-mails', body.importId, '--watch'], { env });
  assert.equal(code, 0);
  assert.match(stdout, /mails +3 sent\n/);
  await waitFor(() => service.smtp.mails.length === 3, { what: 'three mails' });
  assert.deepEqual(
    service.smtp.mails.flatMap((mail) => mail.to).sort(),
    [0, 1, 2].map((i) => `m${i}@example.com`),
  );
});
