/**
 * The result of an import: its progress with warnings, dry-run findings, the delivery of its webhook, the first
 * errors and the first successes.
 */
import type { z } from 'zod';
import { violationsOf } from '../../contract/causes.ts';
import type { result } from '../../contract/import-results.ts';
import type { ImportResult } from '../../contract/import-types.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportItems, ImportOrgs } from '../../platform/db/tables.ts';
import type { ErrorBody } from '../../platform/errors.ts';
import type { HashCount } from '../entries/notes.ts';
import { inStretches, itemsBetween, ofKind } from './items.ts';
import { type ExtraColumns, readWithColumns } from './progress.ts';
import {
  countSignInsOnce,
  keepSignIns,
  readLinked,
  recentSignIns,
  SIGN_IN_COLUMNS,
  type SignInRow,
  signInsOf,
} from './sign-in-counts.ts';
import { LIVE_ROLES, missingRoles } from './workers.ts';

const MAX_ERRORS = 100;
const MAX_SUCCESS = 1000;

/** What a result has in addition to counts and users. */
export type MoreResult = Pick<ShownResult, 'warnings' | 'hashes' | 'mailKinds' | 'signIn' | 'webhook' | 'missingRoles'>;

interface ExtrasRow extends SignInRow {
  warnings: ShownResult['warnings'];
  hashes: HashCount[] | null;
  verifications: number;
  initialisations: number;
  unchecked_ids: number;
  /** The dry run of a draft's check. */
  is_check: boolean;
  webhook_state: 'pending' | 'sent' | 'failed' | null;
  attempts: number;
  last_error: string | null;
  live_roles: string[];
}

/** @param signIn columns about the counts of predictions */
const extras = (name: string, signIn: string): ExtraColumns => ({
  name,
  columns: `, i.warnings, r.hashes, r.verifications, r.initialisations, r.unchecked_ids, r.entries_of is not null as is_check, w.state as webhook_state, w.attempts, w.last_error,
    ${signIn},
    ${LIVE_ROLES} as live_roles`,
  joins: `left join import_dry_runs r on r.import_id = i.id
    left join lateral (
      select state, attempts, last_error from webhook_deliveries w
      where i.webhook_url is not null and w.import_id = i.id order by w.id desc limit 1) w on true`,
});
const WITH_COUNTS = extras('progress-and-more', SIGN_IN_COLUMNS);
/** Takes two thirds of the time. */
const WITHOUT_COUNTS = extras('progress-and-some', 'i.sign_ins_of');

/** An import as the API shows it. */
export type ShownResult = z.input<typeof result>;

/** The full result: progress and extras, plus errors and successes in the form that the ecosystem's clients read. */
export async function readResult(
  pool: Pool,
  { progress, more }: { progress: ImportResult; more: MoreResult },
): Promise<ShownResult> {
  const id = progress.importId;
  const [failed, succeeded] = await Promise.all([
    progress.counts.failed === 0 ? [] : firstErrors(pool, id),
    progress.counts.succeeded === 0 ? [] : firstSuccesses(pool, progress),
  ]);
  return {
    ...progress,
    ...more,
    errors: failed.map((r) => ({ type: 'human_user' as const, id: r.user_id ?? '', message: messageOf(r.error) })),
    success: { orgs: succeeded },
  };
}

/** An import's progress and extras, read by one statement; undefined when there is no such import. */
export async function readWithMore(
  pool: Pool,
  importId: string,
): Promise<{ progress: ImportResult; more: MoreResult } | undefined> {
  const known = recentSignIns(pool, importId);
  const found = await readWithColumns<ExtrasRow>(pool, importId, known ? WITHOUT_COUNTS : WITH_COUNTS);
  if (!found) return undefined;
  const { progress, row } = found;
  const isRunning = progress.state === 'IMPORT_STATE_RUNNING';
  if (known && !(isRunning && row.sign_ins_of === known.of)) {
    known.forget();
    return readWithMore(pool, importId);
  }
  if (row.is_outdated) {
    await countSignInsOnce(pool, importId);
    return readWithMore(pool, importId);
  }
  const signIn = known ? known.signIn : signInsOf(await readLinked(pool, importId, row));
  // A provider that is added shows at once what links are good for.
  if (isRunning && !known && !row.has_links) keepSignIns(pool, importId, { of: row.sign_ins_of, signIn });
  const missing = missingRoles(progress, row.live_roles, row.is_check);
  return {
    progress,
    more: {
      warnings: [...row.warnings, ...uncheckedIds(row)],
      ...dryRunOf(row),
      ...(signIn ? { signIn } : {}),
      ...webhookOf(row),
      ...(missing.length > 0 ? { missingRoles: missing as NonNullable<ShownResult['missingRoles']> } : {}),
    },
  };
}

function dryRunOf({ hashes, verifications, initialisations }: ExtrasRow): Partial<MoreResult> {
  return hashes ? { hashes, mailKinds: { verification: verifications, initialisation: initialisations } } : {};
}

/** What a dry run cannot say, as it would tell strangers which ids other organizations have. */
function uncheckedIds({ unchecked_ids: count }: ExtrasRow): ShownResult['warnings'] {
  const message = `New users with a userId: ${count}. Whether another organization has one of these ids was not looked up; its user would fail with USER-ID-TAKEN.`;
  return count > 0 ? [{ path: '', count, message }] : [];
}

function webhookOf({ webhook_state: state, attempts, last_error: error }: ExtrasRow): Partial<MoreResult> {
  if (!state) return {};
  return {
    webhook: {
      state: `WEBHOOK_STATE_${state.toUpperCase() as Uppercase<typeof state>}`,
      attempts,
      ...(error ? { lastError: error } : {}),
    },
  };
}

// `error is not null` matches a partial index. An index on the state would have to be updated at every change of state.
async function firstErrors(
  pool: Pool,
  importId: string,
): Promise<{ user_id: string | null; error: ErrorBody | null }[]> {
  const { rows } = await pool.query<Pick<ImportItems, 'user_id'> & { error: ErrorBody | null }>({
    name: 'first-errors',
    text: `select user_id, error from import_items
      where import_id = $1 and error is not null and state = 'failed' order by ordinal limit $2`,
    values: [importId, MAX_ERRORS],
  });
  return rows;
}

/**
 * The user ids by organization, aggregated by the database, as a thousand separate rows would cost more to transfer.
 */
async function firstSuccesses(pool: Pool, of: ImportResult): Promise<{ orgId: string; humanUserIds: string[] }[]> {
  const byOrg = new Map<string, string[]>();
  // Stop at the known number of successes, so that the rest of an import that has just begun is not searched.
  const enough = Math.min(MAX_SUCCESS, of.counts.succeeded);
  let found = 0;
  for (const [from, to] of inStretches(0, of.counts.total)) {
    const { rows } = await pool.query<Pick<ImportOrgs, 'org_id'> & { ids: string[] }>({
      name: ofKind('first-successes', of),
      text: `select o.org_id, s.ids from (
          select org_index, min(ordinal) as first, json_agg(user_id order by ordinal) as ids from (
            select ordinal, org_index, user_id from ${itemsBetween(of)} i where state = 'succeeded'
            order by ordinal limit $4) i
          group by org_index) s
        join import_orgs o on o.import_id = $1 and o.org_index = s.org_index order by s.first`,
      values: [of.importId, from, to, MAX_SUCCESS - found],
    });
    for (const { org_id: orgId, ids } of rows) {
      byOrg.set(orgId, [...(byOrg.get(orgId) ?? []), ...ids]);
      found += ids.length;
    }
    if (found >= enough) break;
  }
  return [...byOrg].map(([orgId, humanUserIds]) => ({ orgId, humanUserIds }));
}

function messageOf(error: ErrorBody | null): string {
  if (!error) return '';
  const fields = violationsOf(error);
  if (fields.length === 0) return error.message;
  return fields.map((f) => `${f.field}: ${f.description}`).join('; ');
}
