/** The rows of an import, as the checker compares them with what was sent. */
import type { Db } from '../../src/platform/db/pool.ts';
import { idOf, type SentImport, type SentUser } from '../client/sent.ts';

export interface ImportRow {
  id: string;
  /** As in the table: `succeeded`, `timed_out` … */
  state: string;
  total: number;
  succeeded: number;
  skipped: number;
  failed: number;
  undone: number;
  mails_due: number;
  mails_sent: number;
  mails_failed: number;
}

export interface ItemRow {
  ordinal: number;
  state: string;
  orgId: string;
  userId: string | null;
  userName: string | null;
}

export interface UserRow {
  id: string;
  orgId: string;
  userName: string;
  email: string;
  familyName: string;
  state: string;
  importId: string | null;
}

export interface Rows {
  import: ImportRow;
  /** In the order of the body. */
  items: ItemRow[];
  /** The users with the names that were sent. */
  users: Map<string, UserRow>;
}

/** Undefined when the import was never accepted. */
export async function readRows(db: Db, sent: SentImport): Promise<Rows | undefined> {
  const id = idOf(sent);
  if (id === undefined) return undefined;
  const imports = await db.query<ImportRow>('select * from imports where id = $1', [id]);
  const items = await db.query<ItemRow>(
    `select i.ordinal, i.state, o.org_id as "orgId", i.user_id as "userId", i.user_name as "userName"
     from import_items i join import_orgs o using (import_id, org_index) where i.import_id = $1 order by i.ordinal`,
    [id],
  );
  const [row] = imports.rows;
  return row && { import: row, items: items.rows, users: await usersNamed(db, sent.users) };
}

async function usersNamed(db: Db, sent: SentUser[]): Promise<Map<string, UserRow>> {
  const { rows } = await db.query<UserRow>(
    `select id, org_id as "orgId", user_name as "userName", email, family_name as "familyName", state,
       import_id as "importId"
     from users where org_id = any($1) and user_name_key = any($2)`,
    [[...new Set(sent.map(({ orgId }) => orgId))], sent.map(({ userName }) => userName)],
  );
  return new Map(rows.map((row) => [row.userName, row]));
}
