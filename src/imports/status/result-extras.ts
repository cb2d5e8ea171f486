/** The parts of a result in addition to counts and users: warnings, dry-run findings, webhook delivery status. */
import type { Pool } from '../../db/pool.ts';
import { LIVE_ROLES } from '../../queue/worker-list.ts';
import type { ImportResult } from '../answers.ts';
import type { HashCount } from '../validate/hash-counts.ts';
import { missingRoles } from './missing-roles.ts';
import { type ExtraColumns, readWithColumns } from './progress.ts';

export interface MoreResult {
  warnings: unknown[];
  /** Only for a dry run: hashes by scheme, and the number of mails that would be sent by kind. */
  hashes?: HashCount[];
  mailKinds?: { verification: number; initialisation: number };
  /** Only for an import with a webhook, once it has ended: the delivery of the most recent message. */
  webhook?: { state: string; attempts: number; lastError?: string };
  /** Only if there are some: see `missingRoles`. */
  missingRoles?: string[];
}

interface ExtrasRow {
  warnings: unknown[];
  hashes: HashCount[] | null;
  verifications: number;
  initialisations: number;
  webhook_state: 'pending' | 'sent' | 'failed' | null;
  attempts: number;
  last_error: string | null;
  live_roles: string[];
}

const EXTRAS: ExtraColumns = {
  name: 'progress-and-more',
  columns: `, i.warnings, r.hashes, r.verifications, r.initialisations, w.state as webhook_state, w.attempts, w.last_error,
    ${LIVE_ROLES} as live_roles`,
  joins: `left join import_dry_runs r on r.import_id = i.id
    left join lateral (
      select state, attempts, last_error from webhook_deliveries w
      where i.webhook_url is not null and w.import_id = i.id order by w.id desc limit 1) w on true`,
};

/** An import's progress and extras, read by one statement; undefined when there is no such import. */
export async function readWithMore(
  pool: Pool,
  importId: string,
): Promise<{ progress: ImportResult; more: MoreResult } | undefined> {
  const found = await readWithColumns<ExtrasRow>(pool, importId, EXTRAS);
  if (!found) return undefined;
  const { progress, row } = found;
  const missing = missingRoles(progress, row.live_roles);
  return {
    progress,
    more: {
      warnings: row.warnings,
      ...dryRunOf(row),
      ...webhookOf(row),
      ...(missing.length > 0 ? { missingRoles: missing } : {}),
    },
  };
}

function dryRunOf({ hashes, verifications, initialisations }: ExtrasRow): Partial<MoreResult> {
  return hashes ? { hashes, mailKinds: { verification: verifications, initialisation: initialisations } } : {};
}

function webhookOf({ webhook_state: state, attempts, last_error: error }: ExtrasRow): Partial<MoreResult> {
  if (!state) return {};
  return {
    webhook: { state: `WEBHOOK_STATE_${state.toUpperCase()}`, attempts, ...(error ? { lastError: error } : {}) },
  };
}
