/**
 * The options of a bulk import: the query parameters of `POST /admin/v1/import`, and how they are stored. Also what the
 * stages of an import depend on.
 *
 * Guarantee: an import with only defaults stores no options and does no extra work. Options never change after an
 * import is accepted.
 */
import type { z } from 'zod';
import { importQuery, timeoutProblem } from '../../contract/import-options.ts';
import type { Config } from '../../platform/config.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { type ApiError, invalidArgument } from '../../platform/errors.ts';
import { parseQuery } from '../../platform/http/parse.ts';
import type { Queues } from '../queue/queues.ts';

/** What the stages of an import depend on: database, settings, encryption, queues. */
export interface ImportDeps {
  pool: Pool;
  /** For COPY: uploads, which may be slow, leave the connections of `pool` to all other requests. Default: `pool`. */
  uploadPool?: Pool;
  config: Config;
  secrets: Secrets;
  queues: Queues;
}

export type ExistingRule = 'fail' | 'skip' | 'update';

export interface ImportOptions {
  dryRun: boolean;
  onExisting: ExistingRule;
  holdMails: boolean;
  /** Users who came only by a connection of their company may sign in with a code by mail. */
  enterpriseMailCodes: boolean;
  /** Users without an email address are allowed. */
  withoutEmail: boolean;
  passwordSource: string | undefined;
  webhook: { url: string; orgId: string } | undefined;
}

export interface ReadQuery {
  strict: boolean;
  /** Keep the users as a draft. */
  draft: boolean;
  /** The system that the users come from. */
  source: string | undefined;
  options: Omit<ImportOptions, 'webhook'> & { webhook: string | undefined };
}

const OF_START = ['dryRun', 'onExisting', 'mails', 'enterpriseMailCodes', 'webhook'] as const;

/** @throws ApiError 400 naming every unknown parameter and every invalid value */
export function readQuery(query: unknown): ReadQuery {
  const given = parseQuery(importQuery, query, 'IMPORT-QUERY');
  if (given.draft === 'true') requireOptionsOfDraft(given);
  const { strict, dryRun, draft, source, onExisting = 'fail', mails, ...rest } = given;
  const { enterpriseMailCodes, withoutEmail, passwordSource, webhook } = rest;
  return {
    strict: strict === 'true',
    draft: draft === 'true',
    source,
    options: {
      dryRun: dryRun === 'true',
      onExisting,
      holdMails: mails === 'none',
      enterpriseMailCodes: enterpriseMailCodes !== 'false',
      withoutEmail: withoutEmail === 'true',
      passwordSource,
      webhook,
    },
  };
}

/** @throws ApiError 400 naming each parameter that is for the start of a draft */
function requireOptionsOfDraft(given: z.output<typeof importQuery>): void {
  const description = 'is not allowed with draft=true; `_check` and `_start` take it';
  const wrong = OF_START.filter((field) => given[field] !== undefined && given[field] !== 'false');
  if (wrong.length === 0) return;
  const violations = wrong.map((field) => ({ field, description }));
  throw invalidArgument('IMPORT-QUERY', `${wrong.join(', ')} ${description}.`, violations);
}

/** @throws ApiError 400 IMPORT-TIMEOUT unless the value is a Go duration of at most `max` */
export function requireTimeout(value: unknown, max: string): void {
  const problem = timeoutProblem(value, max);
  if (problem) throw badTimeout(problem);
}

/** 400 */
export function badTimeout(problem: string): ApiError {
  return invalidArgument('IMPORT-TIMEOUT', `timeout ${problem}.`, [{ field: 'timeout', description: problem }]);
}

/** The options if any of them differs from its default, else undefined. */
export function unusual(options: ImportOptions): ImportOptions | undefined {
  const { dryRun, onExisting, holdMails, enterpriseMailCodes, withoutEmail, passwordSource, webhook } = options;
  const isUnusual = dryRun || onExisting !== 'fail' || holdMails || !enterpriseMailCodes || withoutEmail;
  return isUnusual || passwordSource || webhook ? options : undefined;
}

/**
 * The options as the audit event of the acceptance records them, without the webhook's URL, which may contain a secret.
 */
export function auditOf(options: ImportOptions): Record<string, unknown> {
  const { dryRun, onExisting, holdMails, enterpriseMailCodes, withoutEmail, passwordSource, webhook } = options;
  const source = passwordSource === undefined ? {} : { passwordSource };
  return {
    dryRun,
    onExisting,
    mails: holdMails ? 'none' : 'auto',
    withoutEmail,
    ...(enterpriseMailCodes ? {} : { enterpriseMailCodes }),
    ...source,
    webhook: webhook !== undefined,
  };
}

/**
 * Stores the options with an import that is being accepted. Call it before the import runs.
 * @param hashes of a dry run, by scheme
 */
export async function keepOptions(
  db: Db,
  importId: string,
  { dryRun, onExisting, holdMails, enterpriseMailCodes, withoutEmail, passwordSource, webhook }: ImportOptions,
  hashes: readonly object[],
): Promise<void> {
  await db.query(
    `update imports set dry_run = $2, on_existing = $3, mails = $4, without_email = $5, webhook_url = $6, webhook_org = $7,
       password_source = $8, enterprise_mail_codes = $9
     where id = $1`,
    [
      importId,
      dryRun,
      onExisting,
      holdMails ? 'held' : 'auto',
      withoutEmail,
      webhook?.url ?? null,
      webhook?.orgId ?? null,
      passwordSource ?? null,
      enterpriseMailCodes,
    ],
  );
  if (!dryRun) return;
  await db.query('insert into import_dry_runs (import_id, hashes) values ($1, $2)', [importId, JSON.stringify(hashes)]);
}
