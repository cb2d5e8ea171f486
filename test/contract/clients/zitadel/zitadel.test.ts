/**
 * ZITADEL's published clients, for Node.js and for Go, call the operations that Muster has too. What they publish says
 * which names are the same: an operation with a name of ZITADEL is called by it.
 */
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type TestContext } from 'node:test';
import { run } from '../../../../bench/testbed/programs.ts';
import { OPERATIONS } from '../../../../src/contract/operations.ts';
import { freePort } from '../../../support/free-port.ts';
import { must, startService } from '../../../support/processes/service.ts';
import { startProvider } from '../../../support/providers.ts';
import { findProgram, requireOrSkip } from '../../../support/runner/programs.ts';
import { npmTools } from '../tools.ts';

const HERE = resolve('test/contract/clients/zitadel');
/** What a program printed: calls that failed, and all that ZITADEL publishes. */
interface Printed {
  failed: Record<string, string>;
  /** Method and path by the name of the call. */
  published: Record<string, string>;
  called: string[];
}

test("ZITADEL's published clients", async (t) => {
  const port = String(await freePort());
  const limits = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_LOGINS: '0' };
  // Providers send browsers back to the public address.
  const address = {
    PORT: port,
    BASE_URL: `http://127.0.0.1:${port}`,
    IDP_ALLOW_PRIVATE: 'true',
    SMS_URL: 'http://127.0.0.1:9/',
  };
  const service = await startService(t, { backend: 'postgres', env: { ...limits, ...address } });

  const github = await startProvider({ kind: 'github', people: [{ login: 'cora', id: '7001' }] });
  t.after(() => github.stop());
  const { idpId } = (await must(service.call('POST', '/admin/v1/idps', github.settings()))).body;

  await t.test('for Go', async (t) => {
    if (!requireOrSkip(t, 'go')) return;
    const folder = await folderOf(t, 'go');
    const printed = await run(findProgram('go') as string, ['run', '.', service.url, service.token, idpId], folder);
    assert.deepEqual(JSON.parse(printed), {});
  });

  // It changes the policies of the instance.
  await t.test('for Node.js: every operation with a name of ZITADEL is called by it', async (t) => {
    const folder = await folderOf(t, 'node');
    await symlink(join(await npmTools('zitadel'), 'node_modules'), join(folder, 'node_modules'));
    const printed = await run(process.execPath, ['main.js', service.url, service.token, idpId], folder);
    const { failed, published, called } = JSON.parse(printed) as Printed;
    assert.deepEqual(failed, {});
    const byPath = new Map(Object.entries(published).map(([name, path]) => [plain(path), name]));
    const ours = OPERATIONS.filter(({ path }) => byPath.has(plain(path)));
    assert.ok(ours.length > 60, String(ours.length));
    const untried = ours.filter(({ path }) => !called.some((one) => plain(one) === plain(path)));
    assert.deepEqual(
      untried.map(({ id }) => id),
      [],
    );
    // Calls of version 2 have a name of Connect too.
    const names = ours.map(({ path }) => byPath.get(plain(path)) as string).filter((name) => name.includes('.v2.'));
    const given = OPERATIONS.flatMap(({ rpc }) => rpc ?? []);
    assert.deepEqual(
      names.filter((name) => !(given as string[]).includes(name)),
      [],
    );
    assert.deepEqual(
      given.filter((name) => !(name in published)),
      [],
    );
  });
});

/** `GET /v2/users/{}`: by which both are compared. */
function plain(path: string): string {
  return path
    .replace('/v2beta/', '/v2/')
    .replace('/admin/v1/orgs/_search', '/v2/organizations/_search')
    .replace(/\{\w+\}/g, '{}');
}

/** A temporary folder with the program. */
async function folderOf(t: TestContext, client: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-zitadel-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await cp(join(HERE, client), folder, { recursive: true });
  return folder;
}
