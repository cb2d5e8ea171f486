/**
 * Counts the predictions of an import. The acceptance stores how many users have which facts. Nothing is counted while
 * the import runs: if users fail or are skipped, or existing users are updated, the items are counted once when the
 * import has ended, by the first who reads its result.
 *
 * Guarantee: once the import has ended, the counts are exact, and the ways add up to the users that were imported or
 * can be.
 */
import type { SignInCounts } from '../../contract/sign-in.ts';
import { allowLong } from '../../platform/db/client.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Imports } from '../../platform/db/tables.ts';
import { countSignIns, predictSignIn, USUAL } from '../entries/sign-in.ts';
import { HAS_ENDED } from '../entries/states.ts';
import { itemsBetween } from './items.ts';
import { JOIN_POLICIES, POLICY } from './sign-ins.ts';

/** SQL over `imports i`: the outcomes that the counts depend on, in the form of `sign_ins_of`. */
const OUTCOMES = `concat_ws(':', case when i.on_existing = 'update' then i.succeeded else 0 end, i.skipped, i.failed, i.undone)`;

type PolicyRow = Parameters<typeof predictSignIn>[1]['policy'];

/** What `SIGN_IN_COLUMNS` select. */
export interface SignInRow extends Pick<Imports, 'mails' | 'enterprise_mail_codes' | 'sign_ins_of'> {
  /** The counts are not of the outcomes that the import has ended with. */
  is_outdated: boolean;
  sign_ins: (PolicyRow & { facts: number; users: number })[] | null;
}

/** SQL columns over `imports i`. */
export const SIGN_IN_COLUMNS = `i.sign_ins_of, i.enterprise_mail_codes, i.${HAS_ENDED} and i.sign_ins_of <> ${OUTCOMES} as is_outdated,
    case when i.sign_ins_of <> '' then (select jsonb_agg(c) from (
      select s.facts, sum(s.users) as users, ${POLICY}
      from import_sign_ins s join import_orgs o on o.import_id = s.import_id and o.org_index = s.org_index ${JOIN_POLICIES}
      where s.import_id = i.id group by s.facts, "mailCode", "initMail", "forceMfa") c) end as sign_ins`;

/** Undefined while the counts are not known. */
export function signInsOf({ sign_ins, sign_ins_of, ...row }: SignInRow): SignInCounts | undefined {
  if (!sign_ins_of) return undefined;
  const counted = sign_ins ?? [];
  const given = { holdsMails: row.mails === 'held', leavesOutEnterprise: !row.enterprise_mail_codes };
  return countSignIns(
    counted.map(({ facts, users, ...policy }) => {
      return { signIn: predictSignIn(facts, { policy, ...given }), users };
    }),
  );
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
  const states = ended.isUndone ? ['succeeded'] : ['pending', 'succeeded'];
  const counted = await db.query<{ users: number }>(
    `with counted as (
       insert into import_sign_ins (import_id, org_index, facts, users)
       select $1, org_index, coalesce(sign_in, ${USUAL}), count(*) from ${itemsBetween(ended)} i
       where state = any($4::item_state[]) group by org_index, coalesce(sign_in, ${USUAL}) returning users)
     select coalesce(sum(users), 0)::int as users from counted`,
    [importId, 0, ended.total, states],
  );
  // The entries of a check go with their draft.
  const isComplete = counted.rows[0]?.users === ended.users;
  await db.query('update imports set sign_ins_of = $2 where id = $1', [importId, isComplete ? ended.outcomes : null]);
}
