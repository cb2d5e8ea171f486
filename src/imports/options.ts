/**
 * What the caller of a bulk import asks for besides the users: the query, and where it is kept.
 *
 * Guarantee: an import that asks for nothing special has no options, and pays for none of them. Options never change
 * once an import is accepted; if we die before that, nothing of it is kept.
 */
import { z } from 'zod';
import type { Db } from '../db/pool.ts';
import { webhookUrl } from '../webhooks/schema.ts';
import { queryOf } from './query.ts';
import type { HashCount } from './validate/hash-counts.ts';

const yesOrNo = () => z.enum(['true', 'false'], 'must be true or false').optional();

/** Of `POST /admin/v1/import`. */
export const importQuery = z.strictObject({
  strict: yesOrNo().meta({ description: 'Whether an unknown field fails its user.' }),
  dryRun: yesOrNo().meta({ description: 'Judges every user and writes none.' }),
  onExisting: z
    .enum(['fail', 'skip', 'update'], 'must be fail, skip or update')
    .optional()
    .meta({ description: 'What happens to a user who exists; `fail` unless told.' }),
  mails: z
    .enum(['auto', 'none'], 'must be auto or none')
    .optional()
    .meta({ description: '`none`: mails that are due wait for `_send_mails`.' }),
  webhook: webhookUrl().optional().meta({ description: 'Is told of the end, signed with the organization’s secret.' }),
});

export type ExistingRule = 'fail' | 'skip' | 'update';

export interface ImportOptions {
  dryRun: boolean;
  onExisting: ExistingRule;
  holdMails: boolean;
  webhook: { url: string; orgId: string } | undefined;
}

export interface ReadQuery {
  strict: boolean;
  options: Omit<ImportOptions, 'webhook'> & { webhook: string | undefined };
}

/** @throws ApiError 400 naming every unknown parameter and every bad value */
export function readQuery(query: unknown): ReadQuery {
  const { strict, dryRun, onExisting = 'fail', mails, webhook } = queryOf(importQuery, { query });
  return {
    strict: strict === 'true',
    options: { dryRun: dryRun === 'true', onExisting, holdMails: mails === 'none', webhook },
  };
}

/** The options as far as they are not what everybody has. */
export function unusual(options: ImportOptions): ImportOptions | undefined {
  const { dryRun, onExisting, holdMails, webhook } = options;
  return dryRun || onExisting !== 'fail' || holdMails || webhook ? options : undefined;
}

/** What the event of the acceptance says of them; a URL may hold a secret of its receiver's. */
export function auditOf({ dryRun, onExisting, holdMails, webhook }: ImportOptions): Record<string, unknown> {
  return { dryRun, onExisting, mails: holdMails ? 'none' : 'auto', webhook: webhook !== undefined };
}

/** Keeps the options with an import that is being accepted; call it before it runs. */
export async function keepOptions(
  db: Db,
  importId: string,
  { dryRun, onExisting, holdMails, webhook }: ImportOptions,
  hashes: HashCount[],
): Promise<void> {
  await db.query(
    `update imports set dry_run = $2, on_existing = $3, mails = $4, webhook_url = $5, webhook_org = $6 where id = $1`,
    [importId, dryRun, onExisting, holdMails ? 'held' : 'auto', webhook?.url ?? null, webhook?.orgId ?? null],
  );
  if (!dryRun) return;
  await db.query('insert into import_dry_runs (import_id, hashes) values ($1, $2)', [importId, JSON.stringify(hashes)]);
}
