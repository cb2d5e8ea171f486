/** Passkeys and phone numbers in the prediction: counts, the search by way, and numbers that two users have. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { passkeySentence } from '../../../src/contract/sign-in.ts';
import type { ExistingRule } from '../../../src/imports/entries/options.ts';
import { signInMeans } from '../../../src/imports/entries/sign-in-means.ts';
import { batchStore, specialStores } from '../../../src/imports/run/stores.ts';
import { WRITER_SESSION } from '../../../src/imports/run/write-batch.ts';
import { readItems } from '../../../src/imports/status/items.ts';
import { readResult, readWithMore } from '../../../src/imports/status/result.ts';
import { MEANS } from '../../../src/imports/status/sign-ins.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { openPool, type Pool, transaction } from '../../../src/platform/db/pool.ts';
import { SETTINGS, special } from '../../support/imports/existing.ts';
import { acceptImport, addOrgs, entry, openWriterPool, wipe } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const KEY = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
const passkey = (rpId: string) => ({ credentialId: randomBytes(16).toString('base64url'), publicKey: KEY, rpId });
const [HERE, OLD] = ['auth.example.com', 'old.example'];
const KEYS = [passkey(HERE), passkey(HERE)];
const NO_HASH = { hashedPassword: undefined };
const phoneOnly = (name: string, phone: string) =>
  entry(name, { ...NO_HASH, email: undefined, phone: { phone, isPhoneVerified: true } });

describe('the prediction of passkeys and numbers', () => {
  let db: TestDatabase;
  let writer: Pool;
  let means: Pool;
  let api: Pool;
  before(async () => {
    db = await testDatabase({ name: 'sign_in_means' });
    writer = openWriterPool(db.url);
    const config = readConfig({ BASE_URL: `https://${HERE}`, SMS_URL: 'https://gateway.example.com/' });
    api = openPool(db.url, { settings: signInMeans(config) });
    means = openPool(db.url, { settings: { ...WRITER_SESSION, ...signInMeans(config) } });
    await addOrgs(db.pool, 'org', 'other');
    await db.pool.query(`update login_policies set sms_code = 'withoutPassword' where org_id is null`);
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await api.end();
    await means.end();
    await writer.end();
    await db.drop();
  });

  for (const isShared of [false, true]) {
    it(`finds the settings ${isShared ? 'where a pooler gives each transaction another session' : 'in each session'}`, async () => {
      for (const [given, rpId, hasGateway] of [
        [{ BASE_URL: `https://${HERE}`, SMS_URL: 'https://gateway.example.com/' }, HERE, true],
        [{ BASE_URL: 'http://192.0.2.1' }, null, false],
      ] as const) {
        const pool = openPool(db.url, { max: 1, isShared, settings: signInMeans(readConfig(given)) });
        for (let n = 0; n < 2; n++) {
          assert.deepEqual((await pool.query(`select ${MEANS}`)).rows, [{ rpId, hasGateway }]);
          const inTransaction = await transaction(pool, async (one) => (await one.query(`select ${MEANS}`)).rows);
          assert.deepEqual(inTransaction, [{ rpId, hasGateway }]);
        }
        await pool.end();
      }
    });
  }

  const PEOPLE = [
    entry('plain'),
    entry('one', { ...NO_HASH, passkeys: [passkey(HERE)] }),
    entry('several', { ...NO_HASH, passkeys: [passkey(HERE), passkey(HERE), passkey(OLD)] }),
    entry('elsewhere', { ...NO_HASH, passkeys: [passkey(OLD)] }),
    entry('key', { passkeys: [{ ...passkey(OLD), secondFactorOnly: true }] }),
    phoneOnly('phone', '+41791112233'),
    phoneOnly('twin', '+41791112244'),
    entry('other-twin', { phone: { phone: '+41791112244', isPhoneVerified: true } }),
    phoneOnly('held', '+41791112255'),
  ];
  const WAYS = ['PASSWORD', 'PASSKEY', 'PASSKEY', 'MAIL_CODE', 'NONE', 'SMS_CODE', 'NONE', 'PASSWORD', 'NONE'];

  const own = (name: string, more: object) =>
    entry(name, { ...NO_HASH, email: { email: `${name}@example.com`, isEmailVerified: true }, ...more });
  const number = (phone: string) => ({ phone: { phone, isPhoneVerified: true } });
  const QUIET_ONES = [
    own('key', { passkeys: [passkey(HERE)] }),
    own('old-key', { passkeys: [passkey(OLD)] }),
    own('number', number('+41 79 111 33 11')),
    own('twin', number('+41791113322')),
    own('other-twin', number('tel:+41-79-111-33-22')),
    own('coded', { ...number('+41791113344'), otpEmail: true }),
    own('apart', number('079 111 33 55')),
    own('none', {}),
  ];
  const MAILED = ['old-key', 'twin', 'other-twin', 'coded', 'apart', 'none'].map((name) => `id-${name}`);

  for (const how of ['dry', 'fail', 'skip', 'update'] as const) {
    it(`${how}: counts passkeys and numbers as ways in where mails go to those without one, as predicted`, async () => {
      const quiet = `update login_policies set init_mail = 'unlessWayIn', mail_code = 'off'`;
      await db.pool.query(quiet);
      try {
        const ids = QUIET_ONES.map(({ userId }) => userId);
        if (how === 'update') {
          const deaf = QUIET_ONES.map((one) => ({
            ...one,
            user: { ...one.user, email: { email: `old-${one.userId}@example.com` } },
          }));
          await batchStore(writer, SETTINGS).write(await acceptImport(db.pool, deaf), [...ids.keys()]);
          await db.pool.query('delete from mail_outbox');
        }
        const importId = await acceptImport(db.pool, QUIET_ONES, {
          special: special(how === 'dry' ? 'fail' : how, how === 'dry'),
        });
        const stores = specialStores(means, SETTINGS);
        const store = how === 'dry' ? stores.dry : how === 'fail' ? batchStore(means, SETTINGS) : stores[how];
        await store.write(importId, [...ids.keys()]);
        const more = (await readWithMore(api, importId)) ?? assert.fail();
        const { mails } = await readResult(api, more);
        assert.equal(mails.pending, MAILED.length);
        const { items } = await readItems(api, more.progress, { pageSize: 100, from: 0 });
        const expected = ids.map((id) => MAILED.includes(id ?? ''));
        assert.deepEqual(
          items.map(({ signIn }) => signIn?.changes.includes('GETS_MAIL')),
          expected,
        );
        if (how === 'dry') return;
        const { rows } = await db.pool.query('select user_id as id from mail_outbox where import_id = $1', [importId]);
        assert.deepEqual(rows.map(({ id }) => id).sort(), [...MAILED].sort());
      } finally {
        await db.pool.query('update login_policies set init_mail = default, mail_code = default');
      }
    });
  }

  for (const how of ['dry', 'fail'] as const) {
    it(`counts and finds them ${how === 'dry' ? 'in a dry run' : 'after the import'}`, async () => {
      const holder = entry('holder', { phone: { phone: '+41791112255', isPhoneVerified: true } });
      const first = await acceptImport(db.pool, [holder]);
      await batchStore(writer, SETTINGS).write(first, [0]);
      const options = { special: { ...special('fail', how === 'dry'), withoutEmail: true } };
      const importId = await acceptImport(db.pool, PEOPLE, options);
      const store = how === 'dry' ? specialStores(writer, SETTINGS).dry : batchStore(writer, SETTINGS);
      await store.write(importId, [...PEOPLE.keys()]);
      const more = (await readWithMore(api, importId)) ?? assert.fail();
      const { signIn } = await readResult(api, more);
      const counts = (list: string[]) =>
        Object.fromEntries(list.map((way) => [way, list.filter((x) => x === way).length]));
      const { ways, passkeys, causes, links } = signIn ?? assert.fail();
      assert.deepEqual(Object.fromEntries(Object.entries(ways).filter(([, n]) => n > 0)), counts(WAYS));
      assert.deepEqual(passkeys, [
        { rpId: HERE, passkeys: 3, works: true },
        { rpId: OLD, passkeys: 3, works: false },
      ]);
      assert.equal(
        passkeySentence(passkeys, String),
        `6 passkeys: 3 for ${HERE} will work, 3 for another host (${OLD}) will not`,
      );
      assert.deepEqual([causes.NUMBER_HELD_TWICE, causes.SECOND_FACTOR_UNUSABLE, links], [2, 1, undefined]);
      const { items } = await readItems(api, more.progress, { pageSize: 100, from: 0 });
      assert.deepEqual(items.map((item) => item.signIn?.way), WAYS); // biome-ignore format: a row
      for (const way of new Set(WAYS)) {
        const found = await readItems(api, more.progress, { pageSize: 100, from: 0, signIn: way as 'NONE' });
        const expected = WAYS.flatMap((one, index) => (one === way ? [index] : []));
        assert.deepEqual(found.items.map(({ index }) => index), expected); // biome-ignore format: a row
      }
      // Without the settings, nothing is promised.
      const elsewhere = await readItems(db.pool, more.progress, { pageSize: 100, from: 0, signIn: 'PASSKEY' });
      assert.deepEqual(elsewhere.items, []);
    });
  }

  it('knows that for an IAM_OWNER the stricter policy applies, that of the organization or that of the instance', async () => {
    const phone = (n: number) => ({ phone: { phone: `+4179111330${n}`, isPhoneVerified: true } });
    const people = (more: object) =>
      ['', 'owner-'].flatMap((kind, n) => [
        entry(`${kind}mail`, { ...NO_HASH, ...more }),
        entry(`${kind}text`, { ...NO_HASH, email: undefined, ...phone(n), ...more }),
        entry(`${kind}key`, { ...NO_HASH, passkeys: [KEYS[n]], ...more }),
      ]);
    const options = (how: ExistingRule) => ({ special: { ...special(how), withoutEmail: true } });
    const before = [...people({}), entry('owner-caller')];
    const first = await acceptImport(db.pool, before, options('fail'));
    await batchStore(writer, SETTINGS).write(first, [...before.keys()]);
    await db.pool.query(`insert into instance_members (user_id, roles, sequence)
      select id, '{IAM_OWNER}', 1 from users where id like 'id-owner-%'`);
    await db.pool.query(`insert into login_policies (org_id, force_mfa, mail_code, sms_code, passkeys, sequence)
      values ('org', false, 'withoutPassword', 'withoutPassword', true, 1)`);
    await db.pool.query(
      `update login_policies set mail_code = 'off', sms_code = 'off', passkeys = false where org_id is null`,
    );
    const changed = people({ profile: { firstName: 'Another', lastName: 'Name' } });
    const caller = { userId: 'id-owner-caller', orgId: 'org', isIamOwner: true, orgRoles: new Map<string, string[]>() };
    const importId = await acceptImport(db.pool, changed, { ...options('update'), caller });
    await specialStores(writer, SETTINGS).update.write(importId, [...changed.keys()]);
    const more = (await readWithMore(api, importId)) ?? assert.fail();
    const { items } = await readItems(api, more.progress, { pageSize: 100, from: 0 });
    const ways = items.map((item) => item.signIn?.way);
    assert.deepEqual(items.map(({ state }) => state).filter((state) => state !== 'ITEM_STATE_SUCCEEDED'), []); // biome-ignore format: a row
    assert.deepEqual(ways.slice(0, 3), ['MAIL_CODE', 'SMS_CODE', 'PASSKEY']);
    assert.deepEqual(ways.slice(3).filter((way) => way !== 'NONE' && way !== 'INIT_MAIL'), []); // biome-ignore format: a row
    const { signIn } = await readResult(api, more);
    for (const way of new Set(ways)) {
      const found = await readItems(api, more.progress, { pageSize: 100, from: 0, signIn: way as 'NONE' });
      const expected = ways.flatMap((one, index) => (one === way ? [index] : []));
      assert.deepEqual(found.items.map(({ index }) => index), expected); // biome-ignore format: a row
      assert.equal(signIn?.ways[way as 'NONE'], expected.length);
    }
  });
});
