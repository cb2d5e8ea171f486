/** What remains of mails and codes. The tests simulate time by setting timestamps back. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { changeState } from '../../../src/directory/users/states.ts';
import { findUser } from '../../../src/directory/users/store.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import {
  findOpenCode,
  issueCode,
  sweepUnusedCodes,
  sweepUsedCodes,
  useCode,
} from '../../../src/messages/mail/codes.ts';
import { sweepMails } from '../../../src/messages/mail/outbox.ts';
import { recordDeliveries } from '../../../src/messages/mail/relay.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { addImport, addMail, addOrg, addPerson } from './rows.ts';

const DAY = 86_400_000;

describe('the sweep of mails and codes', () => {
  const secrets = openSecrets(randomBytes(32).toString('base64'));
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'mail_sweep' });
    await addOrg(db.pool);
  });
  beforeEach(async () => {
    await db.pool.query('delete from users; delete from imports');
    await addPerson(db.pool, { id: 'u1' });
  });
  after(() => db.drop());

  const settle = (id: string, importId: string | null, state: 'sent' | 'failed') =>
    recordDeliveries(db.pool, [{ id, attempt: 0, importId, state, error: null, delayMs: 0 }]);
  /** Moves everything into the past, and sweeps. */
  async function afterDays(days: number): Promise<void> {
    const past = (columns: string[]) => columns.map((c) => `${c} = ${c} - interval '${days} days'`).join(', ');
    await db.pool.query(`update codes set ${past(['used_at', 'expires_at'])};
      update mail_outbox set ${past(['created_at', 'settled_at', 'next_attempt_at'])}`);
    for (const sweep of [sweepMails, sweepUsedCodes, sweepUnusedCodes]) await sweep(db.pool);
  }
  const count = async (table: string) => (await db.pool.query(`select from ${table}`)).rowCount;

  it('leaves the counts of an import as they are', async () => {
    const importId = await addImport(db.pool, 3);
    const mails = [];
    for (const id of ['a', 'b', 'c']) {
      await addPerson(db.pool, { id });
      mails.push((await addMail(db.pool, { kind: 'verify_email', userId: id, importId })).outboxId);
    }
    await settle(mails[0] as string, importId, 'sent');
    await settle(mails[1] as string, importId, 'failed');
    await afterDays(32);
    assert.equal(await count('mail_outbox'), 1);
    await db.pool.query('update imports set deadline = now()');
    const progress = await readProgress(db.pool, importId);
    assert.deepEqual(progress?.mails, { pending: 1, held: 0, sent: 1, failed: 1 });
  });

  it('leaves mails that are not sent yet, with their codes', async () => {
    const importId = await addImport(db.pool, 1);
    await addMail(db.pool, { kind: 'verify_email', userId: 'u1', importId });
    await afterDays(400);
    assert.deepEqual([await count('mail_outbox'), await count('codes')], [1, 1]);
  });

  it('removes a code that nobody used with its mail, and leaves one that is valid', async () => {
    const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1', codeTtlMs: 30 * DAY });
    await settle(outboxId, null, 'sent');
    await afterDays(29);
    assert.deepEqual([await count('mail_outbox'), await count('codes')], [1, 1]);
    await afterDays(3);
    assert.deepEqual([await count('mail_outbox'), await count('codes')], [0, 0]);
  });

  it('removes used, revoked and expired codes after a month', async () => {
    const issue = (purpose: 'reset_password' | 'verify_email') =>
      issueCode(db.pool, secrets, { userId: 'u1', purpose, codeTtlMs: DAY });
    await issue('verify_email'); // revoked by the next one
    const entered = await issue('verify_email');
    await issue('reset_password');
    const code = await findOpenCode({ db: db.pool, secrets }, { userId: 'u1', entered, purposes: ['verify_email'] });
    assert.ok(code && (await useCode(db.pool, code)));
    await afterDays(30);
    assert.equal(await count('codes'), 3);
    await afterDays(3);
    assert.equal(await count('codes'), 0);
  });

  it('leaves the last code of a user who has not set a first password: after an unlock they still must', async () => {
    await addPerson(db.pool, { id: 'new', state: 'initial' });
    const { outboxId } = await addMail(db.pool, { kind: 'initialise', userId: 'new' });
    await settle(outboxId, null, 'sent');
    const change = (to: 'lock' | 'unlock') =>
      transaction(db.pool, async (tx) => {
        const user = await findUser(tx, 'new', 'for update');
        assert.ok(user);
        await changeState({ db: tx, secrets }, user, to, 'admin');
      });
    await change('lock');
    await afterDays(400);
    assert.equal(await count('mail_outbox'), 0);
    await change('unlock');
    assert.equal((await findUser(db.pool, 'new'))?.state, 'initial');
  });
});
