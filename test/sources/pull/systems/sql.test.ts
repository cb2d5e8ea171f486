/** Users from PostgreSQL, MySQL and MariaDB by a query, and from Supabase's tables. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { createConnection } from 'mysql2/promise';
import { recordConverter } from '../../../../src/sources/convert.ts';
import { sql } from '../../../../src/sources/pull/systems/sql.ts';
import { supabase } from '../../../../src/sources/pull/systems/supabase.ts';
import { supabase as source } from '../../../../src/sources/systems/supabase.ts';
import { readAll } from '../../../support/pull/read.ts';
import { startMariadb } from '../../../support/pull/servers.ts';
import { requireOrSkip } from '../../../support/runner/programs.ts';
import { testDatabase } from '../../../support/stores/postgres.ts';

async function oldDatabase(t: TestContext, statements: string) {
  const { url, pool, drop } = await testDatabase(t);
  t.after(drop);
  await pool.query(statements);
  const address = new URL(url);
  const password = decodeURIComponent(address.password);
  address.password = '';
  return { pool, database: address.href, secrets: { password } };
}

const PEOPLE = `create schema old;
  create table old.people (id bigint primary key, mail text, born date, seen timestamptz, updated_at timestamptz);
  insert into old.people select n, 'p' || n || '@example.com', '1990-01-31', '2026-01-01 10:00:00.5+00',
    '2026-01-01'::timestamptz + n * interval '1 day' from generate_series(1, 11) n;`;

test('a query in PostgreSQL: pages in the order of its key, as text where JavaScript would lose something', async (t) => {
  const { database, secrets, pool } = await oldDatabase(t, PEOPLE);
  const options = {
    database,
    schema: 'old',
    query: 'select * from people where updated_at >= :since;',
    'page-size': '4',
  };
  const { pages, records, identity } = await readAll(sql, { options, secrets });
  assert.deepEqual(
    pages.map(({ records, cursor }) => [records.length, cursor]),
    [
      [4, '"4"'],
      [4, '"8"'],
      [3, '"11"'],
    ],
  );
  const [first] = records;
  assert.deepEqual(
    [first?.id, first?.born, String(first?.seen).slice(0, 21)],
    ['1', '1990-01-31', '2026-01-01 10:00:00.5'],
  );
  assert.ok(!identity.includes(secrets.password));

  // After an interruption: rows that came in between move no others.
  await pool.query("insert into old.people values (0, 'p0@example.com', null, null, now())");
  const rest = await readAll(sql, { options, secrets, cursor: '"8"' });
  assert.deepEqual(
    rest.records.map(({ id }) => id),
    ['9', '10', '11'],
  );
  const changed = await readAll(sql, { options, secrets, since: '2026-01-11T00:00:00.000Z' });
  assert.deepEqual(
    changed.records.map(({ id }) => id),
    ['0', '10', '11'],
  );
});

test('numbers in JSON of PostgreSQL keep their digits', async (t) => {
  const { database, secrets } = await oldDatabase(
    t,
    `create schema old;
     create table old.people (id int primary key, a json, b jsonb, c json[], d jsonb[]);
     insert into old.people values (1, '{"n":9007199254740993}', '{"n":9007199254740993,"m":1.5}',
       array['{"n":1145148919810123457}', null]::json[], array['[9007199254740993]']::jsonb[])`,
  );
  const { records } = await readAll(sql, {
    options: { database, schema: 'old', query: 'select * from people' },
    secrets,
  });
  const [{ a, b, c, d } = {}] = records;
  assert.deepEqual(
    { a, b, c, d },
    {
      a: { n: '9007199254740993' },
      b: { n: '9007199254740993', m: 1.5 },
      c: [{ n: '1145148919810123457' }, null],
      d: [['9007199254740993']],
    },
  );
});

test('a query that cannot be read page by page, or that would write, is refused', async (t) => {
  const { database, secrets, pool } = await oldDatabase(t, PEOPLE);
  const read = (query: string, more: object = {}, since?: string) =>
    readAll(sql, { options: { database, schema: 'old', query, ...more }, secrets, since });
  await assert.rejects(read('select * from people', { key: 'name' }), /column .*name.* does not exist/);
  await assert.rejects(
    read('select id, mail from people union all select id, mail from people'),
    /Several rows have the same value/,
  );
  await assert.rejects(read('select nullif(id, 3) as id from people'), /has no value in the column "id"/);
  await assert.rejects(read('select * from people', {}, '2026-01-01T00:00:00.000Z'), /no place for the time/);
  await assert.rejects(read('with gone as (delete from people returning *) select * from gone'), /WITH|read-only/);
  await assert.rejects(
    read('select * from people) as x; commit; drop table people; select * from (select 1 as id'),
    /multiple commands|syntax/,
  );
  assert.equal((await pool.query('select from old.people')).rowCount, 11);
  for (const url of ['postgres://a:secret@127.0.0.1/x', 'oracle://a@b/c', 'nonsense'])
    await assert.rejects(read('select 1', { database: url }), (error: Error) => {
      assert.match(error.message, /contains a password|must be a URL/);
      return !error.message.includes('secret');
    });
  for (const tls of ['ssl=1', 'ssl=TRUE', 'sslmode=require', 'ssl-mode=REQUIRED', 'ssl=true&ssl=yes']) {
    const url = `mysql://reader@127.0.0.1:1/shop?${tls}`;
    await assert.rejects(read('select 1', { database: url }), /ssl=true or ssl=false/, tls);
  }
});

test('MariaDB', async (t) => {
  if (!requireOrSkip(t, 'mariadb')) return;
  const server = await startMariadb();
  t.after(server.stop);
  const connection = await createConnection({ uri: server.url, multipleStatements: true });
  await connection.query(`create database shop; use shop;
    create table users (id int primary key, login varbinary(40), meta json, updated_at datetime);
    insert into users values (1, 'ann', '{"a":1}', '2026-01-01 10:00:00'), (2, 'bob', null, '2026-02-01 10:00:00'),
      (10, 'cem', null, '2026-03-01 10:00:00');
    create user reader identified by 'old secret'; grant select on shop.* to reader`);
  await connection.end();
  const database = `mysql://reader@127.0.0.1:${server.port}/shop`;
  const options = { database, query: 'select * from users where updated_at >= :since', 'page-size': '2' };
  const secrets = { password: 'old secret' };
  const { pages, records } = await readAll(sql, { options, secrets });
  assert.deepEqual(
    pages.map(({ cursor }) => cursor),
    ['2', '10'],
  );
  assert.deepEqual(records.map(({ login, updated_at }) => [login, updated_at])[0], ['ann', '2026-01-01 10:00:00']);
  const changed = await readAll(sql, { options, secrets, since: '2026-02-01T10:00:00.000Z' });
  assert.deepEqual(
    changed.records.map(({ id }) => id),
    [2, 10],
  );
  assert.deepEqual(
    (await readAll(sql, { options, secrets, cursor: '2' })).records.map(({ id }) => id),
    [10],
  );
  await assert.rejects(readAll(sql, { options }), { name: 'PullError', trouble: 'denied' });
  const away = { ...options, database: 'mysql://reader@127.0.0.1:1/shop' };
  await assert.rejects(readAll(sql, { options: away, secrets }), { name: 'PullError', trouble: 'unreachable' });
});

const SUPABASE = `create schema auth;
  create table auth.users (id uuid primary key, email text, encrypted_password text, email_confirmed_at timestamptz,
    raw_app_meta_data jsonb, raw_user_meta_data jsonb, banned_until timestamptz, is_sso_user boolean default false,
    is_anonymous boolean default false, deleted_at timestamptz, updated_at timestamptz);
  create table auth.identities (id uuid primary key, user_id uuid, provider text, provider_id text, identity_data jsonb,
    updated_at timestamptz);
  create table auth.sessions (id uuid primary key, user_id uuid);
  create table auth.mfa_amr_claims (session_id uuid, created_at timestamptz, authentication_method text);
  create table auth.mfa_factors (id uuid primary key, user_id uuid, status text, factor_type text, secret text,
    updated_at timestamptz);
  insert into auth.users select ('00000000-0000-4000-8000-00000000000' || n)::uuid, 's' || n || '@example.com',
    '$2a$04$9vWpNCdy8s6A4f6dGKf0kObCK.r6uuK6VNq.Qqh62OG1jc5nkdhsO', '2026-01-01', '{"provider":"email"}',
    '{"first_name":"Ann","last_name":"Archer"}', null, false, false, null, '2026-01-01' from generate_series(1, 3) n;
  insert into auth.identities values (gen_random_uuid(), '00000000-0000-4000-8000-000000000002', 'google', 'g-2',
    '{"sub":"g-2","email":"s2@example.com"}', '2026-03-01');
  insert into auth.sessions values ('00000000-0000-4000-8000-0000000000aa', '00000000-0000-4000-8000-000000000003');
  insert into auth.mfa_amr_claims values ('00000000-0000-4000-8000-0000000000aa', '2026-02-02', 'password')`;

test("Supabase's tables: hashes, identities, and what changed", async (t) => {
  const { database, secrets } = await oldDatabase(t, SUPABASE);
  const { records } = await readAll(supabase, { options: { database, 'page-size': '2' }, secrets });
  const convert = recordConverter({ source, orgId: 'shop', options: {} });
  const users = records.map((record) => convert(record).entry);
  assert.deepEqual(
    users.map((user) => user?.userId?.at(-1)),
    ['1', '2', '3'],
  );
  assert.match(users[0]?.user.hashedPassword?.value ?? '', /^\$2a\$04\$/);
  assert.equal(users[0]?.user.email.isEmailVerified, true);
  assert.equal(users[1]?.user.idps?.[0]?.externalUserId, 'g-2');
  assert.equal(users[0]?.oldSignIn?.password, 'perhaps');
  assert.equal(users[2]?.oldSignIn, undefined);
  const since = '2026-02-01T00:00:00.000Z';
  const changed = await readAll(supabase, { options: { database }, secrets, since });
  assert.deepEqual(
    changed.records.map(({ email }) => email),
    ['s2@example.com'],
  );
});

const SUPABASE_2026 = `
  create table auth.webauthn_credentials (id uuid primary key, user_id uuid, credential_id bytea, public_key bytea,
    sign_count bigint, transports jsonb, backed_up boolean, friendly_name text, updated_at timestamptz);
  create table auth.mfa_recovery_code_sets (id uuid primary key, user_id uuid, updated_at timestamptz);
  create table auth.mfa_recovery_codes (id uuid primary key, mfa_recovery_code_set_id uuid, code_hash text,
    consumed_at timestamptz);
  insert into auth.webauthn_credentials values (gen_random_uuid(), '00000000-0000-4000-8000-000000000003', '\\x010203',
    '\\xa5010203262001215820ab041201ad377e6420f6ca20a1886b75434928e93e5511fc23a7673aad6f1ed1225820d6da9bc94034603a7f57d156683431468ab59503f810db3a42c91fe9a2b0c33e',
    5, '["usb"]', true, 'Key', '2026-05-01');
  insert into auth.mfa_recovery_code_sets values ('00000000-0000-4000-8000-0000000000bb',
    '00000000-0000-4000-8000-000000000001', '2026-01-01');
  insert into auth.mfa_recovery_codes select gen_random_uuid(), '00000000-0000-4000-8000-0000000000bb',
    '$argon2id$v=19$m=19456,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY', used
    from (values (null::timestamptz), ('2026-01-01')) as codes (used)`;

test("Supabase's tables of passkeys and recovery codes are read where they are", async (t) => {
  const { database, secrets } = await oldDatabase(t, `${SUPABASE}; ${SUPABASE_2026}`);
  const { records } = await readAll(supabase, { options: { database }, secrets });
  const convert = recordConverter({ source, orgId: 'shop', options: { passkeyRpId: 'auth.example.com' } });
  const users = records.map((record) => convert(record).entry?.user);
  assert.equal(users[0]?.recoveryCodes?.length, 1);
  const [passkey] = users[2]?.passkeys ?? [];
  assert.deepEqual([passkey?.credentialId, passkey?.signCount, passkey?.name], ['AQID', 5, 'Key']);
  const changed = await readAll(supabase, { options: { database }, secrets, since: '2026-04-01T00:00:00.000Z' });
  assert.deepEqual(
    changed.records.map(({ email }) => email),
    ['s3@example.com'],
  );
});
