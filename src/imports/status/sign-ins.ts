/**
 * The predictions of how the users of an import sign in, by the login policies and the providers of their organizations
 * as they are when somebody reads the prediction.
 *
 * Guarantee: an item that has failed, was skipped or undone, or can no longer be imported has no prediction; nor has an
 * item of an import that an earlier version accepted, as nothing is known of it.
 */
import { aliasKey } from '../../contract/idp-presets.ts';
import type { ImportResult } from '../../contract/import-types.ts';
import { MAIL_CODES, type MailCodeUse } from '../../contract/policies.ts';
import type { SignIn, Way } from '../../contract/sign-in.ts';
import { HIGHEST_RANK, signInNames } from '../../directory/idp-links.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportItems, ImportOrgs } from '../../platform/db/tables.ts';
import { FACT, rankIn, rankOfItem, USUAL } from '../entries/facts.ts';
import { passkeysHere } from '../entries/link-names.ts';
import {
  type Circumstances,
  KEY_HERE,
  LINKED,
  ORG_KIND,
  type OrgKind,
  PASSKEY_HERE,
  predictSignIn,
  WAY_MASK,
  wayOfBits,
} from '../entries/sign-in.ts';
import { HAS_GATEWAY, RP_ID } from '../entries/sign-in-means.ts';

/** SQL: joins the login policies and sign-in names of `import_orgs o`, from which POLICY takes what applies. */
export const JOIN_POLICIES = `left join login_policies own on own.org_id = o.org_id
  cross join (select * from login_policies where org_id is null) instance
  left join organizations q on q.id = o.org_id`;
export const POLICY = `coalesce(own.mail_code, instance.mail_code) as "mailCode",
  coalesce(own.init_mail, instance.init_mail) as "initMail", coalesce(own.force_mfa, instance.force_mfa) as "forceMfa",
  coalesce(own.sms_code, instance.sms_code) as "smsCode", coalesce(own.passkeys, instance.passkeys) as passkeys,
  coalesce(q.sign_in_names = '{email}', false) as "onlyAddresses", jsonb_build_object('mailCode', instance.mail_code,
    'smsCode', instance.sms_code, 'passkeys', instance.passkeys, 'forceMfa', instance.force_mfa) as "ofInstance"`;
/** SQL: what the settings of the service say. */
export const MEANS = `${RP_ID} as "rpId", ${HAS_GATEWAY} as "hasGateway"`;

/**
 * SQL: the bits of an item `i` for `wayOfBits`.
 * @param of SQL parameters: the fields of a `WaySearch`
 */
export function wayBits({ orgs, kinds, links }: Record<'orgs' | 'kinds' | 'links', string>): string {
  const facts = `coalesce(i.sign_in, ${USUAL})`;
  const named = (mark: (rpId: string) => string, flag: number) =>
    `case when i.links @> array[${mark(RP_ID)}] then ${flag} else 0 end`;
  return `((${facts} & ${WAY_MASK})::bigint
    + coalesce((${kinds}::bigint[])[array_position(${orgs}::int[], i.org_index)], 0)
    + case when i.links is null then 0 else case when exists (
          select from unnest(i.links) as l
          where i.org_index || ' ' || (${rankIn(facts)}) || ' ' || lower(l collate "C") = any(${links}::text[]))
        then ${LINKED} else 0 end
      + ${named((id) => `E'\\x01' || ${id}`, PASSKEY_HERE)} + ${named((id) => `E'\\x02' || ${id}`, KEY_HERE)} end)`;
}

/** SQL: whether an item `i` has one of the ways that a search has found; `$7`, `$8`, `$14` and `$15` say which. */
export const HAS_WAY = `($7::bigint[] is null or i.state in ('pending', 'succeeded')
    and ${wayBits({ orgs: '$8', kinds: '$14', links: '$15' })} = any($7))`;

/** What to look for to find the items with a way. */
export interface WaySearch {
  /** Whether items with these bits have the way. */
  has(bits: number): boolean;
  /** The numbers of organizations that are not of the first kind, and their kinds, as bits. */
  orgs: number[];
  kinds: number[];
  /** The names of links that sign in, each after the number of the organization and a rank of users. */
  links: string[];
}

export interface Predictions {
  /** Organization ids by their index in the body. */
  orgs: Map<number, string>;
  of(item: Pick<ImportItems, 'state' | 'org_index' | 'sign_in' | 'links'>): SignIn | undefined;
  search(way: Way): WaySearch;
}

/** The policy of an organization, and what the instance's says. */
export type OrgPolicy = Circumstances['policy'] & {
  ofInstance: Pick<Circumstances['policy'], 'mailCode' | 'smsCode' | 'passkeys' | 'forceMfa'>;
};

interface OrgRow extends Pick<ImportOrgs, 'org_index' | 'org_id'>, OrgPolicy {
  rpId: string | null;
  hasGateway: boolean;
  holdsMails: boolean;
  leavesOutEnterprise: boolean;
  isKnown: boolean;
  /** The names of links that sign in, each with the highest rank of a user whom it does. */
  links: Record<string, number>;
}

export async function openPredictions(pool: Pool, of: ImportResult): Promise<Predictions> {
  const { rows } = await pool.query<OrgRow>({
    name: 'import-orgs',
    text: `select o.org_index, o.org_id, ${POLICY}, ${MEANS}, i.mails = 'held' as "holdsMails",
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
      const passkeys = passkeysHere(links, circumstances.rpId ?? undefined);
      const policy = policyFor(circumstances.policy, sign_in);
      return predictSignIn(sign_in ?? USUAL, { ...circumstances, policy, passkeys, isLinked, isOutranked });
    },
    search: (way) => {
      const kinds = kindsOf(rows);
      const others = rows.map((row) => ({ row, kind: kinds.indexOf(kindOf(row)) })).filter(({ kind }) => kind > 0);
      const policies = kinds.map((kind) => JSON.parse(kind) as KnownKind);
      const ofOwners = policies.map((policy) => policyFor(policy, FACT.rank));
      const same = { holdsMails, leavesOutEnterprise, hasGateway: rows.some((row) => row.hasGateway) };
      return {
        has: (bits) => isKnown && wayOfBits(bits, isOwner(bits) ? ofOwners : policies, same) === way,
        orgs: others.map(({ row }) => row.org_index),
        kinds: others.map(({ kind }) => kind * ORG_KIND),
        links: rows.flatMap(({ org_index, links }) =>
          Object.entries(links).flatMap(([name, highest]) =>
            Array.from({ length: highest + 1 }, (_, rank) => `${org_index} ${rank} ${name}`),
          ),
        ),
      };
    },
  };
}

/**
 * The policy that applies to a user with these facts: to an IAM_OWNER the stricter of the organization's and the instance's,
 * as MAIL_CODE_USE and others of directory/policies.ts. What an import mails is the organization's.
 */
export function policyFor<P extends KnownKind>(policy: P, facts: number | null): P {
  if (rankOfItem(facts) < HIGHEST_RANK) return policy;
  const { mailCode, smsCode, passkeys, forceMfa } = policy.ofInstance;
  const isForced = 'forceMfa' in policy && policy.forceMfa === true;
  return {
    ...policy,
    mailCode: stricter(policy.mailCode, mailCode),
    mailsBy: policy.mailCode,
    smsCode: stricter(policy.smsCode, smsCode),
    passkeys: policy.passkeys && passkeys,
    forceMfa: isForced || forceMfa,
  };
}

function stricter(a: MailCodeUse, b: MailCodeUse): MailCodeUse {
  return MAIL_CODES.indexOf(a) < MAIL_CODES.indexOf(b) ? a : b;
}

type KnownKind = OrgKind & Pick<OrgPolicy, 'ofInstance'>;

function kindOf({ mailCode, onlyAddresses, smsCode, passkeys, ofInstance }: KnownKind): string {
  return JSON.stringify({ mailCode, onlyAddresses, smsCode, passkeys, ofInstance });
}

const isOwner = (bits: number) => rankOfItem(bits % LINKED) === HIGHEST_RANK;

/** The kinds of organizations, the most common first. */
function kindsOf(rows: readonly OrgRow[]): string[] {
  const counts = [...Map.groupBy(rows, kindOf)].sort(([, a], [, b]) => b.length - a.length);
  return counts.map(([kind]) => kind);
}

/** Whether users of an import who are pending can no longer be imported. */
export function isOver({ state }: Pick<ImportResult, 'state'>): boolean {
  return state === 'IMPORT_STATE_UNDOING' || state === 'IMPORT_STATE_UNDONE';
}

function mayBeImported(of: ImportResult, state: ImportItems['state']): boolean {
  return state === 'succeeded' || (state === 'pending' && !isOver(of));
}
