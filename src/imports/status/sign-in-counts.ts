/**
 * Counts the predictions of an import. The acceptance stores how many users have which facts. Nothing is counted while
 * the import runs: if users fail or are skipped, or existing users are updated, the items are counted once when the
 * import has ended, by the first who reads its result.
 *
 * Guarantee: once the import has ended, the counts are exact, and the ways add up to the users that were imported or
 * can be. While it runs, they are by the policies of at most a second before.
 */
import { presetOfAlias } from '../../contract/idp-presets.ts';
import type { SignInCounts } from '../../contract/sign-in.ts';
import { signInNames } from '../../directory/idp-links.ts';
import { allowLong } from '../../platform/db/client.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Imports } from '../../platform/db/tables.ts';
import { FACT, rankIn } from '../entries/facts.ts';
import { passkeyCounts, passkeysHere } from '../entries/link-names.ts';
import { judgeLinks, judgePhones } from '../entries/links.ts';
import { predictSignIn } from '../entries/sign-in.ts';
import { countSignIns } from '../entries/sign-in-tally.ts';
import { HAS_ENDED } from '../entries/states.ts';
import { countFacts } from '../intake/accept.ts';
import { itemsBetween } from './items.ts';
import { JOIN_POLICIES, MEANS, type OrgPolicy, POLICY, policyFor } from './sign-ins.ts';

/** SQL over `imports i`: the outcomes that the counts depend on, in the form of `sign_ins_of`. */
const OUTCOMES = `concat_ws(':', case when i.on_existing = 'update' then i.succeeded else 0 end, i.skipped, i.failed, i.undone)`;

/** What `SIGN_IN_COLUMNS` select. */
export interface SignInRow extends Pick<Imports, 'mails' | 'enterprise_mail_codes' | 'sign_ins_of'> {
  /** The counts are not of the outcomes that the import has ended with. */
  is_outdated: boolean;
  /** Some users have links. */
  has_links: boolean;
  sign_ins:
    | (OrgPolicy & {
        facts: number;
        users: number;
        isLinked: boolean;
        isOutranked: boolean;
        unknown: string[];
        /** The names of passkeys; see entries/link-names.ts. */
        domains: string[];
        rpId: string | null;
        hasGateway: boolean;
      })[]
    | null;
}

/** SQL over `import_sign_ins s` and `import_orgs o`: what the links of these users are good for. */
const LINKS = `s.links <> '{}' and case when s.facts & ${FACT.rank} = 0 then signs_in_by_link(o.org_id, s.links)
    else exists (select from ${signInNames('o.org_id')} n where n.rank >= ${rankIn('s.facts')}
      and n.name in (select lower(l collate "C") from unnest(s.links) as l)) end as "isLinked",
  s.links <> '{}' and s.facts & ${FACT.rank} <> 0 and exists (select from ${signInNames('o.org_id')} n
      where n.rank < ${rankIn('s.facts')}
      and n.name in (select lower(l collate "C") from unnest(s.links) as l)) as "isOutranked",
  case when s.links = '{}' then s.links else array(
    select l from unnest(s.links) as l
    where l collate "C" >= E'\\x04' and not signs_in_by_link(o.org_id, array[l])) end as unknown,
  case when s.links = '{}' then s.links else array(
    select l from unnest(s.links) as l where l collate "C" < E'\\x04') end as domains`;

const GROUPED = `s.facts, "mailCode", "initMail", "forceMfa", "smsCode", coalesce(own.passkeys, instance.passkeys), "onlyAddresses",
        "ofInstance", "rpId", "hasGateway"`;

/** SQL: the counts of `imports i`, as JSON. @param links columns that say what the links are good for @param by them */
const countsWith = (links: string, by: string): string => `(select jsonb_agg(c) from (
      select s.facts, sum(s.users) as users, ${POLICY}, ${MEANS}, ${links}
      from import_sign_ins s join import_orgs o on o.import_id = s.import_id and o.org_index = s.org_index ${JOIN_POLICIES}
      where s.import_id = i.id
      group by ${GROUPED}${by}) c)`;

/**
 * SQL columns over `imports i`. What links are good for is read apart, by `readLinked`, and only if there are links: the
 * plan of that statement is ten times as large, and PostgreSQL prepares all of a plan before it reads a row.
 */
export const SIGN_IN_COLUMNS = `i.sign_ins_of, i.enterprise_mail_codes, i.${HAS_ENDED} and i.sign_ins_of <> ${OUTCOMES} as is_outdated,
    exists (select from import_sign_ins s where s.import_id = i.id and s.links <> '{}') as has_links,
    case when i.sign_ins_of <> '' then ${countsWith(`false as "isLinked", false as "isOutranked", '{}'::text[] as unknown, '{}'::text[] as domains`, '')} end as sign_ins`;

/** The row with what its users' links are good for. */
export async function readLinked<T extends SignInRow>(db: Db, importId: string, row: T): Promise<T> {
  if (!row.has_links || !row.sign_ins_of) return row;
  const { rows } = await db.query<Pick<SignInRow, 'sign_ins'>>({
    name: 'sign-ins-by-links',
    text: `select ${countsWith(LINKS, ', "isLinked", "isOutranked", unknown, domains')} as sign_ins from imports i where i.id = $1`,
    values: [importId],
  });
  return { ...row, sign_ins: rows[0]?.sign_ins ?? null };
}

/** Undefined while the counts are not known. */
export function signInsOf({ sign_ins, sign_ins_of, ...row }: SignInRow): SignInCounts | undefined {
  if (!sign_ins_of) return undefined;
  const counted = sign_ins ?? [];
  const given = { holdsMails: row.mails === 'held', leavesOutEnterprise: !row.enterprise_mail_codes };
  return {
    ...countSignIns(
      counted.map(({ facts, users, isLinked, isOutranked, unknown: _, domains, rpId, hasGateway, ...policy }) => {
        const passkeys = passkeysHere(domains, rpId ?? undefined);
        const more = { isLinked, isOutranked, passkeys, hasGateway };
        return { signIn: predictSignIn(facts, { policy: policyFor(policy, facts), ...more, ...given }), users };
      }),
    ),
    ...unknownLinks(counted),
    ...passkeyDomains(counted),
  };
}

/** Names of providers that are shown. */
const MOST_SHOWN = 50;

/** The names under which users have links that lead to no provider, those of most users first. */
function unknownLinks(
  counted: readonly { users: number; unknown: string[] }[],
): Pick<SignInCounts, 'links' | 'moreLinks'> {
  const users = new Map<string, number>();
  for (const row of counted) {
    for (const name of row.unknown) users.set(name, (users.get(name) ?? 0) + Number(row.users));
  }
  if (users.size === 0) return {};
  const all = [...users].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  const links = all.slice(0, MOST_SHOWN).map(([name, count]) => ({ name, users: count, ...presetFor(name) }));
  return { links, ...(all.length > MOST_SHOWN ? { moreLinks: all.length - MOST_SHOWN } : {}) };
}

/** The passkeys by domain, those of most first. */
function passkeyDomains(
  counted: readonly { users: number; domains: string[]; rpId: string | null }[],
): Pick<SignInCounts, 'passkeys'> {
  const sums = new Map<string, number>();
  for (const { users, domains } of counted) {
    for (const [rpId, n] of passkeyCounts(domains)) sums.set(rpId, (sums.get(rpId) ?? 0) + n * Number(users));
  }
  if (sums.size === 0) return {};
  const ours = counted[0]?.rpId;
  const all = [...sums].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, MOST_SHOWN);
  return { passkeys: all.map(([rpId, passkeys]) => ({ rpId, passkeys, works: rpId === ours })) };
}

function presetFor(name: string): { preset?: string } {
  const preset = presetOfAlias(name);
  return preset === undefined ? {} : { preset };
}

/** For so long, the counts of an import that runs are shown again. Meanwhile only a change of policies changes them. */
const SHOWN_AGAIN_MS = 1000;
/** Imports whose counts a process keeps. */
const MOST_KEPT = 200;

interface Kept {
  /** `sign_ins_of` of the counts. */
  of: string | null;
  signIn: SignInCounts | undefined;
}

const kept = new WeakMap<Pool, Map<string, Kept & { until: number }>>();

/** The counts that were read a moment ago: reading them takes a third of the time of the statement for a result. */
export function recentSignIns(pool: Pool, importId: string): (Kept & { forget(): void }) | undefined {
  const ofPool = kept.get(pool);
  const found = ofPool?.get(importId);
  if (!found || found.until < performance.now()) return undefined;
  return { ...found, forget: () => ofPool?.delete(importId) };
}

/** For imports that run only: those of others are exact whenever they are read. */
export function keepSignIns(pool: Pool, importId: string, counts: Kept): void {
  const ofPool = kept.get(pool) ?? new Map();
  kept.set(pool, ofPool);
  ofPool.delete(importId);
  ofPool.set(importId, { ...counts, until: performance.now() + SHOWN_AGAIN_MS });
  if (ofPool.size > MOST_KEPT) ofPool.delete(ofPool.keys().next().value);
}

const counting = new WeakMap<Pool, Map<string, Promise<void>>>();

/** Counts the items of an import that has ended, unless the counts are right. Calls at the same time count once. */
export async function countSignInsOnce(pool: Pool, importId: string): Promise<void> {
  const running = counting.get(pool) ?? new Map<string, Promise<void>>();
  counting.set(pool, running);
  const count = () => transaction(pool, (db) => recount(db, importId)).finally(() => running.delete(importId));
  const counted = running.get(importId) ?? count();
  running.set(importId, counted);
  await counted;
}

interface Ended {
  outcomes: string;
  total: number;
  dryRun: boolean;
  isUndone: boolean;
  /** Users that were imported or can be. */
  users: number;
}

async function recount(db: Db, importId: string): Promise<void> {
  await allowLong(db);
  const { rows } = await db.query<Ended>(
    `select ${OUTCOMES} as outcomes, i.total, i.dry_run as "dryRun", i.state = 'undone' as "isUndone",
       case when i.state = 'undone' then i.succeeded else i.total - i.skipped - i.failed - i.undone end as users
     from imports i where i.id = $1 and i.${HAS_ENDED} and i.sign_ins_of <> ${OUTCOMES} for no key update`,
    [importId],
  );
  const [ended] = rows;
  if (!ended) return;
  await db.query('delete from import_sign_ins where import_id = $1', [importId]);
  // Of a dry run nothing was written, so what its entries said at the beginning is still right.
  if (!ended.dryRun) {
    await judgeLinks(db, importId);
    await judgePhones(db, importId);
  }
  const states = ended.isUndone ? ['succeeded'] : ['pending', 'succeeded'];
  const { rows: counted } = await db.query<{ users: number }>(
    countFacts(`${itemsBetween(ended)} i where state = any($4::item_state[])`),
    [importId, 0, ended.total, states],
  );
  // The entries of a check go with their draft.
  const isComplete = counted.reduce((sum, { users }) => sum + users, 0) === ended.users;
  await db.query('update imports set sign_ins_of = $2 where id = $1', [importId, isComplete ? ended.outcomes : null]);
}
