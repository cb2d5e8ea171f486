/** Every source: imports its export as a person does; then users log in with their old passwords. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { runMuster } from '../support/processes/muster.ts';
import { must, type Service, startService } from '../support/processes/service.ts';
import { type SourceFixture, sourceFixtures } from '../support/sources.ts';
import { codeAt } from '../support/totp.ts';

interface Item {
  index: number;
  userId: string;
  userName: string;
  state: string;
}

test('every export is imported, and its users log in with their old passwords', async (t) => {
  const service = await startService(t, { backend: 'postgres' });
  for (const fixture of sourceFixtures()) {
    await t.test(fixture.source, () => importAndLogIn(service, fixture));
  }
});

async function importAndLogIn(service: Service, fixture: SourceFixture): Promise<void> {
  const org = await service.newOrg();
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: org.ownerToken };
  const args = [...fixture.files, '--from', fixture.source, '--org', org.orgId, '--timeout', '10m', '--watch'];
  const { code, stdout, stderr } = await runMuster(['import', ...args, ...fixture.args], { env, terminal: true });
  const shown = stdout + stderr;
  assert.equal(code, fixture.failed.length > 0 ? 3 : 0, shown);
  const importId = /Import (\d+) is accepted/.exec(shown)?.[1] as string;

  const path = `/admin/v1/imports/${importId}/items?pageSize=1000`;
  const { items } = (await must(service.call('GET', path))).body as { items: Item[] };
  assert.equal(items.length, fixture.users);
  const failed = items.filter((item) => item.state === 'ITEM_STATE_FAILED');
  const names = failed.map(({ userId, userName }) => (fixture.failed.includes(userName) ? userName : userId));
  assert.deepEqual(names.sort(), [...fixture.failed].sort(), shown);

  for (const { loginName, password, totp } of fixture.logins) {
    const user = { userId: idOf(items, loginName) };
    const checks = { user, password: { password }, ...(totp ? { totp: { code: codeAt(totp) } } : {}) };
    const { status, body } = await service.call('POST', '/v2beta/sessions', { checks });
    assert.equal(status, 201, `${loginName}: ${JSON.stringify(body)}`);
  }
}

/** Users are found by id: other organizations may have the same names, and then a bare name is ambiguous. */
function idOf(items: Item[], loginName: string): string {
  const item = items.find(({ userName }) => userName === loginName);
  assert.ok(item, `no user is called ${loginName}`);
  return item.userId;
}
