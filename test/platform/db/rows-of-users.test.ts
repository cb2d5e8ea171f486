/** The rows of a user: none is added for a user who does not exist, and none remains when the user is deleted. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { hold, waiters } from '../../support/stores/locks.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

/** For each table whose rows belong to a user: what `insert into` it needs; `$1` is the user. */
const ROWS: Record<string, string> = {
  codes: `(user_id, purpose, expires_at) values ($1, 'initialise', now())`,
  first_sign_ins: `(user_id, import_id, way) values ($1, 1, 'password')`,
  instance_members: `(user_id, roles, sequence) values ($1, '{IAM_OWNER}', 1)`,
  login_networks: `(user_id, network) values ($1, 1)`,
  machine_keys: `(id, user_id, public_jwk, sequence) values ('k' || $1, $1, '{}', 1)`,
  mail_counts: `(user_id, requester, mails) values ($1, 'user', 1)`,
  mail_outbox: `(user_id, kind) values ($1, 'initialise')`,
  oauth_models: `(id_hash, kind, user_id, payload, expires_at) values (convert_to($1, 'UTF8'), 'Session', $1, '{}', now())`,
  org_members: `(org_id, user_id, roles, sequence) values ('org', $1, '{ORG_OWNER}', 1)`,
  personal_access_tokens: `(id, user_id, token_hash, sequence) values ('t' || $1, $1, convert_to($1, 'UTF8'), 1)`,
  sessions: `(id, user_id, token_hash, sequence) values ('s' || $1, $1, convert_to($1, 'UTF8'), 1)`,
  user_factors: `(user_id, otp_email) values ($1, true)`,
  user_idp_links: `(user_id, idp_id, external_user_id, display_name) values ($1, 'i', 'x', 'X')`,
  user_metadata: `(user_id, key, value) values ($1, 'k', 'v')`,
  user_passkeys: `(credential_id, user_id, public_key, rp_id) values (convert_to($1, 'UTF8'), $1, '', 'localhost')`,
  user_totp: `(user_id, secret) values ($1, 's')`,
  webauthn_challenges: `(challenge_hash, purpose, holder, user_id, expires_at) values (convert_to($1, 'UTF8'), 'add', '', $1, now())`,
};
/** Tables that name users, also deleted ones. */
const NAME_ONLY = ['audit_events', 'erasures', 'import_items'];
const NO_USER = '23503';

describe('the rows of users', () => {
  let db: TestDatabase;
  let pool: Pool;
  before(async () => {
    db = await testDatabase();
    pool = db.pool;
    await pool.query(`insert into organizations (id, name, primary_domain, sequence) values ('org', 'Org', 'org', 1)`);
  });
  beforeEach(() => pool.query('delete from users'));
  after(() => db.drop());

  const addUsers = (...ids: string[]) =>
    pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
       select id, 'org', 'human', 'active', id, id, 1 from unnest($1::text[]) id`,
      [ids],
    );
  const remove = (...ids: string[]) => pool.query('delete from users where id = any($1)', [ids]);
  const add = (table: string, userId: string) => pool.query(`insert into ${table} ${ROWS[table]}`, [userId]);
  const usersIn = async (table: string): Promise<string[]> =>
    (await pool.query(`select user_id as id from ${table} order by 1`)).rows.map(({ id }) => id);

  it('lock their user, unless the same transaction wrote the user', async () => {
    const isLocked = async () => (await pool.query(`select xmax::text <> '0' as yes from users`)).rows[0].yes;
    await pool.query(
      `with new as (
         insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
         values ('own', 'org', 'human', 'active', 'own', 'own', 1) returning id)
       insert into user_metadata (user_id, key, value) select id, 'k', 'v' from new`,
    );
    assert.equal(await isLocked(), false);
    await pool.query(`insert into user_metadata (user_id, key, value) values ('own', 'other', 'v')`);
    assert.equal(await isLocked(), true);
  });

  it('are in these tables', async () => {
    const { rows } = await pool.query(
      `select table_name as name from information_schema.columns join information_schema.tables t using (table_schema, table_name)
       where table_schema = 'public' and t.table_type = 'BASE TABLE' and column_name = 'user_id' order by 1`,
    );
    const names = rows.map(({ name }) => name);
    assert.deepEqual(names, [...Object.keys(ROWS), ...NAME_ONLY].sort());
  });

  for (const table of Object.keys(ROWS)) {
    it(`${table}: belong to a user who exists, and go with the user`, async () => {
      await addUsers('ann', 'bea', 'cleo');
      for (const id of ['ann', 'bea', 'cleo']) await add(table, id);
      const refused = { code: NO_USER, table, constraint: `${table}_user_id_fkey` };
      await assert.rejects(add(table, 'nobody'), refused);
      await assert.rejects(pool.query(`update ${table} set user_id = 'nobody' where user_id = 'ann'`), refused);
      await remove('ann', 'cleo');
      assert.deepEqual(await usersIn(table), ['bea']);
    });

    it(`${table}: added while the user is being deleted are refused`, async () => {
      await addUsers('ann');
      const deletion = await hold(pool, `delete from users where id = 'ann'`);
      const adding = add(table, 'ann').catch((error) => error.code);
      await waiters(pool, 1);
      await deletion.commit();
      assert.equal(await adding, NO_USER);
      assert.deepEqual(await usersIn(table), []);
    });

    it(`${table}: added before the user is deleted make the deletion wait, and go with the user`, async () => {
      await addUsers('ann');
      const adding = await hold(pool, `insert into ${table} ${ROWS[table]?.replaceAll('$1', `'ann'`)}`);
      const deletion = remove('ann');
      await waiters(pool, 1);
      await adding.commit();
      await deletion;
      assert.deepEqual(await usersIn(table), []);
    });
  }

  it('may be added in the statement that adds their users', async () => {
    await pool.query(
      `with ids as (select 'u' || n as id from generate_series(1, 3) n),
         added as (insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
           select id, 'org', 'human', 'active', id, id, 1 from ids)
       insert into user_metadata (user_id, key, value) select id, 'k', 'v' from ids`,
    );
    assert.deepEqual(await usersIn('user_metadata'), ['u1', 'u2', 'u3']);
  });

  it('get a user later only if the user exists', async () => {
    await addUsers('ann');
    await pool.query(
      `insert into oauth_models (id_hash, kind, payload, expires_at) values ('d', 'DeviceCode', '{}', now())`,
    );
    const give = (id: string) => pool.query(`update oauth_models set user_id = $1 where id_hash = 'd'`, [id]);
    await assert.rejects(give('nobody'), { code: NO_USER });
    await give('ann');
    await remove('ann');
    assert.deepEqual(await usersIn('oauth_models'), []);
  });
});
