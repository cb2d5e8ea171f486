/**
 * The mail that tells the users of an import who have not signed in how to do so. `sendSignInMails`, the action, only
 * records who asked; workers then write the mails, batch by batch, by the rule that `previewSignInMails` counts with.
 *
 * Guarantee: each batch is written with the rights that whoever asked has at that time; without them the action ends. A
 * user who has an unsent mail, or got such a mail within a day, gets none, so that an action that is repeated doubles
 * nothing. The cursor moves with the mails of its batch, so another worker does nothing twice. A mail of somebody who
 * signs in before it is sent is dropped (messages/mail/deliver.ts). On crash: the next worker continues after the last
 * committed batch.
 */
import type { ImportResult } from '../../contract/import-types.ts';
import type { Caller } from '../../contract/permissions.ts';
import type { SignInMailsPreview } from '../../contract/sign-in-mails.ts';
import { ORG_IS_ACTIVE } from '../../directory/organizations.ts';
import { HAS_SIGNED_IN, HOW_TO_SIGN_IN, IS_UNSENT } from '../../messages/mail/outbox.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { ImportOrgs, ImportSignInMails } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { HAS_ENDED, requireState } from '../entries/states.ts';
import { requireRights } from '../intake/authority.ts';
import { act } from './control.ts';

/** Items of one transaction. */
const BATCH = 2000;
const STRETCH = 20_000;

/** Lets a transaction look rows up by key, as the planner may expect few rows and read whole tables for them. */
const BY_KEY = 'set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off';

/** SQL over `mail_outbox m`: a mail of this kind to the user, of the last day. Compared as text, as `IS_UNSENT` is. */
const IS_RECENT = `m.kind::text = '${HOW_TO_SIGN_IN}' and m.created_at > now() - interval '24 hours'`;

/** SQL: the users of the items in a range of import `$1` with the reason why they get no mail; null: they get one. */
const JUDGED = `
  select i.user_id, case
    when u.id is null then 'DELETED'
    when ${HAS_SIGNED_IN} then 'SIGNED_IN'
    when u.state in ('inactive', 'locked') or not ${ORG_IS_ACTIVE} then 'INACTIVE'
    when u.email is null then 'NO_ADDRESS'
    when u.without_mail_codes and u.password_hash is null then 'LEFT_OUT'
    when (select true from mail_outbox m where m.user_id = u.id and ${IS_UNSENT} limit 1) then 'MAIL_WAITS'
    when (select true from mail_outbox m where m.user_id = u.id and ${IS_RECENT} limit 1) then 'MAILED_LATELY'
    when (select m.state from mail_outbox m where m.user_id = u.id order by m.id desc limit 1) = 'failed'
      then 'MAIL_REFUSED'
  end as reason
  from import_items i left join users u on u.id = i.user_id left join organizations o on o.id = u.org_id
  where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3 and i.state = 'succeeded'`;

/**
 * Asks for the mails, unless they are being written.
 * @throws ApiError 403; 400 IMPORT-STATE, IMPORT-DRY-RUN, IMPORT-MAILS-HELD, ORG-INACTIVE
 */
export async function sendSignInMails(
  pool: Pool,
  caller: Caller,
  importId: string,
  urlTemplate: string | undefined,
): Promise<void> {
  const change = async (db: Db, import_: Parameters<Parameters<typeof act>[4]>[1]) => {
    requireState(import_, 'signInMails');
    if (import_.dryRun) throw dryRun();
    await requireReleased(db, importId);
    const { rowCount } = await db.query(
      `insert into import_sign_in_mails as m (import_id, asked_by, url_template, next) values ($1, $2, $3, 0)
       on conflict (import_id) do update set
         asked_by = excluded.asked_by, asked_at = now(), url_template = excluded.url_template, next = 0, stopped = false
       where m.next is null`,
      [importId, caller.userId, urlTemplate ?? null],
    );
    return rowCount === 1;
  };
  const before = async (db: Db) => requireRights(db, caller, await orgsOf(db, importId));
  await act(pool, caller, importId, 'import.sign.in.mails.requested', change, before);
}

/** The relay would skip these mails too. */
async function requireReleased(db: Db, importId: string): Promise<void> {
  const { rowCount } = await db.query(`select from imports where id = $1 and mails = 'held'`, [importId]);
  if (rowCount === 0) return;
  const message = 'The import holds its mails back. Send them first.';
  throw new ApiError('FAILED_PRECONDITION', 'IMPORT-MAILS-HELD', message);
}

function dryRun(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', 'A dry run writes no users, so nobody gets a mail.');
}

async function orgsOf(db: Db, importId: string): Promise<string[]> {
  const { rows } = await db.query<Named<ImportOrgs, { orgId: 'org_id' }>>(
    'select org_id as "orgId" from import_orgs where import_id = $1',
    [importId],
  );
  return rows.map(({ orgId }) => orgId);
}

type Asked = Pick<ImportSignInMails, 'import_id' | 'next' | 'asked_by'> & { total: number };

/**
 * Writes the next mails of each import for which somebody asked. An error in one does not stop the others.
 * @returns whether there may be more to do at once
 * @throws the first error, after all imports had their batch
 */
export async function signInMailsRound(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<Asked>(
    `select m.import_id, m.next, m.asked_by, i.total from import_sign_in_mails m join imports i on i.id = m.import_id
     where m.next is not null order by m.import_id`,
  );
  const faults: unknown[] = [];
  for (const asked of rows) {
    await transaction(pool, (db) => writeBatch(db, asked)).catch((fault) => faults.push(fault));
  }
  if (faults.length > 0) throw faults[0];
  return rows.length > 0;
}

async function writeBatch(db: Db, { import_id: importId, next, asked_by: userId, total }: Asked): Promise<void> {
  const from = next ?? 0;
  const to = Math.min(from + BATCH, total);
  if (!(await mayAsk(db, importId, userId))) return stop(db, importId);
  await db.query(BY_KEY);
  // Users before imports, and imports before mails, as everywhere.
  await db.query(
    `select from users where id in (
       select user_id from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3 and state = 'succeeded')
     order by id for key share`,
    [importId, from, to],
  );
  const { rows } = await db.query<{ hasEnded: boolean }>(
    `select ${HAS_ENDED} as "hasEnded" from imports where id = $1 for update`,
    [importId],
  );
  if (!rows[0]?.hasEnded) return stop(db, importId); // it runs again, or is undone
  const isOurs = 'select from import_sign_in_mails where import_id = $1 and next = $2 for update';
  if ((await db.query(isOurs, [importId, from])).rowCount === 0) return; // another process did this batch
  await db.query(
    `with judged as materialized (${JUDGED}),
     added as (
       insert into mail_outbox (kind, user_id, url_template, import_id)
       select '${HOW_TO_SIGN_IN}', user_id, a.url_template, $1
       from judged, import_sign_in_mails a where reason is null and a.import_id = $1 returning 1),
     counted as (select count(*)::int as n from added),
     moved as (
       update import_sign_in_mails set next = case when $3 < $4 then $3 end, users = users + n
       from counted where import_id = $1)
     update imports set mails_due = mails_due + n from counted where id = $1`,
    [importId, from, to, total],
  );
  await db.query(`select pg_notify('muster_import', $1)`, [importId]);
}

async function stop(db: Db, importId: string): Promise<void> {
  await db.query('update import_sign_in_mails set next = null, stopped = true where import_id = $1', [importId]);
}

async function mayAsk(db: Db, importId: string, userId: string): Promise<boolean> {
  try {
    await requireRights(db, { userId }, await orgsOf(db, importId));
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/**
 * How many users would get the mail now, and why the others would not.
 * @param isWanted whether the caller still waits; without one, counting stops
 * @throws ApiError 400 IMPORT-DRY-RUN
 */
export async function previewSignInMails(
  pool: Pool,
  { importId, dryRun: isDry, counts }: ImportResult,
  isWanted = () => true,
): Promise<SignInMailsPreview> {
  if (isDry) throw dryRun();
  const found = new Map<string, number>();
  for (let from = 0; from < counts.total; from += STRETCH) {
    if (!isWanted()) throw new ApiError('ABORTED', 'IMPORT-ABORTED', 'The caller no longer waits for the preview.');
    for (const { reason, n } of await countJudged(pool, importId, from))
      found.set(reason ?? '', (found.get(reason ?? '') ?? 0) + n);
  }
  const users = found.get('') ?? 0;
  found.delete('');
  const reasons = [...found].map(([reason, n]) => ({
    reason: reason as SignInMailsPreview['reasons'][number]['reason'],
    users: n,
  }));
  return { users, reasons: reasons.sort((a, b) => b.users - a.users) };
}

function countJudged(pool: Pool, importId: string, from: number): Promise<{ reason: string | null; n: number }[]> {
  return transaction(pool, async (db) => {
    await db.query(BY_KEY);
    const { rows } = await db.query<{ reason: string | null; n: number }>(
      `select reason, count(*)::int as n from (${JUDGED}) judged group by reason`,
      [importId, from, from + STRETCH],
    );
    return rows;
  });
}
