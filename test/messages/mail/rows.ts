/** Rows for the mail tests. */
import { enqueueMail, type NewMail } from '../../../src/messages/mail/outbox.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';

export const ORG_ID = 'org-1';
const HOUR = 3_600_000;

/** Adds the organization that the other rows belong to. */
export async function addOrg(pool: Pool, name = 'Acme'): Promise<void> {
  await pool.query(`insert into organizations (id, name, primary_domain, sequence) values ($1, $2, 'acme.local', 1)`, [
    ORG_ID,
    name,
  ]);
}

export interface Person {
  id: string;
  email?: string;
  phone?: string;
  displayName?: string;
  userName?: string;
  state?: string;
  passwordHash?: string;
}

/** Adds a human whose address is not verified. */
export async function addPerson(pool: Pool, person: Person): Promise<void> {
  await pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, given_name, family_name, display_name,
                        email, email_key, password_hash, phone, sequence)
     values ($1, $2, 'human', $3, $4, lower($4), 'Ann', 'Example', $5, $6, lower($6), $7, $8, 1)`,
    [
      person.id,
      ORG_ID,
      person.state ?? 'active',
      person.userName ?? person.id,
      person.displayName ?? 'Ann Example',
      person.email ?? 'ann@example.com',
      person.passwordHash ?? null,
      person.phone ?? null,
    ],
  );
}

/** Adds a mail, for an import if one is given; its code is valid for three days by default. */
export async function addMail(
  pool: Pool,
  mail: Omit<NewMail, 'codeTtlMs'> & { codeTtlMs?: number; importId?: string },
) {
  const made = await enqueueMail(pool, { codeTtlMs: 72 * HOUR, ...mail });
  if (mail.importId) {
    await pool.query('update mail_outbox set import_id = $2 where id = $1', [made.outboxId, mail.importId]);
  }
  return made;
}

/** A finished import with mails due. */
export async function addImport(pool: Pool, mailsDue: number): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into imports (kind, state, created_by, resource_owner, total, succeeded, mails_due)
     values ('bulk', 'succeeded', 'admin', $1, $2, $2, $2) returning id`,
    [ORG_ID, mailsDue],
  );
  const { id } = rows[0] as { id: string };
  await pool.query('insert into import_dispatch (import_id) values ($1)', [id]);
  return id;
}

export interface OutboxRow {
  state: string;
  attempts: number;
  last_error: string | null;
  /** From now on, in seconds. */
  due_in: number;
}

export async function outboxRow(pool: Pool, id: string): Promise<OutboxRow> {
  const { rows } = await pool.query<OutboxRow>(
    `select state, attempts, last_error, extract(epoch from next_attempt_at - clock_timestamp())::float8 as due_in
     from mail_outbox where id = $1`,
    [id],
  );
  return rows[0] as OutboxRow;
}

export async function importCounts(pool: Pool, id: string): Promise<{ mails_sent: number; mails_failed: number }> {
  const { rows } = await pool.query('select mails_sent, mails_failed from imports where id = $1', [id]);
  return rows[0];
}
