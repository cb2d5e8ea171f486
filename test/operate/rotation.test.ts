/** Replacing the encryption key below the command line: every value, in use or not, and what still needs the old key. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, beforeEach, describe, it } from 'node:test';
import { keyUse, rotateKeys, SEALED_TABLES } from '../../src/operate/key-rotation.ts';
import { registerKeys } from '../../src/operate/known-keys.ts';
import { RECOVERY_PURPOSE } from '../../src/passwords/recovery-codes.ts';
import { openSecrets, type Secrets } from '../../src/platform/encryption.ts';
import { tripSeal } from '../../src/signin/providers/store.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { waitFor } from '../support/wait.ts';

/** Of which the item keeps the first in a column, and the second inside another one, as recovery codes. */
const APPS = [{ secret: 'JBSWY3DPEHPK3PXP' }, { secret: 'GEZDGNBVGY3TQOJQ' }];
const OLD = randomBytes(32).toString('base64');
const NEW = randomBytes(32).toString('base64');
const next = openSecrets(NEW, [OLD]);
const only = openSecrets(NEW);
const [oldId, newId] = [next.keyIds[1] as string, next.keyIds[0] as string];

describe('replacing the encryption key', () => {
  let api: TestApi;
  let orgId: string;
  beforeEach(async () => {
    await api?.stop();
    api = await startApi({ env: { ENCRYPTION_KEY: OLD, DECRYPTION_KEYS: NEW } });
    await registerKeys(api.deps.pool, openSecrets(OLD, [NEW]));
    await registerKeys(api.deps.pool, next);
    const org = await api.setupOrg();
    orgId = org.orgId;
    await api.call('POST', `/v2beta/users/${org.userId}/totp`);
    await api.deps.pool.query('insert into user_factors (user_id, recovery_sealed, recovery_left) values ($1, $2, 1)', [
      org.userId,
      openSecrets(OLD, [NEW]).seal('[]', RECOVERY_PURPOSE),
    ]);
    await api.call('PUT', '/management/v1/orgs/me/webhook_secret', {}, { orgId });
    const source = { name: 'Old', kind: 'http', settings: { url: 'https://old.example.com' } };
    await api.call('POST', '/management/v1/password_sources', source, { orgId });
    const google = { type: 'google', clientId: 'c', clientSecret: 's' };
    const { idpId } = (await api.call('POST', '/management/v1/idps', google, { orgId })).body;
    const sealed = openSecrets(OLD, [NEW]).seal('{}', tripSeal('trip'));
    await api.deps.pool.query(
      `insert into idp_round_trips (id, idp_id, purpose, state_hash, sealed, result_sealed, expires_at)
       values ('trip', $1, 'sign_in', '', $2, $2, now() + interval '10 minutes')`,
      [idpId, sealed],
    );
    const profile = { firstName: 'Ann', lastName: 'Arbor' };
    const user = (name: string) => ({
      userName: name,
      profile,
      email: { email: `${name}@a.example` },
      password: 'pw-9',
    });
    const humanUsers = [
      { user: { ...user('plain'), totps: APPS, recoveryCodes: ['ABCDE-FGHJK'] } },
      { user: { ...user('bad'), profile: {} } },
    ];
    const body = { dataOrgs: { orgs: [{ orgId, humanUsers }] }, timeout: '1h' };
    const headers = { 'password-pepper': 'c2VhIHNhbHQ=' };
    assert.equal((await api.call('POST', '/admin/v1/import', body, { headers })).status, 202);
    await uploadFile(api, await newDraft(api), 'email\nfay@acme.example\n');
  });
  after(() => api.stop());

  async function valuesOf(column: string, table: string): Promise<string[]> {
    const { rows } = await api.deps.pool.query(`select ${column} as v from ${table} where ${column} is not null`);
    return rows.map(({ v }) => v);
  }

  it('knows every column that holds encrypted values', async () => {
    const { rows } = await api.deps.pool.query<{ table: string; column: string }>(
      `select c.table_name as table, c.column_name as column from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = 'public' and c.data_type in ('text', 'jsonb') and t.table_type = 'BASE TABLE'`,
    );
    const sealed: string[] = [];
    for (const { table, column } of rows) {
      const { rowCount } = await api.deps.pool.query(`select from ${table} where ${column}::text like $1`, [
        `%${oldId}.%`,
      ]);
      if (rowCount) sealed.push(`${table}.${column}`);
    }
    const known = SEALED_TABLES.flatMap(({ name, columns }) =>
      Object.keys(columns).map((column) => `${name}.${column}`),
    );
    assert.deepEqual(sealed.sort(), known.sort());
  });

  it('encrypts every value again, after which the new key alone opens them', async () => {
    const { pool } = api.deps;
    const before = await keyUse(pool, next);
    assert.deepEqual([before.values, before.isDone], [{ [oldId]: 15 }, false]);
    const use = await rotateKeys(pool, next);
    assert.deepEqual([use.values, use.isDone], [{ [newId]: 15 }, true]);
    const [jwk] = await valuesOf('sealed_jwk', 'signing_keys');
    assert.equal(JSON.parse(only.unseal(jwk as string, 'signing-key')).alg, 'RS256');
    const [extras] = await valuesOf('extras', 'import_items');
    const { totps, recovery } = extras as unknown as { totps: { sealed: string }[]; recovery: { sealed: string } };
    assert.equal(only.unseal(totps[0]?.sealed ?? '', 'totp'), 'GEZDGNBVGY3TQOJQ');
    assert.equal(JSON.parse(only.unseal(recovery.sealed, 'recovery codes')).length, 1);
    const [password] = await valuesOf('password_sealed', 'import_items');
    assert.equal(only.unseal(password as string, 'import-password'), 'pw-9');
    await registerKeys(pool, only);
    assert.deepEqual((await rotateKeys(pool, next)).isDone, true, 'running it again changes nothing');
  });

  it('encrypts values again that name no key, of a time with one key', async () => {
    const { pool } = api.deps;
    await pool.query(`update import_items set extras = replace(extras::text, '${oldId}.', '')::jsonb`);
    for (const { name, columns, inside } of SEALED_TABLES) {
      if (inside) continue;
      for (const column of Object.keys(columns))
        await pool.query(`update ${name} set ${column} = substr(${column}, 10)`);
    }
    assert.deepEqual(
      (await keyUse(pool, openSecrets(OLD))).values,
      { [oldId]: 15 },
      'a single key is that of all values',
    );
    assert.deepEqual((await keyUse(pool, next)).values, { none: 15 });
    const use = await rotateKeys(pool, next);
    assert.deepEqual([use.values, use.isDone], [{ [newId]: 15 }, true]);
  });

  it('continues after it was killed between two batches', async () => {
    const { pool } = api.deps;
    let sealed = 0;
    const dying: Secrets = {
      ...next,
      seal(...given) {
        if (++sealed === 3) throw new Error('killed');
        return next.seal(...given);
      },
    };
    await assert.rejects(rotateKeys(pool, dying), /killed/);
    const between = await keyUse(pool, next);
    assert.deepEqual([between.values, between.isDone], [{ [oldId]: 13, [newId]: 2 }, false]);
    await assert.rejects(registerKeys(pool, only), /needs the encryption key/, 'the old key is still registered');
    assert.equal((await rotateKeys(pool, next)).isDone, true);
  });

  it('waits for a row that is in use, and keeps what its user has stored meanwhile', async () => {
    const { pool } = api.deps;
    const user = await pool.connect();
    await user.query('begin');
    await user.query('select from import_items for update');
    const rotating = rotateKeys(pool, next);
    const others = `select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%pg_stat_activity%'`;
    const seen = async () => {
      await user.query('select pg_stat_clear_snapshot()'); // else a transaction sees the same activity each time
      return (await user.query(others)).rowCount;
    };
    await waitFor(seen, { what: 'the rotation to wait' });
    const { rowCount } = await user.query(
      `update import_items set password_sealed = null where password_sealed is not null`,
    );
    assert.equal(rowCount, 1);
    await user.query('commit');
    user.release();
    const use = await rotating;
    assert.deepEqual([use.values, use.isDone], [{ [newId]: 14 }, true]);
  });

  it('is not done while a code that an earlier key made is valid, or a value cannot be decrypted', async () => {
    const { pool } = api.deps;
    const { rows } = await pool.query(
      `insert into codes (user_id, purpose, expires_at) select id, 'verify_email', now() + interval '1 hour'
       from users limit 1 returning id`,
    );
    const waiting = await rotateKeys(pool, next);
    assert.deepEqual([waiting.values, waiting.codes.count, waiting.isDone], [{ [newId]: 15 }, 1, false]);
    await pool.query(`insert into codes (user_id, purpose, expires_at) select user_id, purpose, expires_at from codes`);
    assert.equal((await keyUse(pool, next)).codes.count, 1, 'a later code is of the new key');
    await pool.query(`update codes set used_at = now() where id = $1`, [rows[0].id]);
    const stranger = openSecrets(randomBytes(32).toString('base64')).seal('x', 'import-password');
    await pool.query('update import_items set password_sealed = $1 where password_sealed is not null', [stranger]);
    assert.equal((await rotateKeys(pool, next)).isDone, false);
    await pool.query('update import_items set password_sealed = null');
    assert.equal((await rotateKeys(pool, next)).isDone, true);
  });
});
