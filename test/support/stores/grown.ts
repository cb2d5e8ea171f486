/**
 * A database whose tables have outgrown their plans: three connections, like those of the processes, use prepared
 * statements on tables of a few analyzed rows; then the tables grow without being analyzed again. This happens in the
 * first minute of the first large import on every server, because autovacuum runs once a minute.
 */
import { FACT, USUAL } from '../../../src/imports/entries/facts.ts';
import { WRITER_SESSION } from '../../../src/imports/run/write-batch.ts';
import { openPool, type Pool } from '../../../src/platform/db/pool.ts';
import { tokenHash } from '../../../src/platform/ids.ts';
import { addOrgs, HASH } from '../imports/imports.ts';
import { testDatabase } from './postgres.ts';

export const TOKEN = 'a'.repeat(40);

export interface Grown {
  /** Pools of one connection each, which stays open. */
  pools: Record<'writer' | 'worker' | 'api' | 'observer', Pool>;
  close(): Promise<void>;
}

export async function openSmall(name: string): Promise<Grown> {
  const db = await testDatabase({ name });
  const open = (settings?: Record<string, string>) => {
    const pool = openPool(db.url, { max: 1, ...(settings ? { settings } : {}) });
    pool.options.idleTimeoutMillis = 0;
    return pool;
  };
  const pools = { writer: open(WRITER_SESSION), worker: open(), api: open(), observer: open() };
  const { rows } = await pools.observer.query(`select relname from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace`);
  for (const { relname } of rows) {
    await pools.observer.query(`alter table ${relname} set (autovacuum_enabled = false)`);
  }
  await addOrgs(pools.observer, 'org');
  await pools.observer.query(
    `with u as (insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
       values ('machine', 'org', 'machine', 'active', 'machine', 'machine', 1) returning id)
     insert into personal_access_tokens (id, user_id, token_hash, sequence) select 't', id, $1, 1 from u`,
    [tokenHash(TOKEN)],
  );
  return {
    pools,
    async close() {
      for (const pool of Object.values(pools)) await pool.end();
      await db.drop();
    },
  };
}

export interface Planted {
  /** Prefix of the users' ids and names. */
  tag: string;
  users: number;
  /** SQL values that override the defaults of a running import. */
  columns?: Record<string, string>;
}

/** Adds a running import of pending users, each with a mail due, a metadata key and a link. Returns its id. */
export async function plantImport(db: Pool, { tag, users, columns = {} }: Planted): Promise<string> {
  const all = { kind: `'bulk'`, state: `'running'`, deadline: `now() + interval '1h'`, total: `${users}`, ...columns };
  const { rows } = await db.query(
    `with import_ as (
       insert into imports (created_by, resource_owner, accepted_at, ${Object.keys(all).join(', ')})
       values ('admin', 'org', now(), ${Object.values(all).join(', ')}) returning id),
     org as (insert into import_orgs (import_id, org_index, org_id, total) select id, 0, 'org', $2 from import_),
     dispatch as (insert into import_dispatch (import_id) select id from import_),
     items as (
       insert into import_items (import_id, ordinal, org_index, state, user_id, user_name, user_name_key, user_state,
         given_name, family_name, gender, email, email_key, email_verified, phone_verified, password_hash,
         password_change_required, extras, sign_in)
       select id, n - 1, 0, 'pending', $1 || n, $1 || n, $1 || n, 'active', 'Ann', 'Arbor', 0, $1 || n || '@x.org',
         $1 || n || '@x.org', false, false, $3, false,
         '{"metadata":[{"key":"k","value":"eA"}],"idps":[{"configId":"c","externalUserId":"e","displayName":"d"}]}'
           || jsonb_build_object('passkeys', jsonb_build_array(jsonb_build_object('id', encode(convert_to($1 || n, 'UTF8'), 'base64'),
             'key', 'AA==', 'count', 0, 'rpId', 'x.org', 'transports', '[]'::jsonb, 'name', '', 'passwordless', true)),
             'totps', '[{"sealed":"s","name":""}]'::jsonb, 'recovery', '{"sealed":"s","left":1}'::jsonb, 'otp', '["email"]'::jsonb),
         ${USUAL | FACT.passkey | FACT.totp | FACT.recoveryCodes | FACT.otpEmail | FACT.secondFactorLost}
       from import_, generate_series(1, $2) n)
     select id from import_`,
    [tag, users, HASH],
  );
  return rows[0].id;
}

/**
 * Adds rows to every table that imports write: users with due mails, imports of one user, and the webhooks of two
 * organizations, of which one has almost all.
 */
export async function grow(db: Pool, rows: number): Promise<void> {
  const id = await plantImport(db, { tag: 'grown', users: rows });
  await db.query(
    `with u as (insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, import_id, sequence)
       select user_id, 'org', 'human', 'active', user_name, user_name_key, email, email_key, $1, ordinal
       from import_items where import_id = $1 returning id)
     insert into codes (user_id, purpose, expires_at) select id, 'verify_email', now() + interval '1 day' from u`,
    [id],
  );
  await db.query(
    `insert into mail_outbox (kind, user_id, code_id, import_id) select purpose, user_id, id, $1 from codes`,
    [id],
  );
  await db.query(
    `insert into user_metadata (user_id, key, value) select user_id, 'k', 'x' from import_items where import_id = $1`,
    [id],
  );
  await db.query(
    `insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
     select user_id, 'c', 'e', 'd' from import_items where import_id = $1`,
    [id],
  );
  await db.query(
    `insert into user_passkeys (credential_id, user_id, public_key, rp_id)
     select convert_to(user_id, 'UTF8'), user_id, '', 'x.org' from import_items where import_id = $1`,
    [id],
  );
  await db.query('insert into user_factors (user_id) select user_id from import_items where import_id = $1', [id]);
  await db.query(`insert into user_totp (user_id, secret) select user_id, 's' from import_items where import_id = $1`, [
    id,
  ]);
  await db.query(
    `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor)
     select 'user', user_id, 'org', 'user.human.imported', 'system' from import_items where import_id = $1`,
    [id],
  );
  await db.query(
    `insert into webhook_deliveries (import_id, org_id, url, state, settled_at)
     select $1, case n when $2 then 'other' else 'org' end, 'https://x.example', state, settled
     from generate_series(1, $2) n, (values ('pending'::mail_state, null), ('sent', now())) as s (state, settled)`,
    [id, rows],
  );
  await db.query(
    `with i as (
       insert into imports (kind, state, created_by, resource_owner, total, succeeded, accepted_at, deadline, finished_at)
       select 'single', 'succeeded', 'admin', 'org', 1, 1, now(), now(), now() from generate_series(1, $1) returning id),
     o as (insert into import_orgs (import_id, org_index, org_id, total, succeeded) select id, 0, 'org', 1, 1 from i),
     d as (insert into import_dispatch (import_id, next_ordinal) select id, 1 from i)
     insert into import_items (import_id, ordinal, org_index, state) select id, 0, 0, 'succeeded' from i`,
    [rows],
  );
}
