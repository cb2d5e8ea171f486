/** What the result says beside counts and users: warnings, what a dry run found, and how its webhook fares. */
import type { Pool } from '../db/pool.ts';
import type { HashCount } from './lint.ts';
import type { ImportResult } from './progress.ts';

export interface MoreResult {
  warnings: unknown[];
  /** Of a dry run alone: hashes by scheme, and the mails that would go out by kind. */
  hashes?: HashCount[];
  mailKinds?: { verification: number; initialisation: number };
  /** Of an import with a webhook that has ended: the message of its last end. */
  webhook?: { state: string; attempts: number; lastError?: string };
}

interface MoreRow {
  warnings: unknown[];
  hashes: HashCount[] | null;
  verifications: number;
  initialisations: number;
  state: 'pending' | 'sent' | 'failed' | null;
  attempts: number;
  last_error: string | null;
}

export async function readMore(pool: Pool, { importId }: ImportResult): Promise<MoreResult> {
  const { rows } = await pool.query<MoreRow>({
    name: 'result-more',
    text: `select i.warnings, r.hashes, r.verifications, r.initialisations, w.state, w.attempts, w.last_error
     from imports i left join import_dry_runs r on r.import_id = i.id
     left join lateral (
       select state, attempts, last_error from webhook_deliveries w
       where i.webhook_url is not null and w.import_id = i.id order by w.id desc limit 1) w on true
     where i.id = $1`,
    values: [importId],
  });
  const row = rows[0];
  if (!row) return { warnings: [] };
  return { warnings: row.warnings, ...dryRunOf(row), ...webhookOf(row) };
}

function dryRunOf({ hashes, verifications, initialisations }: MoreRow): Partial<MoreResult> {
  return hashes ? { hashes, mailKinds: { verification: verifications, initialisation: initialisations } } : {};
}

function webhookOf({ state, attempts, last_error: error }: MoreRow): Partial<MoreResult> {
  if (!state) return {};
  return {
    webhook: { state: `WEBHOOK_STATE_${state.toUpperCase()}`, attempts, ...(error ? { lastError: error } : {}) },
  };
}
