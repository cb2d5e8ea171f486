/** The units of deploy/systemd: valid for systemd, confined, and with the commands and settings of the other ways. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { readConfig } from '../../src/platform/config.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { read, scripts } from './compose.ts';

const FOLDER = 'deploy/systemd';
const units = readdirSync(FOLDER).filter((file) => file.endsWith('.service'));
const SCRIPTS = { 'muster-api@': 'api', 'muster-worker@': 'worker', 'muster-migrate': 'migrate' } as const;

function analyze(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}

test('systemd accepts the units, and finds little that a process could do', (t) => {
  if (!requireOrSkip(t, 'systemd')) return;
  const files = units.map((file) => `${FOLDER}/${file}`);
  assert.equal(analyze('verify', ...files).trim(), '');
  // 0 is confined, 10 is not; a service without any such settings has 9.6.
  for (const file of files) analyze('security', '--offline=true', '--threshold=20', file);
});

test('they run the commands of the npm scripts', () => {
  assert.equal(units.length, 3);
  for (const [unit, script] of Object.entries(SCRIPTS)) {
    const text = read(`${FOLDER}/${unit}.service`);
    const command = /^ExecStart=(.*)$/m.exec(text)?.[1];
    assert.equal(command, scripts()[script]?.replace(/^env \S+ /, ''));
    assert.match(text, /^Environment=.*MALLOC_ARENA_MAX=1/m);
  }
});

test('the settings of their example are valid once the secrets are filled in', () => {
  const lines = [...read(`${FOLDER}/muster.env`).matchAll(/^([A-Z_]+)=(.*)$/gm)];
  const given = Object.fromEntries(lines.map(([, name, value]) => [name, value]));
  assert.deepEqual([given.ENCRYPTION_KEY, given.BOOTSTRAP_TOKEN], ['', '']);
  assert.equal(readConfig(given).baseUrl, 'https://login.example.com');
});
