/**
 * Fills the table of users without importing them: 20 million in some minutes.
 *
 * Names are spread like those of `load.ts`, ids ascend. A twentieth of all users are in one organization; the others
 * are in organizations of very different sizes. One in a thousand is inactive, one in a thousand locked.
 * Guarantee: the table has its indexes, and is vacuumed and analyzed.
 */
import type pg from 'pg';
import type { Pool } from '../../src/platform/db/pool.ts';

/** Rows of one statement. */
const SLICE = 500_000;
/** Every so many-th user is in the largest organization. */
const LARGEST_EVERY = 20;

export const LARGEST = 'planted-0';

export interface Planted {
  orgIds: string[];
  /** Bytes of the table and of all its indexes. */
  tableBytes: number;
  indexBytes: number;
}

/** @param say is told after each part */
export async function plantUsers(
  pool: Pool,
  users: number,
  orgs: number,
  say: (line: string) => void,
): Promise<Planted> {
  const client = await pool.connect();
  try {
    // Leaves out triggers and the checks of foreign keys for this session.
    await client.query(`set session_replication_role = replica; set synchronous_commit = off;
      set maintenance_work_mem = '1GB'`);
    await client.query(
      `insert into organizations (id, name, primary_domain, sequence)
       select 'planted-' || n, 'Planted ' || n, 'planted-' || n || '.localhost', 1 from generate_series(0, $1 - 1) n`,
      [orgs],
    );
    const indexes = await dropIndexes(client);
    for (let from = 0; from < users; from += SLICE) {
      await client.query(INSERT, [from, Math.min(users, from + SLICE) - 1, orgs]);
      say(`${Math.min(users, from + SLICE)} of ${users} users are in the table`);
    }
    for (const definition of indexes) await client.query(definition);
    say('the indexes are built');
  } finally {
    client.release(true);
  }
  await pool.query('vacuum (analyze) users');
  const { rows } = await pool.query<{ table: string; index: string }>(
    `select pg_table_size('users') as table, pg_indexes_size('users') as index`,
  );
  const orgIds = Array.from({ length: orgs }, (_, n) => `planted-${n}`);
  return { orgIds, tableBytes: Number(rows[0]?.table), indexBytes: Number(rows[0]?.index) };
}

/** The primary key stays, as other tables refer to it. @returns the statements that make the indexes again */
async function dropIndexes(client: pg.PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
     from pg_index i where i.indrelid = 'users'::regclass and not i.indisprimary`,
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

// `h` spreads consecutive numbers over 32 bits without collisions, and `u` from 0 to 1: most are in few organizations.
const INSERT = `
  insert into users (id, org_id, kind, state, user_name, user_name_key, given_name, family_name, display_name, gender,
    preferred_language, email, email_key, email_verified, password_hash, sequence)
  select '3918' || lpad(n::text, 14, '0'),
    'planted-' || case when n % ${LARGEST_EVERY} = 0 then 0 else 1 + floor(($3 - 1) * power(h / 4294967296.0, 3))::int end,
    'human', (case n % 1000 when 501 then 'inactive' when 502 then 'locked' else 'active' end)::user_state,
    name, name, first, last, first || ' ' || last, 0, 'en', name || '@example.com', name || '@example.com', true,
    '$2b$10$IfSlTo7OqxZvHScBBuhzWumWsn0zgTB/evCQe7/85MstRv5xyyBIe', 1
  from (
    select n, h, first, last, first || '.' || last || '.' || to_hex(h) as name
    from (select n, h,
        (array['ann', 'björn', 'chloé', 'dmitri', 'elif', 'fatima', 'giulia', 'hiroshi', 'ines'])[1 + h % 9] as first,
        (array['smith', 'müller', 'novák', 'garcía', 'okafor', 'tanaka', 'rossi'])[1 + (h >> 8) % 7] as last
      from (select n, (n * 2654435761) & 4294967295 as h from generate_series($1::bigint, $2::bigint) n) numbers) names
  ) planted`;
