/**
 * Counts attempts to log in, and says from when the next one is checked: failures in a row delay it, and finally lock
 * it for a time that doubles. Counted are the failures of what was entered from one network, and of what was entered
 * from all networks. Too many from all networks lock every network from which the user has not logged in lately: an
 * attack from other networks does not lock the user there.
 *
 * Guarantee: an attempt counts as failed from before its check, in the database. So neither parallel attempts nor
 * several processes get more attempts or share a delay. Whether the user exists makes no difference; only a login, an
 * unlock or a new password of the user ends a lock early. Tables hold pieces of keyed hashes, so they tell neither
 * names nor addresses, and nobody can choose names that share a count; a user has few rows, which expire.
 *
 * On crash: an attempt in progress stays counted as failed.
 */
import type { LoginUser } from '../../contract/sessions.ts';
import { attemptHash, failuresKey } from '../../directory/sign-in-events.ts';
import type { Config } from '../../platform/config.ts';
import { type Db, prepared } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { nameKey } from '../../platform/fields.ts';
import { typedNumber } from '../../platform/phone.ts';
import type { Origin } from './origin.ts';

/** After this many failures the next attempt is checked at once: people mistype. */
const FREE_FAILURES = 3;
export const LONGEST_DELAY_MS = 2000;
const FIRST_LOCK_MS = 60_000;
const LONGEST_LOCK_MS = 60 * 60_000;
/** An attack from many networks: this many times LOCK_AFTER_FAILURES. */
const EVERYWHERE_FACTOR = 10;
/** A count restarts after this time without a failure. */
const FORGOTTEN = `interval '24 hours'`;

/** The table of counts has at most twice 2^24 short rows, whatever is entered. */
const BITS = 24;
/** Keys of all networks begin here. */
export const EVERYWHERE = 2 ** BITS;

/** How long a network of a user is remembered. */
const LATELY = `interval '30 days'`;
/** SQL over `login_networks n`: the network is remembered. */
export const IS_RECENT = `n.last_login_at > now() - ${LATELY}`;

export type DelayConfig = Pick<Config, 'LOGIN_DELAY_MS' | 'LOCK_AFTER_FAILURES'>;

export interface AttemptCount {
  /** Milliseconds until an attempt may be checked; 0: this one is counted, and may be checked now. */
  waitMs: number;
  /** Failures in a row with this one, of what was entered from the network; null if it was not counted. */
  here: number | null;
  /** From all networks. A network adds at most LOCK_AFTER_FAILURES of its failures, so one alone locks no other. */
  everywhere: number | null;
}

/**
 * SQL: the count restarts, as its last failure is a day ago, or before the last new password or unlock of its only
 * user.
 */
const IS_OVER = `(d.last_failure_at < now() - ${FORGOTTEN}
      or d.user_key = $5 and d.last_failure_at < (select since from person))`;
const SO_FAR = `case when ${IS_OVER} then 0 else d.failures end`;

const TAKE_PLACE = `with person as (
    select greatest(u.password_changed_at, u.attempts_since) as since, exists (
      select from login_networks n where n.user_id = u.id and n.network = $4 and ${IS_RECENT}) as known
    from users u where u.id = $3),
  earlier as (
    select d.bucket, d.failures, d.open_at from login_delays d
    where d.bucket in ($1, $2) and ${IS_OVER} is not true
    order by d.bucket for update),
  so_far as (
    select coalesce(max(failures) filter (where bucket = $1), 0) as here,
      greatest(now(), max(open_at) filter (where bucket = $1 or (select known from person) is not true)) as open_at
    from earlier),
  added as (
    insert into login_delays as d (bucket, failures, open_at, user_key)
    select k.bucket, 1, ${openAt('k.bucket', '1')}, $5 from so_far s, unnest(array[$1, $2]::int[]) as k (bucket)
    where s.open_at = now() and (k.bucket = $1 or s.here < $6)
    order by k.bucket
    on conflict (bucket) do update set failures = ${SO_FAR} + 1, last_failure_at = now(),
      open_at = ${openAt('d.bucket', `(${SO_FAR} + 1)`)},
      user_key = case when ${IS_OVER} or d.user_key = $5 then $5 end
    returning bucket, failures)
  select ceil(extract(epoch from open_at - now()) * 1000)::int as "waitMs",
    (select failures from added where bucket = $1) as here, (select failures from added where bucket = $2) as everywhere
  from so_far`;

/** From when the next attempt is checked after `failures` in a row. */
function openAt(bucket: string, failures: string): string {
  const limit = `$6 * case when ${bucket} < ${EVERYWHERE} then 1 else ${EVERYWHERE_FACTOR} end`;
  return `now() + interval '1 millisecond' * case
      when $6 > 0 and ${failures} >= ${limit}
        then least(${FIRST_LOCK_MS} * 2 ^ least(${failures} - ${limit}, 16), ${LONGEST_LOCK_MS})
      when ${failures} > ${FREE_FAILURES} and ${bucket} < ${EVERYWHERE}
        then least($7 * 2 ^ least(${failures} - ${FREE_FAILURES + 1}, 16), ${LONGEST_DELAY_MS})
      else 0 end`;
}

/** Counts an attempt as failed, unless it must wait. */
export async function countAttempt(
  db: Db,
  config: DelayConfig,
  keys: AttemptKeys,
  user: UserKeys,
): Promise<AttemptCount> {
  const { LOCK_AFTER_FAILURES, LOGIN_DELAY_MS } = config;
  const values = [keys.here, keys.everywhere, user.id ?? null, user.network, user.user];
  const { rows } = await db.query<AttemptCount>(prepared(TAKE_PLACE, [...values, LOCK_AFTER_FAILURES, LOGIN_DELAY_MS]));
  return oneRow(rows);
}

/** Whether the failure of this attempt locks further ones. */
export function isLocking({ here, everywhere }: AttemptCount, { LOCK_AFTER_FAILURES: limit }: DelayConfig): boolean {
  return limit > 0 && (Number(here) >= limit || Number(everywhere) >= EVERYWHERE_FACTOR * limit);
}

/**
 * Takes the attempt back: it was neither right nor wrong, as nothing was checked or a step is missing. A later attempt
 * that was counted meanwhile keeps its delay.
 */
export async function takeBack(db: Db, keys: AttemptKeys, place: AttemptCount): Promise<void> {
  await db.query(prepared(LESS, [...countsOf(keys, place), null]));
}

/** The first four parameters of `lessWith`. */
export function countsOf(keys: AttemptKeys, place: AttemptCount): (number | null)[] {
  return [keys.here, place.here, keys.everywhere, place.everywhere];
}

/**
 * SQL, steps of a `with`: takes the attempt back from the counts. $5 is the key of the user whose attempt was right,
 * else null: then failures from its network are forgotten, if all were those of this user. Otherwise an attacker could
 * log in as a user of the same name in another organization after every few guesses. Those from all networks are not
 * forgotten, or each login of the user would give attackers new attempts.
 *
 * Locks in the order of `countAttempt`, so two attempts cannot deadlock. A count that is null was not added.
 * @param when a further condition
 */
export function lessWith(when = 'true'): string {
  return `own as materialized (
    select d.bucket, k.counted, d.failures, k.bucket = $1 and d.user_key = $5::bigint as forgotten
    from login_delays d join (values ($1::int, $2::int), ($3, $4::int)) as k (bucket, counted) using (bucket)
    where d.bucket in ($1, $3) and (k.counted is not null or k.bucket = $1 and d.user_key = $5) and ${when}
    order by d.bucket for update of d),
  none_left as (
    delete from login_delays d using own
    where d.bucket = own.bucket and (own.forgotten is true or own.failures <= 1)),
  some_left as (
    update login_delays d set failures = d.failures - 1, open_at = case when d.failures > own.counted then d.open_at else now() end
    from own where d.bucket = own.bucket and own.forgotten is not true and own.failures > 1)`;
}

const LESS = `with ${lessWith()} select`;

/** Removes one batch of counts that would restart anyway; returns how many. */
export async function sweepDelays(db: Db): Promise<number> {
  const where = `last_failure_at < now() - ${FORGOTTEN}`;
  return sweepRows(db, { table: 'login_delays', where, order: 'last_failure_at' });
}

function enteredParts(user: LoginUser): string[] {
  return 'userId' in user ? ['id', user.userId] : ['name', typedNumber(user.loginName) ?? nameKey(user.loginName)];
}

/** Keys of an attempt in `login_delays`. */
export interface AttemptKeys {
  /** The key of what was entered and the network it came from. */
  here: number;
  /** The key of what was entered, in all networks. */
  everywhere: number;
}

/**
 * The keys of an attempt. Names that compare as equal share their keys. A login name and an id of the same user do not:
 * if they did, two names that are locked together would be known to be names of one user.
 */
export function attemptKeys(secrets: Secrets, user: LoginUser, { network, through = '' }: Origin): AttemptKeys {
  const entered = [through, ...enteredParts(user)];
  return {
    here: attemptHash(secrets, [...entered, network]).readUIntBE(0, BITS / 8),
    everywhere: EVERYWHERE + attemptHash(secrets, entered).readUIntBE(0, BITS / 8),
  };
}

/**
 * The keys of an attempt of which the user is looked up. What programs send for a user has one count for all networks,
 * whatever name of the user they enter: a manager can make any number of programs, and these can name any network. For
 * an unknown user, the programs of one organization have that count, so that nobody learns whether the user exists.
 * @param id undefined if no user was found
 */
export function keysOfAll(secrets: Secrets, keys: AttemptKeys, user: LoginUser, of: Origin, id?: string): AttemptKeys {
  if (of.throughOrg === undefined) return keys;
  const parts = id === undefined ? ['programs of', of.throughOrg, ...enteredParts(user)] : ['programs', id];
  return { ...keys, everywhere: EVERYWHERE + attemptHash(secrets, parts).readUIntBE(0, BITS / 8) };
}

/** Keys of the user who was found for an attempt; bigints in text form. */
export interface UserKeys {
  /** Undefined if none was found. */
  id: string | undefined;
  /** In `login_delays`: one name can lead to users of several organizations. */
  user: string;
  /** In `login_networks`. The same network of another user has another key. */
  network: string;
}

/** The keys of the user who was found. @param id undefined if none was found */
export function userKeys(secrets: Secrets, id: string | undefined, { network, through = '' }: Origin): UserKeys {
  const ofNetwork = bigint(secrets, ['network', id ?? '', through, network]);
  return { id, user: failuresKey(secrets, id ?? ''), network: ofNetwork };
}

function bigint(secrets: Secrets, parts: string[]): string {
  return attemptHash(secrets, parts).readBigInt64BE(0).toString();
}

/** Networks that are remembered of a user: home, work, a phone and some travelling. */
const MOST_NETWORKS = 10;

/**
 * SQL, two steps of a `with`: the user has logged in there. Writes at most once a day for each network; the
 * tenth-latest one makes room.
 * @param from SQL of a row with the user's id, or none; the row of the user must be locked
 * @param user number of the parameter that holds the user's id; the next one holds the network's key
 */
export function rememberWith(from: string, user: number): string {
  const [id, network] = [`$${user}::text`, `$${user + 1}::bigint`];
  return `remembered as (
    insert into login_networks as n (user_id, network)
    select u.id, ${network} from ${from} u where not exists (
      select from login_networks n
      where n.user_id = ${id} and n.network = ${network} and n.last_login_at > now() - interval '1 day')
    on conflict (user_id, network) do update set last_login_at = now()
    returning n.network),
  made_room as (
    delete from login_networks n using remembered
    where n.user_id = ${id} and n.network in (
      select o.network from login_networks o where o.user_id = ${id} and o.network <> ${network}
      order by o.last_login_at desc offset ${MOST_NETWORKS - 1}))`;
}

/** Removes one batch of networks from which nobody has logged in lately; returns how many. */
export async function sweepNetworks(db: Db): Promise<number> {
  const where = `last_login_at < now() - ${LATELY}`;
  return sweepRows(db, { table: 'login_networks', where, order: 'last_login_at' });
}
