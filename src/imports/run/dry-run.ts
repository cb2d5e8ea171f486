/**
 * What an import would do with its entries: judged like a batch of a real import, but only outcomes and counts are
 * written. A dry run has items of its own; the check of a draft judges the entries of the draft (drafts/judge.ts).
 *
 * Guarantee: one transaction with the guard that every batch has. The payload of a dry run's item is erased when the
 * item is judged, and no password is hashed for it.
 */
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { supported } from '../../platform/messages/catalogue.ts';
import { publishBatch } from '../entries/outcome.ts';
import { isInvited, isLeftOut } from '../entries/sign-in.ts';
import {
  type Candidates,
  decideOutcomes,
  knownOrgs,
  loadAccess,
  loadCandidates,
  mailsOf,
  type Verdict,
} from './existing-users.ts';
import { newBelongings, pairsOf, type Settled, settledOf, settleItems } from './update-users.ts';

/** What a dry run counts beside outcomes. */
export interface Found {
  /** Mails that would be sent; those that ask for a passkey count as initialisations. */
  verifications: number;
  initialisations: number;
  /** The same mails by their kind and the language that the user prefers: `initialise de`; `initialise` without one. */
  mails: Record<string, number>;
  /** The same by the number of the organization in the import. */
  mailsByOrg: Record<number, Record<string, number>>;
  /** New users with an id of their own, of which nobody looked whether another organization has it. */
  uncheckedIds: number;
}

export interface Judged {
  verdicts: Verdict[];
  found: Found;
  /** Entries whose password must be compared with the password of an existing user before they can be judged. */
  open: Extract<Verdict, { state: 'update' }>[];
}

/**
 * @returns items whose password must be compared with the password of an existing user before they can be judged
 * @throws pg.DatabaseError with code MU001 when the import is not running
 */
export async function dryBatch(pool: Pool, importId: string, ordinals: number[]): Promise<number[]> {
  const { open, batch } = await transaction(pool, async (db) => {
    const candidates = await loadCandidates(db, importId, ordinals, 'items');
    const { verdicts, found, open } = await judge(db, importId, importId, candidates);
    const created = verdicts
      .filter((v) => v.state === 'create')
      .map(({ item }): Settled => {
        return { ordinal: item.ordinal, state: 'succeeded' };
      });
    const outcomes = [...created, ...settledOf(verdicts)];
    const batch = await settleItems(db, importId, outcomes, { mails: mailCountOf(found), erase: true });
    // The import's row is locked by now, and before those of its organizations, as everywhere.
    await addFound(db, importId, found);
    return { open, batch };
  });
  if (batch) publishBatch(batch);
  return open.map(({ item }) => item.ordinal);
}

/**
 * Judges entries; writes nothing.
 * @param importId the dry run, which has the rules and the rights
 * @param entriesOf the import or draft that has the entries
 */
export async function judge(db: Db, importId: string, entriesOf: string, loaded: Candidates): Promise<Judged> {
  const candidates = { ...loaded, known: await knownOrgs(db, importId, loaded) };
  const all = decideOutcomes(candidates, await loadAccess(db, candidates));
  const open = all.filter((v) => v.state === 'update').filter((v) => v.item.is_sealed);
  const waiting = new Set<Verdict>(open);
  const verdicts = all.filter((v) => !waiting.has(v));
  await addBelongings(db, entriesOf, verdicts);
  return { verdicts, open, found: foundOf(candidates, verdicts) };
}

/** How many mails would be sent. */
export function mailCountOf({ verifications, initialisations }: Found): number {
  return verifications + initialisations;
}

async function addBelongings(db: Db, entriesOf: string, judged: Verdict[]): Promise<void> {
  const updates = judged.filter((v) => v.state === 'update');
  const found = await newBelongings(db, entriesOf, pairsOf(updates));
  for (const { item, difference } of updates) difference.changed.push(...(found.get(item.ordinal) ?? []));
}

function foundOf(candidates: Candidates, judged: Verdict[]): Found {
  const { known } = candidates;
  const mails: Found['mails'] = {};
  const mailsByOrg: Found['mailsByOrg'] = {};
  for (const verdict of judged) {
    const kind = mailOf(candidates, verdict);
    if (kind === undefined) continue;
    const key = `${kind} ${languageOf(verdict)}`.trimEnd();
    mailsByOrg[verdict.item.org_index] ??= {};
    for (const counted of [mails, mailsByOrg[verdict.item.org_index] ?? {}]) counted[key] = (counted[key] ?? 0) + 1;
  }
  const all = Object.entries(mails);
  const count = (counted: typeof all) => counted.reduce((sum, [, users]) => sum + users, 0);
  const verifications = count(all.filter(([key]) => key.startsWith('verify_email')));
  // Whether or not another organization has the id.
  const isUnchecked = ({ item, state }: Verdict) => state === 'create' && !item.omitted.includes('userId');
  return {
    verifications,
    initialisations: count(all) - verifications,
    mails,
    mailsByOrg,
    uncheckedIds: known ? judged.filter(isUnchecked).length : 0,
  };
}

/** The language of the mail as far as the user decides it; empty: they prefer none that there are texts in. */
function languageOf(verdict: Verdict): string {
  const columns = verdict.state === 'update' ? verdict.difference.next : verdict.item;
  const wish = columns.preferred_language;
  if (!wish) return '';
  const known = languages.get(wish);
  if (known !== undefined) return known;
  const language = supported(wish) ?? '';
  // A file may have any number of tags.
  if (languages.size < MOST_TAGS) languages.set(wish, language);
  return language;
}

const MOST_TAGS = 1000;
const languages = new Map<string, string>();

/** The mail that would be sent; for new users, by the rule of write-batch.ts. */
function mailOf(candidates: Candidates, verdict: Verdict): 'verify_email' | 'initialise' | 'add_passkey' | undefined {
  if (verdict.state === 'update') return verdict.difference.mail;
  const { item, state } = verdict;
  if (state !== 'create' || item.user_state !== 'active' || item.email === null) return undefined;
  const isAsked = isInvited(item.sign_in, { ...candidates, canAdd: candidates.withPasskeys.has(item.org_id) });
  const hasPassword = item.password_hash !== null || item.is_sealed;
  if (!mailsOf(candidates, item.org_id)({ hasPassword, links: item.links ?? [], facts: item.sign_in ?? 0 }))
    return undefined;
  if (!hasPassword && isLeftOut(item.sign_in, candidates)) return undefined;
  if (isAsked) return 'add_passkey';
  if (!hasPassword) return 'initialise';
  return item.email_verified ? undefined : 'verify_email';
}

/** Adds up what a dry run counts. Call it with a lock on the import. */
export async function addFound(db: Db, importId: string, found: Found): Promise<void> {
  const { verifications, initialisations, uncheckedIds, mails, mailsByOrg } = found;
  if (verifications + initialisations + uncheckedIds === 0) return;
  await db.query(
    `update import_dry_runs set verifications = verifications + $2, initialisations = initialisations + $3,
       unchecked_ids = unchecked_ids + $4, mails = ${summed('mails', '$5::jsonb')}
     where import_id = $1`,
    [importId, verifications, initialisations, uncheckedIds, JSON.stringify(mails)],
  );
  await db.query(
    `update import_orgs o set mails = ${summed("coalesce(o.mails, '{}')", 'added.value')}
     from jsonb_each($2::jsonb) added where o.import_id = $1 and o.org_index = added.key::int`,
    [importId, JSON.stringify(mailsByOrg)],
  );
}

/** SQL: two objects of numbers as one with their sums. */
function summed(one: string, other: string): string {
  return `(select coalesce(jsonb_object_agg(key, users), '{}') from (
    select key, sum(value::int) as users
    from (select * from jsonb_each_text(${one}) union all select * from jsonb_each_text(${other})) counted
    group by key) summed)`;
}
