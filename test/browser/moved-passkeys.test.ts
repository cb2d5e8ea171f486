/**
 * People bring the passkeys of their old system along: its public records, in the form of its own export, are imported by
 * the command line; Chromium's virtual authenticator holds the private keys. Whose passkey is for our host signs in without
 * name and password; one for another host is reported, and never offered.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { SignInCounts } from '../../src/contract/sign-in.ts';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { virtualAuthenticator } from '../support/passkeys.ts';
import { runMuster } from '../support/processes/muster.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { type ExportedUser, HOSTS, type PasskeyExport, passkeyExports } from './passkey-exports.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
let folder: string;
let workers: { stop(): Promise<unknown> }[] = [];
before(async () => {
  stage = await openStage({ RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' }, { host: 'localhost' });
  const { deps } = stage.api;
  workers = [startConverter(deps), startImportWorker(deps), startDispatcher(deps)];
  folder = await mkdtemp(join(tmpdir(), 'muster-passkeys-'));
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await stage.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Imports the export, first as a dry run; returns what that predicts. */
async function moved({ source, args, text }: PasskeyExport, orgId: string): Promise<SignInCounts> {
  const { api } = stage;
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  const file = join(folder, `${source}.json`);
  await writeFile(file, text);
  const common = ['import', file, '--from', source, '--org', orgId, '--timeout', '10m', ...args, '--json'];
  const env = { MUSTER_URL: api.url, MUSTER_TOKEN: token };
  const check = await runMuster([...common, '--dry-run'], { env });
  assert.match(check.stdout, /^\{/, check.stderr);
  const really = await runMuster([...common, '--watch', '--mails', 'none'], { env });
  assert.equal(really.code, 0, really.stdout + really.stderr);
  return JSON.parse(check.stdout).import.signIn;
}

async function offer(t: TestContext, { key }: ExportedUser) {
  const page = await stage.browser?.openPage(t);
  assert(page);
  const authenticator = await virtualAuthenticator(page);
  // Otherwise the field for the name would be answered by itself.
  await authenticator.answersByItself(false);
  await authenticator.add(key);
  await page.goto(stage.app.start());
  const button = page.getByRole('button', { name: 'Use a passkey' });
  await button.waitFor();
  await authenticator.answersByItself(true);
  await button.click();
  return page;
}

describe('passkeys of an old system', () => {
  for (const given of passkeyExports()) {
    const hosts = given.users.map(({ key }) => key.record().rpId);
    it(`${given.source}: those for ${hosts.join(' and ')}`, async (t) => {
      if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
      const { orgId } = await stage.api.setupOrg();
      const { ways, changes, passkeys } = await moved(given, orgId);
      const count = (host: string) => hosts.filter((one) => one === host).length;
      assert.equal(ways.PASSKEY, count(HOSTS.ours), JSON.stringify({ ways, changes }));
      assert.equal(changes.PASSKEYS_OTHER_HOST ?? 0, count(HOSTS.other), JSON.stringify(changes));
      const perHost = Object.values(HOSTS).map((rpId) => ({ rpId, passkeys: count(rpId), works: rpId === HOSTS.ours }));
      assert.deepEqual(passkeys, perHost.filter((one) => one.passkeys > 0)); // biome-ignore format: a row
      for (const user of given.users) {
        const page = await offer(t, user);
        if (user.key.record().rpId === HOSTS.ours) {
          await page.getByRole('heading', { name: /^Welcome / }).waitFor();
          const { rows } = await stage.api.deps.pool.query('select id from users where email = $1', [user.address]);
          assert.equal(stage.app.claims.at(-1)?.sub, rows[0]?.id);
          // Authelia has no ids.
          if (given.source !== 'authelia') assert.equal(rows[0]?.id, user.id);
        } else await page.getByText('No passkey was used. Try again, or sign in in another way.').waitFor();
      }
    });
  }
});
