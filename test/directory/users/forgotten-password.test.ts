import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pino from 'pino';
import { findUser } from '../../../src/directory/users/store.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { requestPasswordReset } from '../../../src/signin/credentials/password-reset.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';
import { addHuman, addVerified, eventsOf, lastMail, unsentMails } from './people.ts';

let api: TestApi;
let orgId: string;

before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const ask = (loginName: string) => requestPasswordReset(api.deps, { loginName });
async function setState(userId: string, state: string): Promise<void> {
  await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);
}
const mailed = (userId: string) =>
  waitFor(async () => (await unsentMails(api, userId)).length > 0 && unsentMails(api, userId), { what: 'the mail' });
/** Once a later request for another user is processed, so is the first one. */
async function settled(): Promise<void> {
  const other = await addVerified(api, orgId, 'old');
  await ask(other);
  await mailed(other);
}

describe('a forgotten password', () => {
  it('is mailed a link, by the bare and by the full login name, in any case', async () => {
    const { rows } = await api.deps.pool.query('select primary_domain as domain from organizations where id = $1', [
      orgId,
    ]);
    for (const nameOf of [
      (id: string) => id,
      (id: string) => id.toUpperCase(),
      (id: string) => `${id}@${rows[0].domain}`,
    ]) {
      const userId = await addVerified(api, orgId, 'old');
      await ask(nameOf(userId));
      assert.deepEqual(await mailed(userId), ['reset_password']);
      assert.deepEqual(await eventsOf(api, userId), ['user.human.password.code.added']);
    }
  });

  it('of an INITIAL or locked user also sends an email', async () => {
    const initial = await addHuman(api, orgId);
    const locked = await addVerified(api, orgId, 'old');
    await setState(locked, 'locked');
    await Promise.all([ask(initial), ask(locked)]);
    assert.deepEqual([await mailed(initial), await mailed(locked)], [['initialise'], ['reset_password']]);
  });

  it('sends no link to an address that is not verified, but the email to verify it; one without a password sets it', async () => {
    const unverified = await addHuman(api, orgId, 'old');
    const without = await addHuman(api, orgId);
    await setState(without, 'active');
    await Promise.all([ask(unverified), ask(without)]);
    assert.deepEqual([await mailed(unverified), await mailed(without)], [['verify_email'], ['initialise']]);
    assert.deepEqual(await eventsOf(api, unverified), ['user.human.email.code.added']);
  });

  it('sends one email a minute, however many requests there are', async () => {
    const userId = await addVerified(api, orgId, 'old');
    await Promise.all([ask(userId), ask(userId), ask(userId)]);
    await settled();
    const first = await lastMail(api, userId);
    assert.deepEqual(await unsentMails(api, userId), ['reset_password']);
    await api.deps.pool.query(
      `update mail_outbox set created_at = created_at - interval '61 seconds', state = 'sent' where user_id = $1`,
      [userId],
    );
    await ask(userId);
    await mailed(userId);
    assert.notEqual((await lastMail(api, userId)).codeId, first.codeId);
  });

  it('sends nothing for machines, deactivated users, unknown names, and users who had a name later', async () => {
    const machine = await api.machine(orgId);
    const { rows } = await api.deps.pool.query('select user_name from users where id = $1', [machine.userId]);
    const inactive = await addVerified(api, orgId, 'old');
    await setState(inactive, 'inactive');
    const first = await addVerified(api, (await api.setupOrg()).orgId, 'old');
    const later = await addVerified(api, orgId, 'old');
    for (const userId of [first, later]) {
      await api.deps.pool.query(`update users set user_name = 'twin', user_name_key = 'twin' where id = $1`, [userId]);
    }
    const names = [rows[0].user_name, inactive, 'twin', 'nobody', '', 'a\0b', '\ud800', 'x'.repeat(501)];
    await Promise.all(names.map((name) => ask(name)));
    await settled();
    await mailed(first);
    for (const userId of [machine.userId, inactive, later]) {
      assert.deepEqual(await unsentMails(api, userId), []);
    }
  });

  it('gives the same answer in the same time for every name', async () => {
    const userId = await addVerified(api, orgId, 'old');
    const timed = async (name: string) => {
      const began = performance.now();
      assert.equal(await ask(name), undefined);
      return performance.now() - began;
    };
    // The user's row is locked, so the work cannot end: the answer must not reveal that.
    const times = await transaction(api.deps.pool, async (db) => {
      await findUser(db, userId, 'for update');
      return Promise.all([timed(userId), timed('nobody')]);
    });
    const [known = 0, unknown = 0] = times;
    assert.ok(Math.min(known, unknown) >= 195, `${times} ms`);
    assert.deepEqual(await mailed(userId), ['reset_password']);
  });

  it('gives the same answer when the work fails, which is logged without the name', async () => {
    const userId = await addVerified(api, orgId, 'old');
    const lines: string[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
    const config = { ...api.deps.config, RESET_CODE_TTL_MS: Number.NaN };
    await requestPasswordReset({ ...api.deps, config, logger }, { loginName: `${userId}` });
    await waitFor(() => lines.length > 0, { what: 'the log line' });
    assert.match(lines[0] ?? '', /could not be queued/);
    assert.deepEqual(await unsentMails(api, userId), []);
  });
});
