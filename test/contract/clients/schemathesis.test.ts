/** Schemathesis sends 2,000 requests that it makes of `/openapi.json`, as the administrator of a new instance. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { run } from '../../../bench/testbed/programs.ts';
import { startService } from '../../support/processes/service.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { pythonTools } from './tools.ts';

const HERE = resolve('test/contract/clients');
/** One address sends everything, and does not wait after wrong passwords. */
const UNLIMITED = {
  RATE_LIMIT_REQUESTS: '0',
  RATE_LIMIT_LOGINS: '0',
  RATE_LIMIT_MAILS: '0',
  MAX_RUNNING_IMPORTS: '0',
  LOGIN_DELAY_MS: '0',
};

test('Schemathesis finds nothing in 2,000 requests', async (t) => {
  if (!requireOrSkip(t, 'python')) return;
  const service = await startService(t, { backend: 'postgres', env: UNLIMITED });
  const folder = await mkdtemp(join(tmpdir(), 'muster-schemathesis-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const options = ['--config-file', join(HERE, 'schemathesis.toml'), '--no-color'];
  const token = ['--header', `Authorization: Bearer ${service.token}`];
  const said = await run(
    join(await pythonTools('schemathesis.txt'), 'bin/schemathesis'),
    [...options, 'run', `${service.url}/openapi.json`, ...token],
    folder,
    { PYTHONPATH: HERE, PYTHONDONTWRITEBYTECODE: '1', SCHEMATHESIS_HOOKS: 'schemathesis_hooks' },
  );
  const [, cases] = /(\d+) generated/.exec(said) ?? [];
  t.diagnostic(`${cases} requests`);
  assert.ok(Number(cases) >= 2000, said);
  assert.equal((await service.call('GET', '/management/v1/me')).status, 200, 'the administrator may still call');
});
