/** The users of an import that allows users without an email address who have none, for the report. */
import type { Pool } from '../../db/pool.ts';

/** Whether the import allows them. */
export async function allowsNone(pool: Pool, importId: string): Promise<boolean> {
  const { rows } = await pool.query<{ without_email: boolean }>('select without_email from imports where id = $1', [
    importId,
  ]);
  return rows[0]?.without_email ?? false;
}

/** Those of the users who exist and have no address. */
export async function withoutEmail(pool: Pool, userIds: readonly (string | null)[]): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    "select id from users where id = any($1::text[]) and kind = 'human' and email is null",
    [userIds],
  );
  return new Set(rows.map(({ id }) => id));
}
