/**
 * Writes the differences of existing users: for each user one event with the names of the changed fields, and the row;
 * and ends the codes and logins that a changed address, password or state makes invalid. Works in the caller's
 * transaction, with the users' rows locked.
 */
import { revokeLogins } from '../../../access/revocation.ts';
import type { Db } from '../../../db/pool.ts';
import { revokeCodes } from '../../../mail/codes.ts';
import type { Difference } from './difference.ts';

export interface UpdateContext {
  db: Db;
  importId: string;
  /** User id of the import's caller. */
  editor: string;
  /** How long the codes of mails are valid, in milliseconds. */
  codeTtlMs: number;
}

/** @param differences at most one for each user, each with at least one changed field */
export async function applyDifferences(context: UpdateContext, differences: Difference[]): Promise<void> {
  if (differences.length === 0) return;
  const { db } = context;
  await updateRows(db, differences, await addEvents(context, differences));
  await endWhatEnds(db, differences);
  await addMails(context, differences);
}

async function endWhatEnds(db: Db, differences: Difference[]): Promise<void> {
  const byCodes = Map.groupBy(differences, ({ endsCodes }) => endsCodes.join());
  for (const [, group] of byCodes) {
    const purposes = group[0]?.endsCodes ?? [];
    if (purposes.length > 0) await revokeCodes(db, idsOf(group), purposes);
  }
  const loggedOut = differences.filter(({ endsLogins }) => endsLogins);
  if (loggedOut.length > 0) await revokeLogins(db, idsOf(loggedOut));
}

function idsOf(differences: Difference[]): string[] {
  return differences.map(({ user }) => user.id);
}

/** The number of the event, by user. */
async function addEvents(
  { db, importId, editor }: UpdateContext,
  differences: Difference[],
): Promise<Map<string, string>> {
  const { rows } = await db.query<{ id: string; sequence: string }>(
    `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
     select 'user', e.id, e.org_id, 'user.human.updated', $2, e.payload
     from jsonb_to_recordset($1) as e (id text, org_id text, payload jsonb)
     returning aggregate_id as id, sequence`,
    [
      JSON.stringify(
        differences.map(({ user, changed }) => ({
          id: user.id,
          org_id: user.org_id,
          payload: { importId, changed },
        })),
      ),
      editor,
    ],
  );
  return new Map(rows.map((row) => [row.id, row.sequence]));
}

async function updateRows(db: Db, differences: Difference[], sequences: Map<string, string>): Promise<void> {
  const rows = differences.map(({ user, next, setsPassword, letsIn }) => ({
    ...next,
    id: user.id,
    sequence: sequences.get(user.id),
    sets_password: setsPassword,
    lets_in: letsIn,
  }));
  await db.query(
    `update users u set
       sequence = n.sequence, changed_at = now(), state = n.state,
       user_name = n.user_name, user_name_key = n.user_name_key, given_name = n.given_name,
       family_name = n.family_name, nick_name = n.nick_name, display_name = n.display_name,
       preferred_language = n.preferred_language, gender = n.gender,
       email = n.email, email_key = n.email_key, email_verified = n.email_verified,
       phone = n.phone, phone_verified = n.phone_verified,
       password_hash = n.password_hash, password_change_required = n.password_change_required,
       password_changed_at = case when n.sets_password then now() else u.password_changed_at end,
       attempts_since = case when n.lets_in then now() else u.attempts_since end,
       rehashed_from = case when n.sets_password then null else u.rehashed_from end
     from jsonb_to_recordset($1) as n (
       id text, sequence bigint, state user_state, sets_password boolean, lets_in boolean, user_name text, user_name_key text,
       given_name text, family_name text, nick_name text, display_name text, preferred_language text, gender smallint,
       email text, email_key text, email_verified boolean, phone text, phone_verified boolean, password_hash text,
       password_change_required boolean)
     where u.id = any($2::text[]) and u.id = n.id`,
    [JSON.stringify(rows), idsOf(differences)],
  );
}

/** Follows the mail rule of imports; older codes of the same purpose are already revoked. */
async function addMails({ db, importId, codeTtlMs }: UpdateContext, differences: Difference[]): Promise<void> {
  const due = differences.filter(({ mail }) => mail !== undefined);
  if (due.length === 0) return;
  await db.query(
    `with code as (
       insert into codes (user_id, purpose, expires_at)
       select user_id, purpose, now() + $4 * interval '1 millisecond'
       from unnest($2::text[], $3::mail_kind[]) as due (user_id, purpose)
       returning id, user_id, purpose)
     insert into mail_outbox (kind, user_id, code_id, import_id) select purpose, user_id, id, $1 from code`,
    [importId, due.map(({ user }) => user.id), due.map(({ mail }) => mail), codeTtlMs],
  );
}
