/** Codes of an active factor: each is accepted once. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { appsOf, confirm, factorsOf, putPending, removeTotp } from '../../src/directory/users/second-factors.ts';
import { TOTP_PURPOSE, totpText } from '../../src/passwords/totp-secret.ts';
import { checkFactor, type FactorDeps } from '../../src/signin/factors/second-factor.ts';
import { SECRETS } from '../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { codeAt, type Parameters, wrongCode } from '../support/totp.ts';

const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const sealed = SECRETS.seal(SECRET, TOTP_PURPOSE);
const STEP = 30_000;
/** The start of a step. */
const NOW = 1_700_000_010_000;

let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'totp_check' });
  await db.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, email, sequence)
     values ('ann', 'org', 'human', 'active', 'ann', 'ann', 'a@b', 1)`,
  );
});
after(() => db.drop());
beforeEach(async () => {
  await removeTotp(db.pool, 'ann');
  await db.pool.query('delete from user_factors');
});

async function check(code: string, now: number, TOTP_WINDOW = 1): Promise<boolean> {
  const deps = { pool: db.pool, secrets: SECRETS, config: { TOTP_WINDOW } } as unknown as FactorDeps;
  return (await checkFactor(deps, 'ann', { totp: code }, Buffer.alloc(0), now)).ok;
}

const ONE = { id: '1', secret: sealed };
const isActive = async () => (await factorsOf(db.pool, 'ann')).totps.some((app) => app.confirmedAt !== null);
const pend = () => putPending(db.pool, 'ann', { id: '1', sealed, name: '' });

/** As an import creates it: no code was used yet. */
async function activate(): Promise<void> {
  await db.pool.query(`insert into user_totp (user_id, secret, confirmed_at) values ('ann', $1, now())`, [sealed]);
}

test('the codes of RFC 6238 are accepted at their times, in ascending order', async () => {
  await activate();
  // Appendix B, SHA1; a code of six digits is the last six of the eight printed there.
  for (const [seconds, code] of [
    [59, '287082'],
    [1111111109, '081804'],
    [1111111111, '050471'],
    [1234567890, '005924'],
    [2000000000, '279037'],
    [20000000000, '353130'],
  ] as const) {
    assert.equal(await check(code, seconds * 1000), true, `${seconds}`);
    assert.equal(await check(code, seconds * 1000), false, `${seconds} again`);
  }
});

test('a code is accepted once, and afterwards no code of an earlier step', async () => {
  await activate();
  assert.equal(await check(codeAt(SECRET, NOW), NOW), true);
  assert.equal(await check(codeAt(SECRET, NOW), NOW + STEP), false);
  assert.equal(await check(codeAt(SECRET, NOW - STEP), NOW), false);
  assert.equal(await check(codeAt(SECRET, NOW + STEP), NOW), true, 'the next one, from a clock that is ahead');
  assert.equal(await check(codeAt(SECRET, NOW + STEP), NOW + STEP), false);
  assert.equal(await check(codeAt(SECRET, NOW + 2 * STEP), NOW + 2 * STEP), true);
});

test('of many parallel uses of the same code one succeeds', async () => {
  await activate();
  const answers = await Promise.all(Array.from({ length: 20 }, () => check(codeAt(SECRET, NOW), NOW)));
  assert.equal(answers.filter(Boolean).length, 1);
});

test('a wrong code consumes nothing', async () => {
  await activate();
  assert.equal(await check(wrongCode(SECRET, NOW), NOW), false);
  assert.equal(await check('', NOW), false);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), true);
});

test('ten wrong codes in a row are checked, and none after them until the cool-down has passed', async () => {
  await activate();
  const guesses = Array.from({ length: 25 }, () => check(wrongCode(SECRET, NOW), NOW));
  assert.deepEqual(new Set(await Promise.all(guesses)), new Set([false]));
  assert.equal((await db.pool.query('select tries from user_factors')).rows[0].tries, 10);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), false);
  await db.pool.query(`update user_factors set last_try_at = now() - interval '14 minutes'`);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), false);
  await db.pool.query(`update user_factors set last_try_at = now() - interval '15 minutes 1 second'`);
  assert.equal(await check(wrongCode(SECRET, NOW), NOW), false);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), true);
});

test('a right code resets the attempts', async () => {
  await activate();
  for (let step = 0; step < 3; step++) {
    for (let i = 0; i < 9; i++) assert.equal(await check(wrongCode(SECRET, NOW), NOW), false);
    assert.equal(await check(codeAt(SECRET, NOW + step * STEP), NOW + step * STEP), true);
  }
});

test('a pending app is not required, and none of its codes is accepted', async () => {
  assert.equal(await isActive(), false);
  await pend();
  assert.equal(await isActive(), false);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), false);
  assert.equal(await confirm(db.pool, 'ann', ONE, NOW / STEP), true);
  assert.equal(await isActive(), true);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), false, 'the code that confirmed it is consumed');
  assert.equal(await check(codeAt(SECRET, NOW + STEP), NOW), true);
});

test('an app that was replaced since is not confirmed by a code of the old one', async () => {
  await pend();
  await putPending(db.pool, 'ann', { id: '2', sealed: SECRETS.seal(SECRET, TOTP_PURPOSE), name: '' });
  assert.equal((await appsOf(db.pool, 'ann')).length, 1);
  assert.equal(await confirm(db.pool, 'ann', ONE, 1), false);
  await removeTotp(db.pool, 'ann');
  assert.equal(await confirm(db.pool, 'ann', ONE, 1), false);
});

test('a user without an app has no valid code', async () => {
  assert.equal(await check(codeAt(SECRET, NOW), NOW), false);
  assert.equal(await removeTotp(db.pool, 'ann'), 0);
});

const OTHER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

async function add(id: string, secret: string, parameters: Parameters = {}): Promise<void> {
  const { algorithm = 'SHA1', digits = 6, periodS = 30 } = parameters;
  const text = SECRETS.seal(totpText({ secret, algorithm, digits, periodS }), TOTP_PURPOSE);
  const insert = `insert into user_totp (user_id, id, secret, confirmed_at) values ('ann', $1, $2, now())`;
  await db.pool.query(insert, [id, text]);
}

test('of several apps each is right with its own parameters, and has its own last step', async () => {
  const parameters = { algorithm: 'SHA256', digits: 8, periodS: 60 } as const;
  await add('1', SECRET);
  await add('2', OTHER, parameters);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), true);
  assert.equal(await check(codeAt(OTHER, NOW, parameters), NOW), true);
  assert.equal(await check(codeAt(OTHER, NOW, parameters), NOW), false);
  assert.equal(await check(codeAt(OTHER, NOW), NOW), false, 'with the usual parameters');
  assert.equal(await check(codeAt(SECRET, NOW + STEP), NOW + STEP), true);
  const used = (await appsOf(db.pool, 'ann')).map((app) => app.lastUsedAt !== null);
  assert.deepEqual(used, [true, true]);
});

test('a code is accepted once even if two apps have the same key', async () => {
  await add('1', SECRET);
  await add('2', SECRET);
  const answers = await Promise.all(Array.from({ length: 8 }, () => check(codeAt(SECRET, NOW), NOW)));
  assert.equal(answers.filter(Boolean).length, 1);
});

test('an app whose key cannot be decrypted stands in the way of no other', async () => {
  await add('1', SECRET);
  await db.pool.query(`insert into user_totp (user_id, id, secret, confirmed_at) values ('ann', '0', 'AAAA', now())`);
  assert.equal(await check(codeAt(SECRET, NOW), NOW), true);
  await assert.rejects(check(wrongCode(SECRET, NOW), NOW));
});

test('with TOTP_WINDOW=0 a code is valid for its 30 seconds only', async () => {
  await activate();
  const code = codeAt(SECRET, NOW);
  for (const now of [NOW - 1, NOW + STEP]) assert.equal(await check(code, now, 0), false, String(now - NOW));
  assert.equal(await check(code, NOW + STEP - 1, 0), true);
});
