import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { MailKind } from '../../../src/contract/link-templates.ts';
import { findOpenCode, issueCode, mailCode, revokeCodes, useCode } from '../../../src/messages/mail/codes.ts';
import { dropUnsentMails } from '../../../src/messages/mail/outbox.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { addImport, addMail, addOrg, addPerson } from './rows.ts';

const HOUR = 3_600_000;
const ALL: MailKind[] = ['verify_email', 'initialise', 'reset_password', 'verify_phone'];

describe('codes', () => {
  const secrets = openSecrets(randomBytes(32).toString('base64'));
  let db: TestDatabase;

  before(async () => {
    db = await testDatabase({ name: 'codes' });
    await addOrg(db.pool);
  });
  beforeEach(async () => {
    await db.pool.query('delete from users');
    await db.pool.query('delete from imports');
    await addPerson(db.pool, { id: 'u1', phone: '+41791234567' });
  });
  after(() => db.drop());

  const issue = (purpose: MailKind) => issueCode(db.pool, secrets, { userId: 'u1', purpose, codeTtlMs: HOUR });
  const look = (entered: string, purposes = ALL) =>
    findOpenCode({ db: db.pool, secrets }, { userId: 'u1', entered, purposes });
  async function kindsOfMails(): Promise<string[]> {
    const { rows } = await db.pool.query<{ kind: string }>('select kind from mail_outbox order by id');
    return rows.map((row) => row.kind);
  }
  async function mailsDue(importId: string): Promise<number> {
    const { rows } = await db.pool.query('select mails_due from imports where id = $1', [importId]);
    return rows[0].mails_due;
  }

  it('that are returned are neither mailed nor stored', async () => {
    for (const purpose of ALL) {
      const code = await issue(purpose);
      assert.match(code, /^[A-Z2-9]{12}$/);
      const found = await look(code, [purpose]);
      assert.deepEqual([found?.purpose, found?.mailed], [purpose, false]);
      const { rows } = await db.pool.query('select to_jsonb(c)::text as row from codes c');
      assert.ok(rows.every(({ row }) => !row.includes(code)));
    }
    assert.deepEqual(await kindsOfMails(), []);
  });

  it('revoke older ones of the same purpose and no others', async () => {
    const [email, phone] = [await issue('verify_email'), await issue('verify_phone')];
    const newer = await issue('verify_email');
    assert.equal(await look(email), undefined);
    assert.ok(await look(newer));
    assert.ok(await look(phone));
    await mailCode(db.pool, { kind: 'verify_email', userId: 'u1', codeTtlMs: HOUR });
    assert.equal(await look(newer), undefined);
  });

  it('drop the unsent mails of the codes that they revoke', async () => {
    await mailCode(db.pool, { kind: 'verify_email', userId: 'u1', codeTtlMs: HOUR });
    await mailCode(db.pool, { kind: 'reset_password', userId: 'u1', codeTtlMs: HOUR });
    await mailCode(db.pool, { kind: 'verify_email', userId: 'u1', codeTtlMs: HOUR });
    assert.deepEqual(await kindsOfMails(), ['reset_password', 'verify_email']);
    await db.pool.query(`update mail_outbox set state = 'sent' where kind = 'verify_email'`);
    await revokeCodes(db.pool, 'u1', ALL);
    assert.deepEqual(await kindsOfMails(), ['verify_email'], 'sent mails stay on record');
  });

  it('do not drop the mail of a used code: it was sent, recorded or not', async () => {
    const importId = await addImport(db.pool, 1);
    const { codeId } = await addMail(db.pool, { kind: 'initialise', userId: 'u1', importId });
    const code = await look(secrets.code(codeId, 0));
    assert.equal(code?.mailed, true);
    assert.equal(await useCode(db.pool, code), true);
    await revokeCodes(db.pool, 'u1', ALL);
    assert.deepEqual([await kindsOfMails(), await mailsDue(importId)], [['initialise'], 1]);
  });

  it("change an import's counts only by its own mails", async () => {
    const [one, other] = [await addImport(db.pool, 2), await addImport(db.pool, 1)];
    await addPerson(db.pool, { id: 'u2' });
    await addMail(db.pool, { kind: 'verify_email', userId: 'u1', importId: one });
    await addMail(db.pool, { kind: 'verify_email', userId: 'u2', importId: one });
    await mailCode(db.pool, { kind: 'reset_password', userId: 'u1', codeTtlMs: HOUR });
    await revokeCodes(db.pool, 'u1', ['reset_password']);
    assert.deepEqual([await mailsDue(one), await mailsDue(other)], [2, 1]);
    await mailCode(db.pool, { kind: 'verify_email', userId: 'u1', codeTtlMs: HOUR });
    assert.deepEqual([await mailsDue(one), await mailsDue(other)], [1, 1]);
  });

  it('leave no unsent mail of any kind after the user is deleted', async () => {
    const importId = await addImport(db.pool, 1);
    for (const kind of ALL) await addMail(db.pool, { kind, userId: 'u1' });
    await addMail(db.pool, { kind: 'initialise', userId: 'u1', importId });
    await dropUnsentMails(db.pool, 'u1');
    assert.deepEqual([await kindsOfMails(), await mailsDue(importId)], [[], 0]);
    await db.pool.query('delete from users');
    const { rows } = await db.pool.query('select count(*)::int as n from codes');
    assert.equal(rows[0].n, 0);
  });
});
