/** `npm run bench -- --only peers` with few users: the peers that start quickly, and what a machine lacks. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { findProgram, requireOrSkip } from '../../support/runner/programs.ts';
import { assertMeasured, type Line, runJson } from './command.ts';

/** What each line says beside the figures. */
function assertCompared(line: Line | undefined, product: RegExp): void {
  assertMeasured(line, 'users/s');
  assert.match(String(line.product), product);
  assert.deepEqual([line.users, line.workers, line.signsIn], [60, 1, true]);
}

test('users are moved into better-auth and into Muster, and an old password signs in at both', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'peers-better-auth', '--users', '60']);
  if (lines.get('peers-better-auth')?.skipped) return t.skip('better-auth could not be fetched');
  assertCompared(lines.get('peers-better-auth'), /^better-auth 1\.7\./);
});

test('users are moved into OpenLDAP and into Muster, and an old password signs in at both', async (t) => {
  for (const program of ['redis', 'slapd', 'ldapadd'] as const) if (!requireOrSkip(t, program)) return;
  const lines = await runJson(t, ['--only', 'peers-openldap', '--users', '60']);
  assertCompared(lines.get('peers-openldap'), /^OpenLDAP \d/);
});

test('peers stands for all of them, and each that the machine lacks is skipped by name', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const folder = await mkdtemp(join(tmpdir(), 'muster-path-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await symlink(findProgram('redis') as string, join(folder, 'redis-server'));
  const lines = await runJson(t, ['--only', 'peers', '--users', '1'], { PATH: folder });
  const reasons = [...lines].map(([name, { value, skipped }]) => [name, value, skipped]);
  assert.deepEqual(reasons, [
    ['peers-better-auth', null, 'npm is not on this machine'],
    ['peers-openldap', null, 'ldapadd is not on this machine'],
    ['peers-keycloak', null, 'mvn is not on this machine'],
    ['peers-kratos', null, 'go is not on this machine'],
  ]);
});

test('without Redis, no peer is compared', async (t) => {
  const lines = await runJson(t, ['--only', 'peers-openldap', '--users', '1'], { PATH: '/nowhere' });
  assert.equal(lines.get('peers-openldap')?.skipped, 'redis-server is not on this machine');
});
