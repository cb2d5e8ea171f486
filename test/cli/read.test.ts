/** `muster status`, `items` and `report` against a real service: their output, also as JSON, and their exit codes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { runMuster } from '../support/processes/muster.ts';
import { must, startService } from '../support/processes/service.ts';
import { openTerminal, runShell, startMuster } from '../support/processes/terminal.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { startCutProxy } from '../support/stores/cut-proxy.ts';
import { waitFor } from '../support/wait.ts';

/** Clears the screen, reverses the writing direction, ends the line. */
const EVIL = 'ev\u001b[2J\u202eil\u2028\u009b31m';

test('reading imports from the command line', async (t) => {
  const service = await startService(t, { backend: 'postgres' });
  const org = await service.newOrg();
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: org.ownerToken };
  const muster = (...args: string[]) => runMuster(args, { env });
  const json = async (...args: string[]) => JSON.parse((await muster(...args, '--json')).stdout);
  const folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  t.after(() => rm(folder, { recursive: true }));

  const none = await muster('status');
  assert.deepEqual([none.code, none.stderr], [0, '']);
  assert.match(none.stdout, /There is no import yet/);

  const bad = entry('bad', { email: { email: 'nowhere' } });
  const users = [...people('p', 2997), ...unverified('m', 1), bad, entry('evil')];
  const { importId } = await service.imported(bulk(org.orgId, users));
  // As a build wrote it that did not refuse such names yet.
  await service.pool.query('update import_items set user_name = $2 where import_id = $1 and user_name = $3', [
    importId,
    EVIL,
    'evil',
  ]);

  await t.test('status shows the details of an import and the next steps', async () => {
    const { code, stdout, stderr } = await muster('status', importId);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^Import ${importId}: completed with errors\n`));
    assert.match(stdout, /users +3,000: 2,999 succeeded, 1 failed\n/);
    assert.match(stdout, new RegExp(`org +${org.orgId}\n`));
    assert.match(stdout, /mails +1 (pending|sent)\n/);
    assert.match(stdout, /\nFailed:\n {2}id-bad: user\.email\.email: must be an email address.*\n/);
    assert.ok(stdout.includes(`muster report ${importId} --state failed --format csv -o failed.csv`));
    assert.ok(stdout.includes(`muster retry ${importId} --timeout`));
    assert.ok(stdout.includes(`muster undo ${importId}`));
  });

  await t.test('status without a number is a table of the latest imports', async () => {
    const { code, stdout } = await muster('status');
    assert.equal(code, 0);
    const [head, row, ...rest] = stdout.trimEnd().split('\n');
    assert.match(head as string, /^IMPORT +STATE +USERS/);
    assert.match(row as string, new RegExp(`^${importId} +completed with errors +3,000 +2,999 +1 +0 `));
    assert.deepEqual(rest, []);
  });

  await t.test('--json is the response of the service on one line, and nothing else', async () => {
    const { stdout, stderr } = await muster('status', importId, '--json');
    assert.equal(stdout.indexOf('\n'), stdout.length - 1);
    assert.equal(stderr, '');
    const { body } = await must(service.call('GET', `/admin/v1/imports/${importId}`));
    assert.deepEqual(JSON.parse(stdout).counts, body.counts);
    assert.deepEqual(JSON.parse(stdout).errors, body.errors);
    assert.deepEqual((await json('status')).imports[0].counts, body.counts);
  });

  await t.test('status --watch of an ended import exits with its outcome', async () => {
    assert.equal((await muster('status', importId, '--watch')).code, 3);
    const latest = await muster('status', '--watch', '--json');
    assert.deepEqual([latest.code, latest.stderr], [3, '']);
    assert.equal(JSON.parse(latest.stdout).importId, importId);
  });

  await t.test('items lists failed users and the reasons, by the short and the long name of the state', async () => {
    for (const state of ['failed', 'FAILED', 'ITEM_STATE_FAILED']) {
      const { code, stdout } = await muster('items', importId, '--state', state);
      assert.equal(code, 0);
      const [head, row, ...rest] = stdout.trimEnd().split('\n');
      assert.match(head as string, /^INDEX +ORGANIZATION +USER ID +USER NAME +STATE +SIGNS IN +DETAILS$/);
      assert.match(row as string, /^2998 .*id-bad +bad +failed +user\.email\.email: .* \(IMPORT-USER-INVALID\)$/);
      assert.deepEqual(rest, []);
    }
  });

  await t.test('items fetches all pages it needs, and says where to continue', async () => {
    const first = await muster('items', importId);
    assert.equal(first.stdout.trimEnd().split('\n').length, 51);
    assert.match(first.stderr, /--page-token 50\b/);
    assert.equal((await json('items', importId, '--limit', '1500')).items.length, 1500);
    const all = await json('items', importId, '--all');
    assert.deepEqual(
      all.items.map((item: { index: number }) => item.index),
      Array.from({ length: 3000 }, (_, i) => i),
    );
    assert.equal(all.nextPageToken, undefined);
    const page = await json('items', importId, '--limit', '2', '--page-token', '2996');
    assert.deepEqual(
      [page.items.map((item: { userId: string }) => item.userId), page.nextPageToken],
      [['id-p2996', 'id-m0'], '2998'],
    );
  });

  await t.test('items finds one user, and says when there is none', async () => {
    const { items } = await json('items', importId, '--user', 'id-p7', '--org', org.domain);
    assert.deepEqual([items.length, items[0].index], [1, 7]);
    assert.equal((await muster('items', importId, '--user', 'nobody')).stdout, 'None.\n');
    assert.deepEqual(await json('items', importId, '--user', 'nobody'), { items: [] });
  });

  await t.test('a name cannot control the terminal', async (t) => {
    const { stdout } = await muster('items', importId, '--user', 'id-evil');
    assert.ok(stdout.includes('ev\ufffd[2J\ufffdil\ufffd\ufffd31m'), JSON.stringify(stdout));
    const raw = (await muster('items', importId, '--user', 'id-evil', '--json')).stdout;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there
    assert.doesNotMatch(raw, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]/);
    assert.equal(JSON.parse(raw).items[0].userName, EVIL);
    if (!requireOrSkip(t, 'script')) return;
    const terminal = openTerminal(t, ['report', importId, '--state', 'succeeded', '--format', 'csv'], { env });
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.output(), /\r\n2999,[^\n]*ev\ufffd\[2J\ufffdil/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there
    assert.doesNotMatch(terminal.output(), /[\x1b\x9b\u2028\u202e]/);
  });

  await t.test('report writes every byte to standard output', async () => {
    for (const format of ['ndjson', 'csv', 'dataorgs']) {
      const { body } = await must(service.call('GET', `/admin/v1/imports/${importId}/report?format=${format}`));
      const { code, stdout } = await muster('report', importId, '--format', format);
      assert.equal(code, 0);
      if (format === 'dataorgs') assert.deepEqual(JSON.parse(stdout), body);
      else assert.equal(stdout, body);
    }
    const failed = await muster('report', importId, '--state', 'failed', '-o', '-');
    assert.equal(JSON.parse(failed.stdout).userId, 'id-bad');
  });

  await t.test('report -o writes a file readable only by its owner, and names it', async () => {
    const file = join(folder, 'all.csv');
    await writeFile(file, 'what was there before', { mode: 0o644 });
    const { code, stdout, stderr } = await muster('report', importId, '--format', 'csv', '-o', file);
    assert.deepEqual([code, stdout], [0, '']);
    const { mode, size } = await stat(file);
    assert.equal(mode & 0o777, 0o600);
    assert.ok(stderr.includes(file));
    assert.equal((await readFile(file, 'utf8')).split('\r\n').length, 3002);
    assert.deepEqual(await json('report', importId, '--format', 'csv', '-o', file), { file, bytes: size });
  });

  await t.test('report -o follows a link, and does not replace a device', async () => {
    const [link, target] = [join(folder, 'link'), join(folder, 'target')];
    await writeFile(target, 'old');
    await symlink(target, link);
    assert.equal((await muster('report', importId, '--state', 'failed', '-o', link)).code, 0);
    assert.match(await readFile(target, 'utf8'), /id-bad/);
    assert.equal((await muster('report', importId, '-o', '/dev/null')).code, 0);
    assert.ok((await stat('/dev/null')).isCharacterDevice());
  });

  await t.test('report -o keeps the old file when the connection breaks', async () => {
    const file = join(folder, 'kept.ndjson');
    await writeFile(file, 'what was there before');
    const proxy = await startCutProxy(service.url, 100_000);
    const before = await readdir(folder);
    const { code, stderr } = await muster('report', importId, '-o', file, '--url', proxy.url).finally(proxy.stop);
    assert.equal(code, 5);
    assert.match(stderr, /the report was cut off/);
    assert.equal(await readFile(file, 'utf8'), 'what was there before');
    assert.deepEqual(await readdir(folder), before);
  });

  await t.test('an interrupted report -o leaves no partial file', async (t) => {
    const server = createServer((_req, res) => res.write('{"index":0}\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const before = await readdir(folder);
    const running = startMuster(['report', importId, '-o', join(folder, 'never'), '--url', url], { env });
    await waitFor(async () => (await readdir(folder)).length > before.length, { what: 'the report to start' });
    running.kill('SIGINT');
    const { code, stderr } = await running.finished;
    assert.equal(code, 130);
    assert.match(stderr, /The report was not finished/);
    assert.deepEqual(await readdir(folder), before);
  });

  await t.test('report -o explains why a path cannot be written', async () => {
    for (const place of [folder, join(folder, 'no', 'such', 'folder')]) {
      const { code, stderr } = await muster('report', importId, '-o', place);
      assert.equal(code, 2);
      assert.ok(stderr.startsWith(`muster: ${place} cannot be written`), stderr);
    }
  });

  await t.test('a reader that closes the pipe early is not an error', async (t) => {
    if (!requireOrSkip(t, 'bash')) return;
    for (const command of ['items --all', 'items --all --json', 'report']) {
      const [name, ...options] = command.split(' ');
      const line = `muster ${name} ${importId} ${options.join(' ')} | head -c 5`;
      const { code, stdout, stderr } = await runShell(line, { env });
      assert.deepEqual([code, stdout.length, stderr], [0, 5, ''], command);
    }
  });
});
