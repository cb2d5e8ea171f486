/** `muster events` against a real service: tables, JSON, exports, and wrong usage. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { pastDate } from '../../src/cli/options.ts';
import { startApi } from '../support/api.ts';
import { runMuster } from '../support/processes/muster.ts';

test('muster events', async (t) => {
  const api = await startApi();
  t.after(() => api.stop());
  const org = await api.setupOrg();
  const folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const change of ['lock', 'unlock', 'lock']) await api.call('POST', `/v2beta/users/${org.userId}/${change}`, {});
  const env = { MUSTER_URL: api.url, MUSTER_TOKEN: api.token };
  const muster = (...args: string[]) => runMuster(['events', ...args], { env });
  const locked = ['--user', org.userId, '--type', 'user.locked', '--type', 'user.unlocked'];

  await t.test('lists the newest first, and says where to continue', async () => {
    const { code, stdout, stderr } = await muster(...locked, '--limit', '2');
    assert.equal(code, 0, stderr);
    const [head, ...rows] = stdout.trimEnd().split('\n');
    assert.match(head as string, /^TIME +TYPE +ACTOR +USER +ORGANIZATION +CLIENT +ADDRESS +DETAILS$/);
    assert.deepEqual(
      rows.map((row) => row.split(/ +/)[1]),
      ['user.locked', 'user.unlocked'],
    );
    assert.match(rows[0] as string, new RegExp(` ${org.userId} +${org.orgId} .*127\\.0\\.0\\.1`));
    const token = /--page-token (\S+)\./.exec(stderr)?.[1] ?? '';
    const next = JSON.parse((await muster(...locked, '--page-token', token, '--json')).stdout);
    assert.deepEqual([next.result.length, next.result[0].type, next.nextPageToken], [1, 'user.locked', '']);
  });

  await t.test('filters by time, address and organization', async () => {
    assert.equal((await muster('--since', '1h', '--until', '30m')).stdout, 'None.\n');
    assert.equal((await muster('--address', '192.0.2.0/24')).stdout, 'None.\n');
    const { stdout } = await muster(
      ...locked,
      '--address',
      '127.0.0.0/8',
      '--org',
      org.orgId,
      '--since',
      '1h',
      '--json',
    );
    assert.equal(JSON.parse(stdout).result.length, 3);
  });

  await t.test('--format writes all of them', async () => {
    const file = join(folder, 'events.csv');
    const { code, stderr } = await muster(...locked, '--format', 'csv', '--oldest-first', '-o', file);
    assert.equal(code, 0, stderr);
    const records = (await readFile(file, 'utf8')).trimEnd().split('\r\n');
    assert.deepEqual([records.length, records[1]?.split(',')[2]], [4, 'user.locked']);
    const { stdout } = await muster(...locked, '--format', 'ndjson');
    assert.equal(stdout.trimEnd().split('\n').length, 3);
  });

  await t.test('wrong usage says what is allowed', async () => {
    for (const [args, said] of [
      [['--limit', '1001'], /--limit must be a whole number from 1 to 1000/],
      [['-o', 'file'], /--output requires --format/],
      [['--follow', '--until', '1h'], /--follow cannot be used with/],
      [['--since', 'yesterday'], /"yesterday" is not a date or time/],
      [['--type', 'user.lockd'], /types\[0\] must be a type of audit event/],
    ] as const) {
      const { code, stdout, stderr } = await muster(...args);
      assert.deepEqual([code === 0, stdout], [false, '']);
      assert.match(stderr, said);
    }
  });
});

test('a time in the past is a duration, a day or a timestamp', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  assert.equal(pastDate('30m', now), '2026-03-01T11:30:00.000Z');
  assert.equal(pastDate('2w', now), '2026-02-15T12:00:00.000Z');
  assert.equal(pastDate('2026-01-31', now), '2026-01-31T00:00:00.000Z');
  assert.equal(pastDate('2026-01-31T12:00:00+01:00', now), '2026-01-31T11:00:00.000Z');
  for (const text of ['', '5', '3y', '2026-13-01', 'now']) assert.throws(() => pastDate(text, now), /is not a date/);
});
