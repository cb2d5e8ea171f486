/**
 * Clients that generators make of `/openapi.json` import users and sign one in, and the document has no error for Redocly.
 */
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type TestContext } from 'node:test';
import { run } from '../../../bench/testbed/programs.ts';
import { type Service, startService } from '../../support/processes/service.ts';
import { findProgram, type ProgramName, requireOrSkip } from '../../support/runner/programs.ts';
import { npmTools, pythonTools } from './tools.ts';

const HERE = resolve('test/contract/clients');
/** Of the password `password`. */
const HASH = '$2b$04$df8qt2S7WWtqtsTsJkP3E.DwOYFNZ6b/5QqEvQ5BO321TbKhsQFXm';
/** Code only: neither tests nor pages of documentation. */
const GO_PARTS = 'apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false';
const GO_OPTIONS = 'withGoMod=false,packageName=muster,disallowAdditionalPropertiesIfNotPresent=false';

test('generated clients', async (t) => {
  const service = await startService(t, {
    backend: 'postgres',
    env: { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_LOGINS: '0' },
  });

  await t.test('the document has no problem for Redocly', async (t) => {
    const folder = await folderOf(t, service);
    const redocly = join(await npmTools('npm'), 'node_modules/.bin/redocly');
    const options = ['--config', join(HERE, 'redocly.yaml'), '--format', 'stylish', '--max-problems', '1000'];
    const said = await run(redocly, ['lint', 'openapi.json', ...options], folder, { REDOCLY_TELEMETRY: 'off' });
    assert.doesNotMatch(said, /\b(?:error|warning) /);
  });

  await t.test('openapi-typescript', async (t) => {
    const folder = await folderOf(t, service, 'typescript');
    const modules = join(await npmTools('npm'), 'node_modules');
    await symlink(modules, join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await run(join(modules, '.bin/openapi-typescript'), ['openapi.json', '-o', 'api.ts'], folder);
    await run(join(modules, '.bin/tsc'), ['-p', '.'], folder);
    judge(await run(process.execPath, ['main.ts', service.url, service.token, HASH], folder), 'ts');
  });

  await t.test('openapi-python-client', async (t) => {
    if (!requireAll(t, ['python'])) return;
    const folder = await folderOf(t, service, 'python');
    const tools = join(await pythonTools('generators.txt'), 'bin');
    const generate = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', 'muster_client'];
    const env = { PATH: `${tools}:${process.env.PATH}` };
    await run(join(tools, 'openapi-python-client'), generate, folder, env);
    judge(await run(join(tools, 'python'), ['main.py', service.url, service.token, HASH], folder, env), 'py');
  });

  await t.test('openapi-generator for Go', async (t) => {
    if (!requireAll(t, ['python', 'java', 'go'])) return;
    const folder = await folderOf(t, service, 'go');
    const generator = join(await pythonTools('generators.txt'), 'bin/openapi-generator-cli');
    const options = ['--global-property', GO_PARTS, '--additional-properties', GO_OPTIONS];
    await run(generator, ['generate', '-g', 'go', '-i', 'openapi.json', '-o', 'muster', ...options], folder);
    judge(await run(findProgram('go') as string, ['run', '.', service.url, service.token, HASH], folder), 'go');
  });
});

function requireAll(t: TestContext, names: ProgramName[]): boolean {
  return names.every((name) => requireOrSkip(t, name));
}

/** A temporary folder with the document of the service, and the program of the client. */
async function folderOf(t: TestContext, service: Service, client?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-client-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  if (client) await cp(join(HERE, client), folder, { recursive: true });
  const { body } = await service.call('GET', '/openapi.json', undefined, { token: null });
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(body, null, 2));
  return folder;
}

/** Compares what a client saw with the import that all of them send. */
function judge(printed: string, prefix: string): void {
  const none = { pending: 0, skipped: 0, timedOut: 0, cancelled: 0, undone: 0 };
  assert.deepEqual(JSON.parse(printed), {
    state: 'IMPORT_STATE_COMPLETED_WITH_ERRORS',
    counts: { total: 3, succeeded: 2, failed: 1, ...none },
    eta: null,
    errors: [`${prefix}3`],
    items: [
      [`${prefix}1`, 'ITEM_STATE_SUCCEEDED', null],
      [`${prefix}2`, 'ITEM_STATE_SUCCEEDED', null],
      [`${prefix}3`, 'ITEM_STATE_FAILED', 3],
    ],
    signedIn: true,
  });
}
