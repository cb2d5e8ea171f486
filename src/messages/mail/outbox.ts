/**
 * The outbox: mails that are due, written in the transaction that makes them due. Relays claim them (relay.ts). Mails
 * outside imports come first, as somebody waits for them; then imports are served in turn, so that a large one never
 * blocks the others. Imports whose mails are held are skipped. SQL takes the turns, because all relays share the rows.
 *
 * Guarantee: no mail without its user, no user without the mail that is due. No two relays claim the same row, and none
 * waits for another. With a rate per import, all relays together exceed it by at most one mail plus the mails of a
 * tenth of a second.
 *
 * On crash: nothing is lost; a row that was claimed for the queue is due again when its claim expires.
 */
import type { StoredSettings } from '../../contract/branding.ts';
import type { MailKind, NoticeKind, PreviewKind, TellingKind } from '../../contract/link-templates.ts';
import { releaseRows } from '../../platform/db/lease.ts';
import { type Db, type Pool, prepared, transaction } from '../../platform/db/pool.ts';
import { type Named, oneRow, type Present } from '../../platform/db/rows.ts';
import { readVariants } from '../../platform/db/statement.ts';
import { oldest } from '../../platform/db/sweep.ts';
import type { Codes, MailOutbox, Organizations, OrgLimits, UserFactors, Users } from '../../platform/db/tables.ts';

/**
 * SQL over `mail_outbox m`, for lookups by id or by user. It compares as text to avoid the index of due mails, which is
 * on the enum and holds the mails of all users: a planner that expects few rows would read all of it.
 */
export const IS_UNSENT = `m.state::text = 'pending'`;

/**
 * SQL: how long settled mails and ended codes are kept. Longer than any code is valid (CODE_TTL_MS), as the mail of an
 * open code tells whether the code was mailed (`codes.ts`).
 */
export const ENDED_KEPT = `interval '31 days'`;

/**
 * How long a mail waits if the queue lost its job, in milliseconds. A mail that is still in the queue after that time
 * is added again, which the queue ignores; it costs one read of the waiting mails a minute.
 */
export const CLAIM_MS = 60_000;

export interface NewMail {
  kind: MailKind;
  userId: string;
  /** Checked by `urlTemplateProblem`; absent: our own page. */
  urlTemplate?: string | undefined;
  /** How long the code is valid, in milliseconds. */
  codeTtlMs: number;
  /** The address or number to confirm, where the mail goes; absent: the one that the user has. */
  address?: string | undefined;
}

/**
 * Creates a code and the mail that carries it, due at once, for a user without older ones (else use `mailCode`). Call
 * it in the transaction of the change itself.
 */
export async function enqueueMail(db: Db, mail: NewMail): Promise<{ outboxId: string; codeId: string }> {
  const { rows } = await db.query<Present<Pick<MailOutbox, 'id' | 'code_id'>>>(
    `with code as (
       insert into codes (user_id, purpose, expires_at, address)
       values ($1, $2, now() + $3 * interval '1 millisecond', $5) returning id)
     insert into mail_outbox (kind, user_id, code_id, url_template, address)
     select $2, $1, code.id, $4, $5 from code returning id, code_id`,
    [mail.userId, mail.kind, mail.codeTtlMs, mail.urlTemplate ?? null, mail.address ?? null],
  );
  const row = oneRow(rows);
  return { outboxId: row.id, codeId: row.code_id };
}

/** A mail that tells the user something, due at once. Call it in the transaction of the change that it tells. */
export async function enqueueNotice(
  db: Db,
  { kind, userId, address }: { kind: NoticeKind; userId: string; address: string },
): Promise<void> {
  await db.query('insert into mail_outbox (kind, user_id, address) values ($1, $2, $3)', [kind, userId, address]);
}

/**
 * Tells the user's address of a change of the account. Nothing is sent to an address that nobody has verified when users
 * change something themselves: they could mail strangers.
 * @param editor who changes it
 */
export async function sendNotice(db: Db, { id }: { id: string }, kind: NoticeKind, editor: string = id): Promise<void> {
  await db.query(
    `insert into mail_outbox (kind, user_id, address)
     select $2, u.id, u.email from users u
     where u.id = $1 and u.kind = 'human' and u.email is not null and (u.email_verified or $1 <> $3)`,
    [id, kind, editor],
  );
}

/** Tells the address of a user who is about to delete their account; the mail does not go with the user. */
export async function sendFarewell(db: Db, user: { orgId: string; email: string }): Promise<void> {
  const text = `insert into mail_outbox (kind, org_id, address) values ('account_deleted', $1, $2)`;
  await db.query(text, [user.orgId, user.email]);
}

/** A mail with made-up facts to the user's verified address, as one of that organization; undefined if there is none. */
export async function enqueueSample(
  db: Db,
  { kind, userId, orgId, language }: { kind: PreviewKind; userId: string; orgId: string; language: string },
): Promise<string | undefined> {
  const { rows } = await db.query<{ email: string }>(
    `with me as (select id, email from users where id = $2 and kind = 'human' and email is not null and email_verified),
       sample as (insert into mail_outbox (kind, user_id, org_id, sample) select $1, id, $3, $4 from me)
     select email from me`,
    [kind, userId, orgId, language],
  );
  return rows[0]?.email;
}

/** The kind of mail that tells the users of an import who have not signed in how to do so. */
export const HOW_TO_SIGN_IN = 'how_to_sign_in' satisfies TellingKind;

/** SQL over `users u`: they have signed in, by whatever way. */
export const HAS_SIGNED_IN = `(u.last_login_at is not null
  or coalesce((select true from first_sign_ins f where f.user_id = u.id), false))`;

/** Drops a mail that is still to be sent, which its import then does not count any more. */
export async function dropMail(pool: Pool, { id, import_id: importId }: Pick<LoadedMail, 'id' | 'import_id'>) {
  await transaction(pool, async (db) => {
    await db.query('select from imports where id = $1 for update', [importId]);
    const { rowCount } = await db.query(`delete from mail_outbox m where m.id = $1 and ${IS_UNSENT}`, [id]);
    if (rowCount === 1) await db.query('update imports set mails_due = mails_due - 1 where id = $1', [importId]);
  });
}

/** A due row as the queue holds it: a pointer. */
export interface MailPointer {
  id: string;
  /** Attempts made before this one. */
  attempt: number;
  /** When the claim of the relay ends, in the database's text form; absent in jobs of earlier releases. */
  until?: string;
}

export interface ClaimedMail {
  pointer: MailPointer;
  /** Outside imports: somebody waits for it, so it goes before all mails of imports. */
  isAlone: boolean;
  /** The first attempt for a mail of an import whose mails were held before. */
  isReleased: boolean;
}

export interface ClaimSettings {
  /** Time after which claimed rows are due again, in milliseconds. */
  handOverMs: number;
  /** Mails of one import a second; 0: no limit. */
  perImportRate?: number;
}

/** Claims at most `limit` due rows, the oldest of each import first. */
export async function claimDue(db: Db, limit: number, settings: ClaimSettings): Promise<ClaimedMail[]> {
  const { handOverMs: holdMs, perImportRate = 0 } = settings;
  const alone = await claim(db, 'alone', { limit, holdMs, perImportRate });
  if (alone.length === limit) return alone;
  const way = perImportRate > 0 ? 'rated' : 'turns';
  return [...alone, ...(await claim(db, way, { limit: limit - alone.length, holdMs, perImportRate }))];
}

const CLAIM = readVariants(new URL('claim-mails.sql', import.meta.url), {
  parameters: ['limit', 'holdMs', 'perImportRate'],
  names: { alone: 'claim-alone', turns: 'claim-turns', rated: 'claim-turns-rated' },
});

type ClaimedRow = Pick<MailOutbox, 'id' | 'attempts'> & { until: string; alone: boolean; released: boolean };

async function claim(
  db: Db,
  way: keyof typeof CLAIM,
  values: { limit: number; holdMs: number; perImportRate: number },
): Promise<ClaimedMail[]> {
  const { rows } = await db.query<ClaimedRow>(CLAIM[way].bind(values));
  return rows.map((row) => ({
    pointer: { id: row.id, attempt: row.attempts, until: row.until },
    isAlone: row.alone,
    isReleased: row.released && row.attempts === 0,
  }));
}

/** A recursive step of SQL: the ids of imports with pending mails, and null. Reads one index entry for each import. */
export const NEXT_IMPORT = `next_import (id) as (
  (select import_id from mail_outbox where state = 'pending' and import_id is not null order by import_id limit 1)
  union all
  select (
    select m.import_id from mail_outbox m where m.state = 'pending' and m.import_id > n.id order by m.import_id limit 1)
  from next_import n where n.id is not null
)`;

/** Makes claimed rows due at once, after they could not be handed to the queue. */
export async function releaseClaim(db: Db, ids: string[]): Promise<void> {
  await db.query(releaseRows('mail_outbox m', `m.id = any($1::bigint[]) and ${IS_UNSENT}`), [ids]);
}

/**
 * Claims a mail again that is held under an earlier claim, for as long as the claim of a relay lasts. Of all who hold
 * it under the same claim, one succeeds.
 * @returns the new `claimed_until`; undefined when the mail was settled, or claimed by another process meanwhile
 */
export async function renewClaim(
  db: Db,
  { id, attempts, claimed_until: until }: Pick<LoadedMail, 'id' | 'attempts' | 'claimed_until'>,
): Promise<string | undefined> {
  const { rows } = await db.query<{ until: string }>(
    `update mail_outbox m set next_attempt_at =
       greatest(m.next_attempt_at + interval '1 microsecond', now() + $4 * interval '1 millisecond')
     where m.id = $1 and m.attempts = $2 and m.next_attempt_at = $3::timestamptz and ${IS_UNSENT}
     returning m.next_attempt_at::text as until`,
    [id, attempts, until, CLAIM_MS],
  );
  return rows[0]?.until;
}

/** A code keeps its lifetime for so long after its beginning, in milliseconds, but for a tenth of it at most. */
const FRESH_MS = 60 * 60_000;

/**
 * Prepares held mails when they are released: their codes' lifetime starts now, unless it has just begun, and users who
 * have since been deactivated or locked get no mail. A mail that is handed over again, as its first delivery was not
 * recorded, names the same end of its link: it has the same bytes. Users who have since verified the address or set a
 * password have none left: the change dropped it (codes.ts).
 * @param codeTtlMs how long the codes are valid from now on, in milliseconds
 */
export async function prepareReleased(pool: Pool, mailIds: string[], codeTtlMs: number): Promise<void> {
  if (mailIds.length === 0) return;
  await transaction(pool, async (db) => {
    const { rows } = await db.query<Present<Pick<MailOutbox, 'user_id'>>>(
      `select distinct m.user_id from mail_outbox m join users u on u.id = m.user_id
       where m.id = any($1::bigint[]) and u.state in ('inactive', 'locked')`,
      [mailIds],
    );
    if (rows.length > 0)
      await dropUnsentMails(
        db,
        rows.map((row) => row.user_id),
      );
    await db.query(
      `update codes c set expires_at = now() + $2 * interval '1 millisecond'
       from mail_outbox m where m.id = any($1::bigint[]) and ${IS_UNSENT} and c.id = m.code_id
         and c.expires_at < now() + $3 * interval '1 millisecond'`,
      [mailIds, codeTtlMs, codeTtlMs - Math.min(FRESH_MS, codeTtlMs / 10)],
    );
  });
}

/** How long a mail waits before it is asked again whether its organization is active, in milliseconds. */
export const HOLD_MS = 60 * 60_000;

/** Holds a claimed mail back. The clock of its code stands meanwhile, as nobody has got it; so does the mail's. */
export async function holdMail(
  db: Db,
  { id, attempts, claimed_until: until }: Pick<LoadedMail, 'id' | 'attempts' | 'claimed_until'>,
  ms: number,
): Promise<void> {
  await db.query(
    `with held as (
       update mail_outbox m set next_attempt_at = now() + $4 * interval '1 millisecond'
       where m.id = $1 and m.attempts = $2 and m.next_attempt_at = $3::timestamptz and ${IS_UNSENT} returning m.code_id)
     update codes c set expires_at = c.expires_at + $4 * interval '1 millisecond' from held where c.id = held.code_id`,
    [id, attempts, until, ms],
  );
}

/** All data that a mail is composed from. */
export interface LoadedMail
  extends Pick<MailOutbox, 'id' | 'attempts' | 'created_at' | 'url_template' | 'import_id'>,
    Named<
      Users,
      {
        user_name: 'user_name';
        display_name: 'display_name';
        org_id: 'org_id';
        preferred_language: 'preferred_language';
      }
    > {
  /** Empty for a user who has deleted their account, as is the name. */
  user_id: Users['id'];
  kind: MailKind | TellingKind;
  /** In the database's text form; another value later means that another process has claimed the mail. */
  claimed_until: string;
  /** Null for a notice, as are the next two. */
  code_id: MailOutbox['code_id'];
  generation: Codes['generation'] | null;
  expires_at: Codes['expires_at'] | null;
  /** Where it goes: an email address, or a phone number for a text message. */
  address: string | null;
  /** Whether that is the user's verified email address. */
  verified: boolean;
  org_name: Organizations['name'] | null;
  /** Of the organization, if it has one, and of the instance. */
  brandings: StoredSettings[];
  /** How many the organization may send in a day; null: any number. */
  mails_per_day: OrgLimits['most'] | null;
  /** How many text messages of them; null: SMS_PER_DAY. */
  texts_per_day: OrgLimits['most'] | null;
  /** Whether the organization of the user is neither deactivated nor deleted. */
  org_is_active: boolean;
  /** What users of the organization sign in with. */
  sign_in_names: Organizations['sign_in_names'] | null;
  primary_domain: Organizations['primary_domain'] | null;
  /**
   * It tells how to sign in, and the user has done so, or no longer may; it is a sample, and the address is not verified
   * any more; or its organization is deleted, as its user is.
   */
  is_moot: boolean;
  /** The language of a mail that the user sends to themselves to see it. */
  sample: MailOutbox['sample'];
  /** How many recovery codes the user has left; null: they never had any. */
  recovery_left: UserFactors['recovery_left'] | null;
}

// `offset 0`: rows are looked up by id, also by a plan that was made when tables were small.
const LOAD = `select m.id, m.kind, m.attempts, m.next_attempt_at::text as claimed_until, m.created_at, m.url_template,
    m.import_id, m.code_id, c.generation, c.expires_at,
    coalesce(m.address, case when m.kind::text in ('verify_phone', 'sign_in_text', 'factor_text') then u.phone else u.email end) as address,
    coalesce(u.email_verified and m.address is null, false) as verified,
    coalesce(u.id, '') as user_id, coalesce(u.user_name, '') as user_name, u.display_name, u.preferred_language,
    coalesce(m.org_id, u.org_id) as org_id, o.name as org_name, m.sample,
    o.id is not null and o.inactive_since is null and o.removed_at is null as org_is_active,
    o.sign_in_names, o.primary_domain,
    m.sample is null and m.kind::text = '${HOW_TO_SIGN_IN}' and (u.state in ('inactive', 'locked') or ${HAS_SIGNED_IN})
      or m.sample is not null and not coalesce(u.email_verified, false)
      or m.user_id is null and (o.id is null or o.removed_at is not null) as is_moot,
    (select recovery_left from user_factors f where f.user_id = u.id) as recovery_left,
    array(select jsonb_build_object('orgId', b.org_id, 'settings', b.settings, 'logoHash', b.logo_hash,
        'logoWidth', b.logo_width, 'logoHeight', b.logo_height)
      from branding b where b.org_id = o.id or b.org_id is null order by b.org_id nulls last) as brandings,
    (select most from org_limits l where l.org_id = o.id and l.name = 'mailsPerDay') as mails_per_day,
    (select most from org_limits l where l.org_id = o.id and l.name = 'smsPerDay') as texts_per_day
  from unnest($1::bigint[]) as wanted (id)
  cross join lateral (select * from mail_outbox where id = wanted.id offset 0) m
  left join lateral (select * from codes where id = m.code_id offset 0) c on true
  left join lateral (select * from users where id = m.user_id offset 0) u on true
  left join lateral (select * from organizations where id = coalesce(m.org_id, u.org_id) offset 0) o on true
  where ${IS_UNSENT} and (m.code_id is null or c.id is not null) and (u.id is not null or m.user_id is null)`;

/** Loads mails that are still to be sent. Mails that have settled, or whose user was deleted, are left out. */
export async function loadMails(db: Db, ids: string[]): Promise<LoadedMail[]> {
  return (await db.query<LoadedMail>(prepared(LOAD, [ids]))).rows;
}

/**
 * Drops unsent mails of one or many users and subtracts them from the counts of their imports. For users who are about
 * to be deleted, or for codes that have ended.
 * Locks imports before mails, as settling does, so the two cannot deadlock. Call it in the transaction of the change.
 * @param codeIds only mails with these codes; absent: all
 */
export async function dropUnsentMails(
  db: Db,
  userId: string | string[],
  codeIds: string[] | null = null,
): Promise<void> {
  const userIds = [userId].flat();
  const unsent = `m.user_id = any($1::text[]) and ${IS_UNSENT} and ($2::bigint[] is null or m.code_id = any($2))`;
  await db.query(
    `select from imports where id in (select import_id from mail_outbox m where ${unsent}) order by id for update`,
    [userIds, codeIds],
  );
  await db.query(
    `with dropped as (delete from mail_outbox m where ${unsent} returning import_id),
       counted as (select import_id, count(*)::int as n from dropped where import_id is not null group by import_id)
     update imports i set mails_due = i.mails_due - c.n from counted c where i.id = c.import_id`,
    [userIds, codeIds],
  );
}

const SETTLED = { table: 'mail_outbox', where: `settled_at < now() - ${ENDED_KEPT}`, order: 'settled_at' };

// A code that was never used goes with its mail, except for that of a user who must still set their first password
// (`users/states.ts`). Locked codes are skipped, as the deletion of a user, which deletes both, would otherwise deadlock.
const SWEEP = `
with old as (${oldest('ctid, code_id', SETTLED)}),
unused as (
  delete from codes where ctid = any(array(
    select c.ctid from codes c
    where c.id = any(array(select code_id from old)) and c.purpose <> 'initialise' and c.expires_at < now()
    for update skip locked))
)
delete from mail_outbox where ctid = any(array(select ctid from old))`;

/** Removes one batch of mails that settled long ago, which their imports have counted; returns how many. */
export async function sweepMails(db: Db): Promise<number> {
  const { rowCount } = await db.query(SWEEP);
  return rowCount ?? 0;
}
