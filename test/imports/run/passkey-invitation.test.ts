/** Users whose entry asks for a passkey: the mail that invites them, and where there is none. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { signInMeans } from '../../../src/imports/entries/sign-in-means.ts';
import { specialStores } from '../../../src/imports/run/stores.ts';
import { WRITER_SESSION, writeBatch } from '../../../src/imports/run/write-batch.ts';
import { readWithMore } from '../../../src/imports/status/result.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { openPool, type Pool } from '../../../src/platform/db/pool.ts';
import { SETTINGS, special } from '../../support/imports/existing.ts';
import { acceptImport, addOrgs, entry, importRow, wipe } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const WISH = { requestPasswordlessRegistration: true };
const NO_HASH = { hashedPassword: undefined };
const email = (name: string, isEmailVerified: boolean) => ({
  email: { email: `${name}@example.com`, isEmailVerified },
});
const one = (name: string, isVerified: boolean, more: object, rest: object = {}) =>
  entry(name, { ...WISH, ...email(name, isVerified), ...more }, rest);

const PEOPLE = [
  one('none', true, NO_HASH),
  one('none-unverified', false, NO_HASH),
  one('hash', true, {}),
  one('hash-unverified', false, {}),
  one('factor', true, { totps: [{ secret: 'GEZDGNBVGY3TQOJQ' }] }),
  one('factor-none', true, { ...NO_HASH, totps: [{ secret: 'GEZDGNBVGY3TQOJQ' }] }),
  one('lost', true, {}, { oldSignIn: { lost: ['secondFactor'] } }),
  one('locked', true, NO_HASH, { state: 'USER_STATE_LOCKED' }),
  one('not-wanted', true, { ...NO_HASH, requestPasswordlessRegistration: false }),
  one('company', true, {}, { oldSignIn: { ways: ['enterprise'] } }),
];

/** The mail and the purpose of its code, of those who get one. */
const INVITED: Record<string, string> = {
  none: 'add_passkey initialise',
  'none-unverified': 'add_passkey initialise',
  hash: 'add_passkey add_passkey',
  'hash-unverified': 'verify_email verify_email',
  'factor-none': 'initialise initialise',
  'not-wanted': 'initialise initialise',
};
const USUAL: Record<string, string> = {
  none: 'initialise initialise',
  'none-unverified': 'initialise initialise',
  'hash-unverified': 'verify_email verify_email',
  'factor-none': 'initialise initialise',
  'not-wanted': 'initialise initialise',
};
const LEAVES = { enterpriseMailCodes: false };

describe('an entry that asks for a passkey', () => {
  let db: TestDatabase;
  let here: Pool;
  let without: Pool;
  before(async () => {
    db = await testDatabase({ name: 'passkey_invitation' });
    const pool = (baseUrl: string) =>
      openPool(db.url, { settings: { ...WRITER_SESSION, ...signInMeans(readConfig({ BASE_URL: baseUrl })) } });
    here = pool('https://auth.example.com');
    without = pool('http://192.0.2.1');
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    await db.pool.query('update login_policies set passkeys = default, init_mail = default, mail_code = default');
  });
  after(async () => {
    await here.end();
    await without.end();
    await db.drop();
  });

  async function mailsOf(writer: Pool): Promise<Record<string, string>> {
    const importId = await acceptImport(db.pool, PEOPLE, { special: { ...special('fail'), ...LEAVES } });
    await writeBatch(writer, importId, [...PEOPLE.keys()], SETTINGS);
    const { rows } = await db.pool.query(
      `select u.user_name as name, m.kind || ' ' || c.purpose as mail from mail_outbox m
       join users u on u.id = m.user_id join codes c on c.id = m.code_id`,
    );
    assert.equal((await importRow(db.pool, importId)).mails_due, rows.length);
    return Object.fromEntries(rows.map(({ name, mail }) => [name, mail]));
  }

  /** The mails of the last dry run by kind and language. */
  let kinds: Record<string, number> = {};

  /** The initialisations and verifications that a dry run counts, and the mails that it predicts. */
  async function counted(writer: Pool): Promise<[number, number, number | undefined]> {
    const importId = await acceptImport(db.pool, PEOPLE, { special: { ...special('fail', true), ...LEAVES } });
    await specialStores(writer, SETTINGS).dry.write(importId, [...PEOPLE.keys()]);
    const { mailKinds, signIn } = (await readWithMore(writer, importId))?.more ?? {};
    const { rows } = await db.pool.query('select mails from import_dry_runs where import_id = $1', [importId]);
    kinds = rows[0].mails;
    return [mailKinds?.initialisation ?? 0, mailKinds?.verification ?? 0, signIn?.changes.GETS_MAIL];
  }

  it('is invited by mail, where a link is enough', async () => {
    assert.deepEqual(await counted(here), [5, 1, 6]);
    const mails = await mailsOf(here);
    assert.deepEqual(mails, INVITED);
    // The kinds that are predicted are those that are sent.
    const sent: Record<string, number> = {};
    for (const mail of Object.values(mails)) {
      const [kind = ''] = mail.split(' ');
      sent[kind] = (sent[kind] ?? 0) + 1;
    }
    assert.deepEqual(kinds, sent);
  });

  it('gets the mail of every user, where passkeys cannot be used', async () => {
    assert.deepEqual(await counted(without), [4, 1, 5]);
    assert.deepEqual(await mailsOf(without), USUAL);
    await wipe(db.pool);
    await db.pool.query('update login_policies set passkeys = false');
    assert.deepEqual(await counted(here), [4, 1, 5]);
    assert.deepEqual(await mailsOf(here), USUAL);
  });

  it('gets none where the policy mails only who has no way in', async () => {
    await db.pool.query(`update login_policies set init_mail = 'unlessWayIn', mail_code = 'off'`);
    const { hash: _, 'hash-unverified': __, ...needed } = INVITED;
    assert.deepEqual(await counted(here), [4, 0, 4]);
    assert.deepEqual(await mailsOf(here), needed);
  });
});
