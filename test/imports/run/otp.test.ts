/** Imported second factors: validated, encrypted on receipt, and moved to their user unchanged. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { TOTP_PURPOSE } from '../../../src/passwords/totp-secret.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { useTotp } from '../../../src/signin/factors/totp.ts';
import {
  acceptImport,
  addOrgs,
  entry,
  errorIdOf,
  HASH,
  itemRows,
  openWriterPool,
  SECRETS,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { judge, pendingOf, problemsOf } from '../../support/imports/judge.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { codeAt } from '../../support/totp.ts';

const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const AS_COPIED = 'gezd gnbv gy3t qojq gezd gnbv gy3t qojq';
const HOUR = 3_600_000;

describe('an otpCode', () => {
  const sealedOf = (otpCode: unknown) => pendingOf(entry('ann', { otpCode })).totpSealed;

  it('is encrypted on validation, in the normal form that the login check uses', () => {
    for (const otpCode of [SECRET, AS_COPIED, `${SECRET}=`, `otpauth://totp/ACME:ann?secret=${SECRET}`]) {
      const sealed = sealedOf(otpCode) as string;
      assert.equal(SECRETS.unseal(sealed, TOTP_PURPOSE), SECRET);
      assert.ok(!JSON.stringify(pendingOf(entry('ann', { otpCode }))).includes(SECRET));
    }
    assert.notEqual(sealedOf(SECRET), sealedOf(SECRET));
  });

  it('that is absent, null or empty means no second factor', () => {
    for (const otpCode of [undefined, null, '']) assert.equal(sealedOf(otpCode), null);
  });

  it('that is not a valid secret fails its user; the error names the field and does not quote it', () => {
    for (const [otpCode, problem] of [
      [{}, 'must be a string'],
      [[], 'must be a string'],
      [123456, 'must be a string'],
      [false, 'must be a string'],
      ['123456', 'must be base32 (A to Z, 2 to 7), or an otpauth://totp/ address'],
      ['GEZDGNBV', 'must be a secret of 10 to 64 bytes'],
      [`otpauth://totp/ann?secret=${SECRET}&digits=7`, 'must be for 6 or 8 digits'],
      [`${SECRET}\0`, 'must be base32 (A to Z, 2 to 7), or an otpauth://totp/ address'],
      ['A'.repeat(100_000), 'must have at most 500 characters'],
    ] as const) {
      assert.deepEqual(problemsOf({ otpCode }), [`user.otpCode: ${problem}`]);
    }
    assert.ok(!JSON.stringify(judge(entry('ann', { otpCode: `${SECRET}!` })).item).includes(SECRET.slice(0, 8)));
  });

  it('may be in snake_case, with a plain password, a hash or neither', () => {
    const user = { ...entry('ann').user, otp_code: SECRET };
    assert.ok(pendingOf({ user }).totpSealed);
    const plain = pendingOf(entry('ann', { otpCode: SECRET, password: 'secret', hashedPassword: undefined }));
    assert.ok(plain.totpSealed && plain.passwordSealed);
    assert.ok(pendingOf(entry('ann', { otpCode: SECRET, hashedPassword: undefined })).totpSealed);
  });
});

describe('a batch with second factors', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'import_otp' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });
  const write = (importId: string, ordinals: number[]) => writeBatch(writer, importId, ordinals, { codeTtlMs: HOUR });
  const factors = async () => (await db.pool.query('select * from user_totp order by user_id')).rows;

  it('gives each user their own, active at once, and erases it from the item', async () => {
    const other = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    const importId = await acceptImport(db.pool, [
      entry('a', { otpCode: SECRET }),
      entry('b'),
      entry('c', { otpCode: other, metadata: [{ key: 'k', value: 'QQ==' }] }),
    ]);
    const kept = (await itemRows(db.pool, importId)).map((i) => i.totp_sealed);
    assert.equal(await write(importId, [0, 1, 2]), 3);
    const rows = await factors();
    assert.deepEqual(
      rows.map((r) => [r.user_id, r.secret, r.confirmed_at !== null, r.last_step]),
      [
        ['id-a', kept[0], true, null],
        ['id-c', kept[2], true, null],
      ],
    );
    assert.deepEqual(
      (await itemRows(db.pool, importId)).map((i) => i.totp_sealed),
      [null, null, null],
    );
    const deps = { pool: db.pool, secrets: SECRETS, config: { TOTP_WINDOW: 1 } };
    const check = (userId: string, code: string) => useTotp(deps, userId, code, Date.now());
    assert.equal(await check('id-a', codeAt(other)), false);
    assert.equal(await check('id-a', codeAt(SECRET)), true);
    assert.equal(await check('id-a', codeAt(SECRET)), false);
    assert.equal(await check('id-c', codeAt(other)), true);
  });

  it('keeps the secret in the item of a user with a conflict, and does not change that of the existing user', async () => {
    const first = await acceptImport(db.pool, [entry('a', { otpCode: SECRET })]);
    await write(first, [0]);
    const [before] = await factors();
    const second = await acceptImport(db.pool, [entry('a', { otpCode: 'ABCDEFGHIJKLMNOP' })]);
    await write(second, [0]);
    const [item] = await itemRows(db.pool, second);
    assert.deepEqual([item?.state, errorIdOf(item)], ['failed', 'USER-ID-TAKEN']);
    assert.equal(SECRETS.unseal(item?.totp_sealed, TOTP_PURPOSE), 'ABCDEFGHIJKLMNOP', 'kept for a retry');
    assert.deepEqual(await factors(), [before]);
  });

  it('writes none when the import does not run, and no failed item holds one', async () => {
    const importId = await acceptImport(db.pool, [
      entry('a', { otpCode: SECRET }),
      entry('b', { otpCode: SECRET, hashedPassword: { value: `${HASH}x` } }),
    ]);
    await setImport(db.pool, importId, { state: `'cancelled'` });
    await assert.rejects(write(importId, [0]), { code: 'MU001' });
    assert.deepEqual(await factors(), []);
    const [pending, failed] = await itemRows(db.pool, importId);
    assert.deepEqual([pending?.state, failed?.state, failed?.totp_sealed], ['pending', 'failed', null]);
    assert.equal(SECRETS.unseal(pending?.totp_sealed, TOTP_PURPOSE), SECRET);
  });
});
