/**
 * Updates existing users from the items of a batch: the second half of `onExisting=update`, for the items that
 * write-batch.ts left pending. Each changed user gets one event with the names of the changed fields; codes and logins
 * that a changed address, password or state makes invalid end.
 *
 * Guarantee: one transaction, whose last step is the guard that every batch has, so that nothing is written once the
 * import is not running. Only what differs is changed. A user of another organization, a machine user, and a user with
 * more rights than the import's caller are never changed.
 */
import type { NoticeKind } from '../../contract/link-templates.ts';
import { revokeLogins } from '../../directory/revocation.ts';
import { revokeCodes } from '../../messages/mail/codes.ts';
import { HAS_SIGNED_IN } from '../../messages/mail/outbox.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import { readStatement } from '../../platform/db/statement.ts';
import type { Events, ImportItems } from '../../platform/db/tables.ts';
import type { ErrorBody } from '../../platform/errors.ts';
import { FACT } from '../entries/facts.ts';
import { withinBatch } from '../entries/item.ts';
import { publishBatch, type SettledBatch } from '../entries/outcome.ts';
import type { Difference } from './difference.ts';
import { decideOutcomes, loadAccess, loadCandidates, type Verdict } from './existing-users.ts';

export interface UpdateRest {
  /** Items that hold an encrypted password. */
  sealed: number[];
  /** The number of items whose user does not exist: they must be written as new users. */
  missing: number;
}

interface UpdateContext {
  db: Db;
  importId: string;
  /** User id of whoever runs the import. */
  editor: string;
  /** How long the codes of mails are valid, in milliseconds. */
  codeTtlMs: number;
}

/** An item and its target user. */
interface Pair {
  ordinal: number;
  userId: string;
}

/** How an item is settled. */
export interface Settled {
  ordinal: number;
  state: 'succeeded' | 'skipped' | 'failed';
  /** The id of the existing user, if the item is shown with it. */
  userId?: string;
  error?: ErrorBody;
  changed?: string[];
  /** The facts of an existing user that the item changes. */
  signIn?: number;
  links?: string[] | undefined;
}

const OF_PAIRS = `from unnest($2::int[], $3::text[]) as p (ordinal, user_id)
  join import_items i on ${withinBatch('$2')} and i.ordinal = p.ordinal`;

const METADATA = `${OF_PAIRS}
  cross join lateral (
    select key, value from jsonb_to_recordset(
      case when jsonb_typeof(i.extras -> 'metadata') = 'array' then i.extras -> 'metadata' end) as l (key text, value text)
    union all
    select key, value from jsonb_each_text(
      case when jsonb_typeof(i.extras -> 'metadata') = 'object' then i.extras -> 'metadata' end)) m
  cross join lateral decode(rpad(m.value, (length(m.value) + 3) / 4 * 4, '='), 'base64') as new_value`;

const LINKS = `${OF_PAIRS}
  cross join lateral jsonb_to_recordset(i.extras -> 'idps')
    as l ("configId" text, "externalUserId" text, "displayName" text)`;

const PASSKEYS = `${OF_PAIRS}
  cross join lateral (
    select decode(k.id, 'base64') as id, k.key, k.count, k."rpId", k.handle, k.transports, k.name, k."backedUp", k.passwordless
    from jsonb_to_recordset(i.extras -> 'passkeys') as k (id text, key text, count bigint, "rpId" text, handle text,
      transports text[], name text, "backedUp" boolean, passwordless boolean)) k`;

/** The row of the user, which most users do not have. */
const FACTORS = `left join (select * from user_factors where user_id = any($3::text[])) f on f.user_id = p.user_id`;

/**
 * An app of the user of a pair `p`. One that is pending proves nobody and is asked of nobody, so it keeps none away:
 * who knew a password could begin one before the import brings the second factor.
 */
const IS_ACTIVE_APP = `t.user_id = any($3::text[]) and t.user_id = p.user_id and t.confirmed_at is not null`;
/** Pending apps may have the ids of those that come. */
const DROP_PENDING = 'delete from user_totp where user_id = any($1::text[]) and confirmed_at is null';

/** Codes by mail or by text message after the password. */
function otpFactor(by: 'email' | 'sms') {
  const column = `otp_${by}`;
  return {
    differs: `select p.ordinal ${OF_PAIRS} ${FACTORS} where i.extras -> 'otp' ? '${by}' and not coalesce(f.${column}, false)`,
    put: `insert into user_factors (user_id, ${column}) select p.user_id, true ${OF_PAIRS} where i.extras -> 'otp' ? '${by}'
      on conflict (user_id) do update set ${column} = true`,
  };
}

/**
 * Metadata, identity provider links, second factors and passkeys that entries add to existing users. What an entry
 * omits is kept; so are the apps and recovery codes of a user who has some: used codes do not come back. Values are
 * compared in the database, as each may be half a megabyte.
 *
 * By the name of the import's field: the query for pairs with something new, and the statement that writes it.
 */
const BELONGINGS = {
  metadata: {
    differs: `select p.ordinal ${METADATA}
      left join (select * from metadata where user_id = any($3::text[])) u
        on u.user_id = p.user_id and u.key = m.key
      where u.value is distinct from new_value`,
    put: `insert into user_metadata (user_id, key, value) select p.user_id, m.key, new_value ${METADATA}
      on conflict (user_id, key) do update set value = excluded.value
      where user_metadata.value <> excluded.value`,
  },
  idps: {
    differs: `select p.ordinal ${LINKS}
      left join (select * from user_idp_links where user_id = any($3::text[])) u
        on u.user_id = p.user_id and u.idp_id = l."configId" and u.external_user_id = l."externalUserId"
      where u.display_name is distinct from l."displayName"`,
    put: `insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
      select p.user_id, l."configId", l."externalUserId", l."displayName" ${LINKS}
      on conflict (user_id, idp_id, external_user_id) do update set display_name = excluded.display_name
      where user_idp_links.display_name <> excluded.display_name`,
  },
  otpCode: {
    differs: `select p.ordinal ${OF_PAIRS}
      where i.totp_sealed is not null and not exists (
        select from user_totp t where ${IS_ACTIVE_APP})`,
    put: `insert into user_totp (user_id, id, secret, name, confirmed_at)
      select p.user_id, '1', i.totp_sealed, coalesce(i.extras ->> 'totpName', ''), now() ${OF_PAIRS}
      where i.totp_sealed is not null on conflict (user_id, id) do nothing`,
  },
  totps: {
    differs: `select p.ordinal ${OF_PAIRS}
      where i.extras ? 'totps' and not exists (
        select from user_totp t where ${IS_ACTIVE_APP})`,
    put: `insert into user_totp (user_id, id, secret, name, confirmed_at)
      select p.user_id, (a.position + 1)::text, a.app ->> 'sealed', a.app ->> 'name', now() ${OF_PAIRS}
      cross join lateral jsonb_array_elements(i.extras -> 'totps') with ordinality as a (app, position)
      on conflict (user_id, id) do nothing`,
  },
  recoveryCodes: {
    differs: `select p.ordinal ${OF_PAIRS} ${FACTORS} where i.extras ? 'recovery' and f.recovery_made_at is null`,
    put: `insert into user_factors (user_id, recovery_sealed, recovery_left, recovery_made_at)
      select p.user_id, i.extras -> 'recovery' ->> 'sealed', (i.extras -> 'recovery' -> 'left')::smallint, now() ${OF_PAIRS}
      where i.extras ? 'recovery'
      on conflict (user_id) do update set recovery_sealed = excluded.recovery_sealed,
        recovery_left = excluded.recovery_left, recovery_made_at = excluded.recovery_made_at
      where user_factors.recovery_made_at is null`,
  },
  otpEmail: otpFactor('email'),
  otpSms: otpFactor('sms'),
  passkeys: {
    differs: `select p.ordinal ${PASSKEYS}
      left join (select * from user_passkeys where user_id = any($3::text[])) u
        on u.user_id = p.user_id and u.credential_id = k.id
      where u.user_id is null`,
    // Fails if another user has got one since the users were compared; the batch is then judged again.
    put: `insert into user_passkeys (credential_id, user_id, public_key, sign_count, rp_id, user_handle, transports,
        name, backed_up, passwordless)
      select k.id, p.user_id, decode(k.key, 'base64'), k.count, k."rpId", decode(k.handle, 'base64'), k.transports,
        k.name, k."backedUp", k.passwordless ${PASSKEYS}
      left join (select * from user_passkeys where user_id = any($3::text[])) u
        on u.user_id = p.user_id and u.credential_id = k.id
      where u.user_id is null order by 1`,
  },
  'oldSignIn.lost': {
    differs: `select p.ordinal ${OF_PAIRS} ${FACTORS}
      where i.sign_in & ${FACT.secondFactorLost} <> 0 and f.lost_at is null and not has_second_factor(p.user_id)`,
    put: `insert into user_factors (user_id, lost_at) select p.user_id, now() ${OF_PAIRS}
      where i.sign_in & ${FACT.secondFactorLost} <> 0
      on conflict (user_id) do update set lost_at = excluded.lost_at where user_factors.lost_at is null`,
  },
} as const;

type Belonging = keyof typeof BELONGINGS;

const NAMES = Object.keys(BELONGINGS) as Belonging[];
const APPS: readonly Belonging[] = ['otpCode', 'totps'];
/** Who has one of these has lost no factor, or has another one instead. */
const FACTORS_ADDED: readonly Belonging[] = ['otpCode', 'totps', 'otpEmail', 'otpSms', 'passkeys'];

const SETTLE = readStatement(new URL('settle-items.sql', import.meta.url), {
  parameters: ['importId', 'items', 'ordinals', 'mails', 'erase'],
});

/** @throws pg.DatabaseError with code MU001 when the import is not running */
export async function updateBatch(
  pool: Pool,
  importId: string,
  ordinals: number[],
  { codeTtlMs }: { codeTtlMs: number },
): Promise<UpdateRest> {
  const { rest, batch } = await transaction(pool, async (db) => {
    const candidates = await loadCandidates(db, importId, ordinals, 'items and users');
    const sealed = candidates.items.filter((item) => item.is_sealed).map((item) => item.ordinal);
    const ready = candidates.items.filter((item) => !item.is_sealed);
    const access = await loadAccess(db, candidates);
    const verdicts = decideOutcomes({ ...candidates, items: ready }, access);
    const updates = verdicts.filter((v) => v.state === 'update');
    const pairs = pairsOf(updates);
    const belongings = await newBelongings(db, importId, pairs);
    for (const { item, difference } of updates) difference.changed.push(...(belongings.get(item.ordinal) ?? []));
    await putBelongings(db, importId, pairs, belongings);
    await tellOwners(db, pairs, belongings);
    const differences = updates.map((v) => v.difference).filter((d) => d.changed.length > 0);
    await applyDifferences({ db, importId, editor: candidates.runBy, codeTtlMs }, differences);
    const settled = settledOf(verdicts);
    const mails = differences.filter((d) => d.mail).length;
    const batch = await settleItems(db, importId, settled, { mails, erase: false });
    return { rest: { sealed, missing: ready.length - settled.length }, batch };
  });
  if (batch) publishBatch(batch);
  return rest;
}

export function pairsOf(updates: Extract<Verdict, { state: 'update' }>[]) {
  return updates.map(({ item, difference }) => ({ ordinal: item.ordinal, userId: difference.user.id }));
}

/** How items are settled; items of new users are not settled here. An update that changes nothing is a skip. */
export function settledOf(verdicts: Verdict[]): Settled[] {
  return verdicts.flatMap((verdict) => (verdict.state === 'create' ? [] : [settlementOf(verdict)]));
}

function settlementOf(verdict: Exclude<Verdict, { state: 'create' }>): Settled {
  const { ordinal } = verdict.item;
  if (verdict.state === 'failed') return { ordinal, state: 'failed', error: verdict.error };
  if (verdict.state === 'skipped') return { ordinal, state: 'skipped', userId: verdict.userId };
  const { user, changed, signIn, links } = verdict.difference;
  if (changed.length === 0) return { ordinal, state: 'skipped', userId: user.id };
  return { ordinal, state: 'succeeded', userId: user.id, changed, signIn, ...(links.length > 0 ? { links } : {}) };
}

/**
 * Writes the differences; the caller has locked the users' rows.
 * @param differences at most one for each user, each with at least one changed field
 */
async function applyDifferences(context: UpdateContext, differences: Difference[]): Promise<void> {
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
  const { rows } = await db.query<Named<Events, { id: 'aggregate_id'; sequence: 'sequence' }>>(
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
  const rows = differences.map(({ user, next, setsPassword, reactivates }) => ({
    ...next,
    id: user.id,
    sequence: sequences.get(user.id),
    sets_password: setsPassword,
    reactivates,
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
       without_mail_codes = n.without_mail_codes,
       password_changed_at = case when n.sets_password then now() else u.password_changed_at end,
       attempts_since = case when n.reactivates then now() else u.attempts_since end,
       rehashed_from = case when n.sets_password then null else u.rehashed_from end
     from jsonb_to_recordset($1) as n (
       id text, sequence bigint, state user_state, sets_password boolean, reactivates boolean, user_name text, user_name_key text,
       given_name text, family_name text, nick_name text, display_name text, preferred_language text, gender smallint,
       email text, email_key text, email_verified boolean, phone text, phone_verified boolean, password_hash text,
       password_change_required boolean, without_mail_codes boolean)
     where u.id = any($2::text[]) and u.id = n.id`,
    [JSON.stringify(rows), idsOf(differences)],
  );
}

/** Adds mails by the mail rule of imports; older codes of the same purpose are already revoked. */
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

/** The names of the fields with something new, by item. */
export async function newBelongings(db: Db, importId: string, pairs: Pair[]): Promise<Map<number, Belonging[]>> {
  const found = new Map<number, Belonging[]>();
  for (const name of NAMES) {
    const { rows } = await db.query<Pick<ImportItems, 'ordinal'>>(
      BELONGINGS[name].differs,
      parameters(importId, pairs),
    );
    for (const ordinal of new Set(rows.map((row) => row.ordinal))) {
      found.set(ordinal, [...(found.get(ordinal) ?? []), name]);
    }
  }
  return found;
}

/** Writes what `newBelongings` found; the caller has locked the users' rows. */
async function putBelongings(
  db: Db,
  importId: string,
  pairs: Pair[],
  found: ReadonlyMap<number, Belonging[]>,
): Promise<void> {
  const withApps = pairs.filter(({ ordinal }) => found.get(ordinal)?.some((name) => APPS.includes(name)));
  if (withApps.length > 0) await db.query(DROP_PENDING, [withApps.map(({ userId }) => userId)]);
  for (const name of NAMES) {
    const affected = pairs.filter((pair) => found.get(pair.ordinal)?.includes(name));
    if (affected.length > 0) await db.query(BELONGINGS[name].put, parameters(importId, affected));
  }
  const given = pairs.filter(({ ordinal }) => found.get(ordinal)?.some((name) => FACTORS_ADDED.includes(name)));
  if (given.length === 0) return;
  const text = `update user_factors f set lost_at = null
    where f.user_id = any($1::text[]) and f.lost_at is not null and has_second_factor(f.user_id)`;
  await db.query(text, [given.map(({ userId }) => userId)]);
}

const NOTICES: Partial<Record<Belonging, NoticeKind>> = {
  otpCode: 'factor_added',
  totps: 'factor_added',
  otpEmail: 'factor_added',
  otpSms: 'factor_added',
  recoveryCodes: 'recovery_codes_made',
  passkeys: 'passkey_added',
};

/**
 * Tells people who have signed in here that there is another way into their account. The rows of the users still have
 * the addresses that they had before the import.
 */
async function tellOwners(db: Db, pairs: Pair[], found: ReadonlyMap<number, Belonging[]>): Promise<void> {
  const due = pairs.flatMap(({ ordinal, userId }) => {
    const kinds = new Set((found.get(ordinal) ?? []).flatMap((name) => NOTICES[name] ?? []));
    return [...kinds].map((kind) => ({ userId, kind }));
  });
  if (due.length === 0) return;
  await db.query(
    `insert into mail_outbox (kind, user_id, address)
     select n.kind, u.id, u.email from unnest($1::text[], $2::mail_kind[]) as n (user_id, kind)
       join (select * from users where id = any($1::text[])) u on u.id = n.user_id
     where u.email is not null and ${HAS_SIGNED_IN}`,
    [due.map(({ userId }) => userId), due.map(({ kind }) => kind)],
  );
}

function parameters(importId: string, pairs: Pair[]): unknown[] {
  return [importId, pairs.map((pair) => pair.ordinal), pairs.map((pair) => pair.userId)];
}

/**
 * The last step of a batch whose items were judged one by one: writes states and counts, if the import still runs.
 * @returns what was settled, for `publishBatch` after the commit; undefined if nothing was
 * @param erase whether to erase the payload of failed items too; all other items lose theirs in any case
 * @throws pg.DatabaseError with code MU001 when the import is not running; the transaction is aborted then
 */
export async function settleItems(
  db: Db,
  importId: string,
  settled: Settled[],
  { mails, erase }: { mails: number; erase: boolean },
): Promise<SettledBatch | undefined> {
  if (settled.length === 0) return undefined;
  const items = itemsOf(settled);
  const ordinals = settled.map((one) => one.ordinal);
  const { rows } = await db.query<SettledBatch>(SETTLE.bind({ importId, items, ordinals, mails, erase }));
  return rows[0];
}

/** The items of a statement that settles them, as JSON. */
export function itemsOf(settled: readonly Settled[]): string {
  const items = settled.map(({ userId, signIn, ...rest }) => ({ ...rest, user_id: userId, sign_in: signIn }));
  return JSON.stringify(items);
}
