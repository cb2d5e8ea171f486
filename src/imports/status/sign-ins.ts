/**
 * The predictions of how the users of an import sign in, by the login policies and the providers of their organizations
 * as they are when somebody reads the prediction.
 *
 * Guarantee: an item that has failed, was skipped or undone, or can no longer be imported has no prediction; nor has an
 * item of an import that an earlier version accepted, as nothing is known of it.
 */
import { aliasKey } from '../../contract/idp-presets.ts';
import type { ImportResult } from '../../contract/import-types.ts';
import type { SignIn, Way } from '../../contract/sign-in.ts';
import { signInNames } from '../../directory/idp-links.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportItems, ImportOrgs } from '../../platform/db/tables.ts';
import {
  type Circumstances,
  factsWithWay,
  flagsOf,
  LINKED,
  predictSignIn,
  rankIn,
  rankOfItem,
  USUAL,
  WAY_MASK,
} from '../entries/sign-in.ts';

/** SQL: joins the login policies and sign-in names of `import_orgs o`, from which POLICY takes what applies. */
export const JOIN_POLICIES = `left join login_policies own on own.org_id = o.org_id
  cross join (select * from login_policies where org_id is null) instance
  left join organizations q on q.id = o.org_id`;
export const POLICY = `coalesce(own.mail_code, instance.mail_code) as "mailCode",
  coalesce(own.init_mail, instance.init_mail) as "initMail", coalesce(own.force_mfa, instance.force_mfa) as "forceMfa",
  coalesce(q.sign_in_names = '{email}', false) as "onlyAddresses"`;

/** SQL: whether an item `i` has a way; `$7`, `$8`, `$14` and `$15` are a `WaySearch`. */
export const HAS_WAY = `($7::int[] is null or i.state in ('pending', 'succeeded')
    and (coalesce(i.sign_in, ${USUAL}) & ${WAY_MASK}
      | coalesce(($14::int[])[array_position($8::int[], i.org_index)], 0)
      | case when i.links is not null and exists (
          select from unnest(i.links) as l
          where i.org_index || ' ' || (${rankIn(`coalesce(i.sign_in, ${USUAL})`)}) || ' ' || lower(l collate "C")
            = any($15::text[]))
        then ${LINKED} else 0 end) = any($7))`;

/** What to look for to find the items with a way. */
export interface WaySearch {
  facts: number[];
  /** The numbers of organizations with flags, and their flags (`flagsOf`). */
  orgs: number[];
  flags: number[];
  /** The names of links that sign in, each after the number of the organization and a rank of users. */
  links: string[];
}

export interface Predictions {
  /** Organization ids by their index in the body. */
  orgs: Map<number, string>;
  of(item: Pick<ImportItems, 'state' | 'org_index' | 'sign_in' | 'links'>): SignIn | undefined;
  search(way: Way): WaySearch;
}

interface OrgRow
  extends Pick<ImportOrgs, 'org_index' | 'org_id'>,
    Pick<Circumstances['policy'], 'mailCode' | 'initMail' | 'forceMfa' | 'onlyAddresses'> {
  holdsMails: boolean;
  leavesOutEnterprise: boolean;
  isKnown: boolean;
  /** The names of links that sign in, each with the highest rank of a user whom it does. */
  links: Record<string, number>;
}

export async function openPredictions(pool: Pool, of: ImportResult): Promise<Predictions> {
  const { rows } = await pool.query<OrgRow>({
    name: 'import-orgs',
    text: `select o.org_index, o.org_id, ${POLICY}, i.mails = 'held' as "holdsMails",
        not i.enterprise_mail_codes as "leavesOutEnterprise", i.sign_ins_of is not null as "isKnown",
        (select coalesce(jsonb_object_agg(name, rank), '{}') from ${signInNames('o.org_id')} s) as links
      from imports i join import_orgs o on o.import_id = i.id ${JOIN_POLICIES} where i.id = $1`,
    values: [of.importId],
  });
  const given = new Map(
    rows.map((row) => [row.org_index, { policy: row, ...row, links: new Map(Object.entries(row.links)) }]),
  );
  const isKnown = rows.some((row) => row.isKnown);
  const holdsMails = rows.some((row) => row.holdsMails);
  const leavesOutEnterprise = rows.some((row) => row.leavesOutEnterprise);
  return {
    orgs: new Map(rows.map((row) => [row.org_index, row.org_id])),
    of({ state, org_index, sign_in, links }) {
      const circumstances = given.get(org_index);
      if (!isKnown || !circumstances || !mayBeImported(of, state)) return undefined;
      const rank = rankOfItem(sign_in);
      const highest = (links ?? []).map((name) => circumstances.links.get(aliasKey(name)) ?? -1);
      const isLinked = highest.some((most) => rank <= most);
      const isOutranked = highest.some((most) => most >= 0 && rank > most);
      return predictSignIn(sign_in ?? USUAL, { ...circumstances, isLinked, isOutranked });
    },
    search: (way) => {
      const flagged = rows.filter((row) => flagsOf(row) !== 0);
      return {
        facts: isKnown ? factsWithWay(way, { holdsMails, leavesOutEnterprise }, rows) : [],
        orgs: flagged.map((row) => row.org_index),
        flags: flagged.map(flagsOf),
        links: rows.flatMap(({ org_index, links }) =>
          Object.entries(links).flatMap(([name, highest]) =>
            Array.from({ length: highest + 1 }, (_, rank) => `${org_index} ${rank} ${name}`),
          ),
        ),
      };
    },
  };
}

/** Whether users of an import who are pending can no longer be imported. */
export function isOver({ state }: Pick<ImportResult, 'state'>): boolean {
  return state === 'IMPORT_STATE_UNDOING' || state === 'IMPORT_STATE_UNDONE';
}

function mayBeImported(of: ImportResult, state: ImportItems['state']): boolean {
  return state === 'succeeded' || (state === 'pending' && !isOver(of));
}
