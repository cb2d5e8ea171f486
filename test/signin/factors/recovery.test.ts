/** Recovery codes in place of a second factor: each once, counted with all other codes, hashed at rest. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { factorsOf, putRecovery } from '../../../src/directory/users/second-factors.ts';
import { RECOVERY_PURPOSE, type RecoveryCode, storedCodes } from '../../../src/passwords/recovery-codes.ts';
import { makeHash, verifyHash } from '../../../src/passwords/registry.ts';
import { TOTP_PURPOSE } from '../../../src/passwords/totp-secret.ts';
import { dropRecoveryCodes, makeRecoveryCodes } from '../../../src/signin/factors/recovery.ts';
import { checkFactor, type FactorDeps, offeredFactors } from '../../../src/signin/factors/second-factor.ts';
import { SECRETS } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { codeAt, wrongCode } from '../../support/totp.ts';

const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const ANN = { id: 'ann', orgId: 'org', kind: 'human' } as const;
const CODES = Array.from({ length: 10 }, (_, i) => `WXYZ${i}-ABCDE`);

let db: TestDatabase;
let deps: FactorDeps;
before(async () => {
  db = await testDatabase({ name: 'recovery_codes' });
  const hasher = { verify: async (hash: string, plain: string) => ({ ok: verifyHash(hash, plain), rehash: false }) };
  deps = { pool: db.pool, secrets: SECRETS, config: { TOTP_WINDOW: 1 }, hasher } as unknown as FactorDeps;
  await db.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, email, sequence)
     values ('ann', 'org', 'human', 'active', 'ann', 'ann', 'a@b', 1)`,
  );
});
after(() => db.drop());
beforeEach(async () => {
  await db.pool.query('delete from user_factors');
  await db.pool.query('delete from user_totp');
  await db.pool.query(`insert into user_totp (user_id, secret, confirmed_at) values ('ann', $1, now())`, [
    SECRETS.seal(SECRET, TOTP_PURPOSE),
  ]);
});

const check = (recoveryCode: string) => checkFactor(deps, 'ann', { recoveryCode }, Buffer.alloc(0));

async function give(codes: readonly RecoveryCode[]): Promise<void> {
  const { text, left } = storedCodes(codes);
  await putRecovery(db.pool, 'ann', { sealed: SECRETS.seal(text, RECOVERY_PURPOSE), left });
}

test('each code is right once, in any order, and says how many are left', async () => {
  await give(CODES);
  assert.deepEqual(await check('wxyz7 abcde'), { ok: true, left: 9, amr: ['otp', 'mfa'] });
  assert.deepEqual(await check('WXYZ7-ABCDE'), { ok: false, amr: [] });
  assert.equal((await check('WXYZ2ABCDE')).left, 8);
  assert.equal((await factorsOf(db.pool, 'ann')).recoveryLeft, 8);
  const { rows } = await db.pool.query(
    `select payload from events where type = 'user.human.recovery_code.used' order by sequence`,
  );
  assert.deepEqual(
    rows.map((row) => row.payload),
    [{ left: 9 }, { left: 8 }],
  );
});

test('of many parallel uses of one code one succeeds, and uses of several all do', async () => {
  await give(CODES);
  const same = await Promise.all(Array.from({ length: 6 }, () => check('WXYZ0-ABCDE')));
  assert.equal(same.filter(({ ok }) => ok).length, 1);
  const others = await Promise.all(['1', '2', '3'].map((i) => check(`WXYZ${i}-ABCDE`)));
  assert.deepEqual(
    others.map(({ ok }) => ok),
    [true, true, true],
  );
  assert.equal((await factorsOf(db.pool, 'ann')).recoveryLeft, 6);
});

test('imported hashes of Keycloak and of password schemes are right once', async () => {
  const keycloak = createHash('sha512').update('ABCDEFGH1234').digest('base64');
  await give([
    { hash: keycloak, scheme: 'keycloak-sha512' },
    { hash: makeHash('12345678', 4), scheme: 'mcf' },
  ]);
  assert.equal((await check('12345678')).left, 1);
  assert.equal((await check('12345678')).ok, false);
  assert.equal((await check('ABCD-EFGH-1234')).left, 0);
  assert.equal((await check('ABCD-EFGH-1234')).ok, false);
  const { rows } = await db.pool.query('select recovery_sealed from user_factors');
  assert.deepEqual(rows, [{ recovery_sealed: null }]);
});

test('after ten wrong codes of any kind no right one is accepted until the cool-down has passed', async () => {
  await give(CODES);
  for (let i = 0; i < 5; i++) assert.equal((await check('WRONG-WRONG')).ok, false);
  const totp = (code: string) => checkFactor(deps, 'ann', { totp: code }, Buffer.alloc(0));
  for (let i = 0; i < 5; i++) assert.equal((await totp(wrongCode(SECRET))).ok, false);
  assert.equal((await check('WXYZ0-ABCDE')).ok, false);
  assert.equal((await totp(codeAt(SECRET))).ok, false);
  await db.pool.query(`update user_factors set last_try_at = now() - interval '15 minutes 1 second'`);
  assert.equal((await check('WXYZ0-ABCDE')).ok, true);
  assert.equal((await db.pool.query('select tries from user_factors')).rows[0].tries, 0);
});

test('codes alone are no second factor', async () => {
  await give(CODES);
  assert.deepEqual(await offeredFactors(deps, 'ann', 'password'), ['totp', 'recoveryCode']);
  await db.pool.query('delete from user_totp');
  assert.equal((await check('WXYZ0-ABCDE')).ok, false);
  assert.equal((await factorsOf(db.pool, 'ann')).recoveryLeft, 10);
});

test('new codes replace those before, and nothing that is stored has one in clear', async () => {
  await give(CODES);
  const { codes } = await makeRecoveryCodes({ db: db.pool, secrets: SECRETS }, ANN, 'ann');
  assert.equal(codes.length, 10);
  assert.equal((await check('WXYZ0-ABCDE')).ok, false);
  const { rows } = await db.pool.query('select recovery_sealed as sealed from user_factors');
  const text = SECRETS.unseal(rows[0].sealed, RECOVERY_PURPOSE);
  for (const code of codes) assert.equal(text.includes(code.replace('-', '')) || text.includes(code), false);
  const events = JSON.stringify((await db.pool.query('select payload from events')).rows);
  for (const code of codes) assert.equal(events.includes(code), false);
  assert.equal((await check(codes[3] ?? '')).left, 9);
  await dropRecoveryCodes(db.pool, ANN, 'ann');
  assert.equal((await check(codes[4] ?? '')).ok, false);
  await assert.rejects(dropRecoveryCodes(db.pool, ANN, 'ann'), { id: 'RECOVERY-CODES-NOT-FOUND' });
});

test('a user without a second factor, and a machine, get no codes', async () => {
  await db.pool.query('delete from user_totp');
  const make = (user: Parameters<typeof makeRecoveryCodes>[1]) =>
    makeRecoveryCodes({ db: db.pool, secrets: SECRETS }, user, 'ann');
  await assert.rejects(make(ANN), { id: 'RECOVERY-CODES-NO-FACTOR' });
  await assert.rejects(make({ ...ANN, kind: 'machine' }), { id: 'TOTP-NOT-HUMAN' });
});
