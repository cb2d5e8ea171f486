/**
 * Authenticator apps, recovery codes, passkeys and codes by mail or text message of imported users: read, encrypted,
 * written with their user, and refused where another user has the same passkey.
 */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { batchStore, specialStores } from '../../../src/imports/run/stores.ts';
import { RECOVERY_PURPOSE } from '../../../src/passwords/recovery-codes.ts';
import { TOTP_PURPOSE } from '../../../src/passwords/totp-secret.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { importFirst, SETTINGS, special } from '../../support/imports/existing.ts';
import { factorsOf } from '../../support/imports/factors.ts';
import {
  acceptImport,
  addOrgs,
  entry,
  errorIdOf,
  itemRows,
  openWriterPool,
  type Row,
  SECRETS,
  wipe,
  writerWaits,
} from '../../support/imports/imports.ts';
import { problemsOf } from '../../support/imports/judge.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const OTHER = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const CODES = ['ABCDE-FGHJK', 'LMNPQ-RSTUV'];
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const idOf = (name: string) => createHash('sha256').update(name).digest('base64url');
const passkey = (name: string, more: object = {}) => ({
  credentialId: idOf(name),
  publicKey: PEM,
  rpId: 'auth.example.com',
  ...more,
});
const withPasskey = (name: string, of = name) => entry(name, { passkeys: [passkey(of)] });

describe('the factors of an entry', () => {
  it('fail their user where they could not be used, by the field', () => {
    const key = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' });
    for (const [user, problem] of [
      [{ totps: [{ secret: 'A' }] }, 'user.totps[0].secret: must be a secret of 10 to 64 bytes'],
      [{ totps: [{}] }, 'user.totps[0].secret: is required'],
      [{ totps: [{ secret: SECRET, digits: 7 }] }, 'user.totps[0].secret: must be for 6 or 8 digits'],
      [
        { totps: [{ secret: SECRET, algorithm: 'MD5' }] },
        'user.totps[0].secret: must be for the algorithm SHA1, SHA256 or SHA512',
      ],
      [{ totps: Array(11).fill({ secret: SECRET }) }, 'user.totps: must have at most 10 elements'],
      [
        { otpCode: OTHER, totps: Array(10).fill({ secret: SECRET }) },
        'user.totps: must have at most 9 elements beside otpCode',
      ],
      [{ recoveryCodes: ['123456'] }, /^user\.recoveryCodes: the code at index 0 can be guessed/],
      [{ recoveryCodes: [{ hash: 'x', scheme: 'rot13' }] }, /^user\.recoveryCodes\[0\]: must be a code of at most/],
      [{ recoveryCodes: Array(31).fill(CODES[0]) }, 'user.recoveryCodes: must have at most 30 elements'],
      [{ passkeys: [passkey('a', { publicKey: 'AAAA' })] }, /^user\.passkeys\[0\]\.publicKey: must be a COSE key/],
      [{ passkeys: [passkey('a', { publicKey: key })] }, /^user\.passkeys\[0\]\.publicKey: must be for ES256/],
      [{ passkeys: [passkey('a', { credentialId: '?' })] }, /^user\.passkeys\[0\]\.credentialId: must be 1 to 1023/],
      [
        { passkeys: [passkey('a', { rpId: 'https://a.b' })] },
        'user.passkeys[0].rpId: must be a domain name such as example.com',
      ],
      [{ passkeys: [passkey('a'), passkey('a')] }, 'user.passkeys[1].credentialId: is given twice'],
      [{ otpEmail: 'yes' }, 'user.otpEmail: must be true or false'],
    ] as const) {
      const problems = problemsOf(user);
      assert.equal(problems.length, 1, problems.join('\n'));
      if (typeof problem === 'string') assert.equal(problems[0], problem);
      else assert.match(problems[0] as string, problem);
      assert.ok(!problems[0]?.includes(SECRET) && !problems[0]?.includes(CODES[0] as string));
    }
  });

  it('may be written in other spellings, and unknown fields in them are named', () => {
    const totps = [{ secret: `otpauth://totp/Acme:ann?secret=${SECRET}&algorithm=SHA256&digits=8&period=60` }];
    assert.deepEqual(problemsOf({ totps, recovery_codes: CODES, otp_email: true }), []);
    assert.deepEqual(problemsOf({ passkeys: [{ credential_id: idOf('a'), public_key: PEM, rp_id: 'A.example' }] }), []);
  });
});

describe('imported factors', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'import_factors' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const first = (...people: unknown[]) => importFirst(db.pool, writer, people);
  const write = (importId: string, ordinals: number[]) => batchStore(writer, SETTINGS).write(importId, ordinals);
  async function imported(people: unknown[], how: 'fail' | 'skip' | 'update' | 'dry' = 'fail'): Promise<string> {
    const options = how === 'fail' ? {} : { special: special(how === 'dry' ? 'fail' : how, how === 'dry') };
    const importId = await acceptImport(db.pool, people, options);
    const store = how === 'fail' ? batchStore(writer, SETTINGS) : specialStores(writer, SETTINGS)[how];
    await store.write(importId, [...people.keys()]);
    return importId;
  }
  const outcomes = async (importId: string) =>
    (await itemRows(db.pool, importId)).map((i: Row) => errorIdOf(i) ?? i.changed ?? i.state);
  const of = (userId: string) => factorsOf(db.pool, userId);

  it('are written with their user, and leave nothing in the item', async () => {
    const importId = await imported([
      entry('ann', {
        otpCode: SECRET,
        totps: [
          { secret: OTHER, algorithm: 'sha256', digits: '8', period: 60, name: 'Work' },
          { secret: SECRET, name: 'Phone' },
        ],
        recoveryCodes: CODES,
        passkeys: [
          passkey('a', { signCount: 7, userHandle: 'YW5u', transports: ['usb'], name: 'Key', backedUp: true }),
          passkey('b', { secondFactorOnly: true }),
        ],
        otpEmail: true,
        phone: { phone: '+41791112233', isPhoneVerified: true },
        otpSms: true,
      }),
      entry('ben'),
      { ...entry('cat'), oldSignIn: { lost: ['secondFactor'] } },
      { ...entry('dan', { otpCode: SECRET }), oldSignIn: { lost: ['secondFactor'] } },
    ]);
    assert.deepEqual(await outcomes(importId), Array(4).fill('succeeded'));
    const ann = await of('id-ann');
    const keys = ann.totps.map(({ id, name, secret }) => [id, name, SECRETS.unseal(secret, TOTP_PURPOSE)]);
    const work = `otpauth://totp/?secret=${OTHER}&algorithm=SHA256&digits=8&period=60`;
    assert.deepEqual(keys, [['1', 'Phone', SECRET], ['2', 'Work', work]]); // biome-ignore format: rows
    assert.deepEqual([ann.otpEmail, ann.otpSms, ann.lostAt, ann.recoveryLeft], [true, true, null, 2]);
    const codes = SECRETS.unseal(ann.recoverySealed as string, RECOVERY_PURPOSE);
    assert.ok(!codes.includes('FGHJK') && JSON.parse(codes).length === 2);
    assert.deepEqual(
      ann.passkeys.map(({ publicKey: _, ...rest }) => rest),
      [
        {
          credentialId: idOf('a'),
          signCount: '7',
          rpId: 'auth.example.com',
          userHandle: 'YW5u',
          transports: ['usb'],
          name: 'Key',
          backedUp: true,
          passwordless: true,
        },
        {
          credentialId: idOf('b'),
          signCount: '0',
          rpId: 'auth.example.com',
          userHandle: null,
          transports: [],
          name: '',
          backedUp: null,
          passwordless: false,
        },
      ].sort((x, y) => (Buffer.from(x.credentialId, 'base64url') < Buffer.from(y.credentialId, 'base64url') ? -1 : 1)),
    );
    assert.deepEqual((await of('id-ben')).row, undefined);
    assert.ok((await of('id-cat')).lostAt instanceof Date);
    assert.equal((await of('id-dan')).row, undefined);
    for (const { totp_sealed, extras } of await itemRows(db.pool, importId)) {
      assert.deepEqual([totp_sealed, extras], [null, null]);
    }
  });

  it('fail a user whose passkey another user of the instance has', async () => {
    await first(withPasskey('ann'));
    for (const how of ['fail', 'skip', 'update', 'dry'] as const) {
      const importId = await imported([withPasskey('new', 'ann'), withPasskey(`own-${how}`)], how);
      assert.deepEqual(await outcomes(importId), ['PASSKEY-TAKEN', 'succeeded'], how);
    }
    assert.deepEqual(await outcomes(await imported([withPasskey('ann')])), ['USER-ID-TAKEN']);
    assert.deepEqual(await outcomes(await imported([withPasskey('ann')], 'skip')), ['skipped']);
    assert.deepEqual(await outcomes(await imported([withPasskey('ann')], 'update')), ['skipped']);
    const taken = { ...withPasskey('ann'), userId: 'other' };
    assert.deepEqual(await outcomes(await imported([taken])), ['USER-NAME-TAKEN']);
    assert.deepEqual(await outcomes(await imported([taken], 'dry')), ['USER-NAME-TAKEN']);
  });

  it('fail the later of two users of one body with one passkey, in the dry run too', async () => {
    for (const how of ['dry', 'fail', 'skip', 'update'] as const) {
      await wipe(db.pool);
      await db.pool.query('delete from user_passkeys');
      const people = [withPasskey('ann'), withPasskey('ben', 'ann'), withPasskey('cat')];
      const importId = await imported(people, how);
      assert.deepEqual(await outcomes(importId), ['succeeded', 'PASSKEY-TAKEN', 'succeeded'], how);
    }
  });

  it('are told apart in two batches that run at the same time: one of the two users fails', async () => {
    const people = [withPasskey('ann'), entry('between')];
    const others = [withPasskey('ben', 'ann'), entry('beside')];
    const [one, two] = [await acceptImport(db.pool, people), await acceptImport(db.pool, others)];
    const held = await db.pool.connect();
    try {
      await held.query('begin; select from imports where id = $1 for update'.replace('$1', `'${one}'`));
      const writing = write(one, [0, 1]);
      await waitFor(() => writerWaits(db.pool), { what: 'the first batch to wait for its import' });
      // The first batch has written its passkey and waits for its import; the second one waits for the passkey.
      const second = write(two, [0, 1]);
      await waitFor(async () => (await waiting(db.pool)) === 2, { what: 'the second batch to wait for the passkey' });
      await held.query('commit');
      await Promise.all([writing, second]);
    } finally {
      held.release();
    }
    assert.deepEqual(await outcomes(one), ['succeeded', 'succeeded']);
    assert.deepEqual(await outcomes(two), ['PASSKEY-TAKEN', 'succeeded']);
  });

  it('of a retry succeed when the other user is gone', async () => {
    await first(withPasskey('ann'));
    const importId = await imported([withPasskey('ben', 'ann')]);
    await db.pool.query(`delete from users where id = 'id-ann'`);
    await db.pool.query(`update import_items set state = 'pending', error = null where import_id = $1`, [importId]);
    await db.pool.query(`update imports set state = 'running', failed = 0 where id = $1`, [importId]);
    await db.pool.query('update import_orgs set failed = 0 where import_id = $1', [importId]);
    await write(importId, [0]);
    assert.deepEqual(await outcomes(importId), ['succeeded']);
    assert.equal((await of('id-ben')).passkeys.length, 1);
  });

  it('are added to existing users who have none, and used recovery codes do not come back', async () => {
    await first({ ...entry('ann'), oldSignIn: { lost: ['secondFactor'] } });
    const full = entry('ann', {
      otpCode: SECRET,
      totps: [{ secret: OTHER }],
      recoveryCodes: CODES,
      passkeys: [passkey('a')],
      otpEmail: true,
      otpSms: true,
    });
    const changed = ['otpCode', 'totps', 'recoveryCodes', 'otpEmail', 'otpSms', 'passkeys'];
    assert.deepEqual(await outcomes(await imported([full], 'update')), [changed]);
    const ann = await of('id-ann');
    assert.deepEqual([ann.totps.length, ann.recoveryLeft, ann.passkeys.length], [2, 2, 1]);
    assert.deepEqual([ann.otpEmail, ann.otpSms, ann.lostAt], [true, true, null]);
    assert.deepEqual(await outcomes(await imported([full], 'update')), ['skipped']);
    await db.pool.query(`update user_factors set recovery_left = 0 where user_id = 'id-ann'`);
    const { passkeys: _, ...rest } = full.user;
    const again = { ...full, user: { ...rest, passkeys: [passkey('a'), passkey('b')] } };
    assert.deepEqual(await outcomes(await imported([again], 'update')), [['passkeys']]);
    assert.equal((await of('id-ann')).recoveryLeft, 0);
  });

  it('are added to an existing user who has only begun to set up an app', async () => {
    await first(entry('ann'));
    for (const id of ['1', '2']) {
      await db.pool.query('delete from user_totp');
      await db.pool.query(`insert into user_totp (user_id, id, secret) values ('id-ann', $1, 'begun')`, [id]);
      const full = entry('ann', { otpCode: SECRET, totps: [{ secret: OTHER }] });
      assert.deepEqual(await outcomes(await imported([full], 'update')), [['otpCode', 'totps']]);
      const { rows } = await db.pool.query('select id, confirmed_at is not null as active from user_totp order by id');
      assert.deepEqual(rows, [{ id: '1', active: true }, { id: '2', active: true }]); // biome-ignore format: rows
      assert.ok((await of('id-ann')).totps.every(({ secret }) => secret !== 'begun'));
    }
  });

  it('are told to existing users who have signed in, at the address that they had', async () => {
    await first(entry('ann', { email: { email: 'ann@example.com' } }), entry('ben'));
    await db.pool.query(`update users set last_login_at = now() where id = 'id-ann'`);
    const more = { otpCode: SECRET, totps: [{ secret: OTHER }], recoveryCodes: CODES };
    const moved = entry('ann', { email: { email: 'thief@example.com' }, ...more, passkeys: [passkey('a')] });
    await imported([moved, withPasskey('ben', 'b')], 'update');
    const { rows } = await db.pool.query(
      `select user_id, kind, address from mail_outbox where kind in ('factor_added', 'recovery_codes_made', 'passkey_added')
       order by kind::text`,
    );
    const told = (kind: string) => ({ user_id: 'id-ann', kind, address: 'ann@example.com' });
    assert.deepEqual(rows, ['factor_added', 'passkey_added', 'recovery_codes_made'].map(told));
  });

  it('are never added to a user with more rights than the caller', async () => {
    await first(entry('boss'), entry('caller'));
    await db.pool.query(`insert into instance_members (user_id, roles, sequence) values ('id-boss', '{IAM_OWNER}', 1)`);
    await db.pool.query(
      `insert into org_members (org_id, user_id, roles, sequence) values ('org', 'id-caller', '{ORG_OWNER}', 1)`,
    );
    const orgRoles = new Map([['org', ['ORG_OWNER']]]);
    const caller = { userId: 'id-caller', orgId: 'org', isIamOwner: false, orgRoles };
    const phone = { phone: '+41791112233', isPhoneVerified: true };
    for (const more of [
      { passkeys: [passkey('thief')] },
      { passkeys: [passkey('thief', { secondFactorOnly: true })] },
      { otpCode: SECRET },
      { totps: [{ secret: SECRET }] },
      { recoveryCodes: CODES },
      { otpEmail: true },
      { otpSms: true, phone },
    ]) {
      for (const person of [entry('boss', more), { ...entry('boss', more), userId: undefined }]) {
        const importId = await acceptImport(db.pool, [person], { special: special('update'), caller });
        await specialStores(writer, SETTINGS).update.write(importId, [0]);
        assert.deepEqual(await outcomes(importId), ['AUTH-PERMISSION'], JSON.stringify(more));
      }
    }
    const boss = await of('id-boss');
    assert.deepEqual([boss.totps, boss.passkeys, boss.row], [[], [], undefined]);
  });

  it('say of an existing user without a factor that one was lost', async () => {
    await first(entry('ann'), entry('ben', { otpCode: SECRET }));
    const lost = (name: string) => ({ ...entry(name), oldSignIn: { lost: ['secondFactor'] } });
    const importId = await imported([lost('ann'), lost('ben')], 'update');
    assert.deepEqual(await outcomes(importId), [['oldSignIn.lost'], 'skipped']);
    assert.ok((await of('id-ann')).lostAt instanceof Date);
  });

  it('of two users of one batch that get the same passkey, the second fails', async () => {
    await first(entry('ann'), entry('ben'));
    const importId = await acceptImport(db.pool, [withPasskey('ann'), withPasskey('ben')], {
      special: special('update'),
    });
    // As after a correction.
    await db.pool.query(
      `update import_items i set extras = f.extras from import_items f
       where i.import_id = $1 and f.import_id = $1 and i.ordinal = 1 and f.ordinal = 0`,
      [importId],
    );
    await specialStores(writer, SETTINGS).update.write(importId, [0, 1]);
    assert.deepEqual(await outcomes(importId), [['passkeys'], 'PASSKEY-TAKEN']);
  });
});

async function waiting(pool: Pool): Promise<number> {
  const { rows } = await pool.query(
    `select count(*)::int as n from pg_stat_activity
     where application_name = 'test-writer' and wait_event_type = 'Lock' and datname = current_database()`,
  );
  return rows[0].n;
}
