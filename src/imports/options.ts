/**
 * The options of a bulk import: the query parameters of `POST /admin/v1/import`, and how they are stored.
 *
 * Guarantee: an import with only defaults stores no options and does no extra work. Options never change after an
 * import is accepted. On crash before that, nothing of the import is kept.
 */
import { z } from 'zod';
import type { Db } from '../db/pool.ts';
import { invalidArgument } from '../errors.ts';
import { id } from '../fields/fields.ts';
import { webhookUrl } from '../webhooks/schema.ts';
import { queryOf } from './query.ts';
import type { HashCount } from './validate/hash-counts.ts';

const yesOrNo = () => z.enum(['true', 'false'], 'must be true or false').optional();

/** The query of `POST /admin/v1/import`. */
export const importQuery = z.strictObject({
  strict: yesOrNo().meta({
    description:
      'If true, a user with an unknown field fails. By default the field is ignored and reported as a warning.',
  }),
  dryRun: yesOrNo().meta({ description: 'If true, validates every user and reports the result, but writes no user.' }),
  onExisting: z
    .enum(['fail', 'skip', 'update'], 'must be fail, skip or update')
    .optional()
    .meta({ description: 'What happens when a user already exists. Default: `fail`.' }),
  mails: z.enum(['auto', 'none'], 'must be auto or none').optional().meta({
    description: '`auto` sends the mails that are due; `none` holds them until `_send_mails`. Default: `auto`.',
  }),
  withoutEmail: yesOrNo().meta({
    description:
      'If true, users without an email address are imported. They need a `userName`, log in with it, and get no mail. ' +
      'Leave out `email`, or send it without an address. By default such a user fails.',
  }),
  passwordSource: id()
    .optional()
    .meta({
      description:
        'Id of a password source of the organization. It verifies the first sign-in of every user who has no password ' +
        'of their own, so they get no initialisation email.',
    }),
  source: z
    .string()
    .regex(/^[\w.-]{1,50}$/, 'must have 1 to 50 letters, digits, dots, hyphens or underscores')
    .optional()
    .meta({
      description: 'The system that the users come from, such as `auth0`, for people who read the list of imports.',
    }),
  draft: yesOrNo().meta({
    description:
      'If true, the users are kept as a draft, which `_check` judges and `_start` imports without sending them again. ' +
      'The timeout, `onExisting`, `mails` and `webhook` are then options of `_start`.',
  }),
  webhook: webhookUrl().optional().meta({
    description: 'URL that receives a message when the import ends, signed with the organization’s webhook secret.',
  }),
});

export type ExistingRule = 'fail' | 'skip' | 'update';

export interface ImportOptions {
  dryRun: boolean;
  onExisting: ExistingRule;
  holdMails: boolean;
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

/** @throws ApiError 400 naming every unknown parameter and every invalid value */
export function readQuery(query: unknown): ReadQuery {
  const given = queryOf(importQuery, { query });
  if (given.draft === 'true') requireOptionsOfDraft(given);
  const { strict, dryRun, draft, source, onExisting = 'fail', mails, ...rest } = given;
  const { withoutEmail, passwordSource, webhook } = rest;
  return {
    strict: strict === 'true',
    draft: draft === 'true',
    source,
    options: {
      dryRun: dryRun === 'true',
      onExisting,
      holdMails: mails === 'none',
      withoutEmail: withoutEmail === 'true',
      passwordSource,
      webhook,
    },
  };
}

const OF_START = ['dryRun', 'onExisting', 'mails', 'webhook'] as const;

/** @throws ApiError 400 naming each parameter that is for the start of a draft */
function requireOptionsOfDraft(given: z.output<typeof importQuery>): void {
  const description = 'is not allowed with draft=true; `_check` and `_start` take it';
  const wrong = OF_START.filter((field) => given[field] !== undefined && given[field] !== 'false');
  if (wrong.length === 0) return;
  const violations = wrong.map((field) => ({ field, description }));
  throw invalidArgument('IMPORT-QUERY', `${wrong.join(', ')} ${description}.`, violations);
}

/** The options if any of them differs from its default, else undefined. */
export function unusual(options: ImportOptions): ImportOptions | undefined {
  const { dryRun, onExisting, holdMails, withoutEmail, passwordSource, webhook } = options;
  const isUnusual = dryRun || onExisting !== 'fail' || holdMails || withoutEmail || passwordSource || webhook;
  return isUnusual ? options : undefined;
}

/**
 * The options as the audit event of the acceptance records them, without the webhook's URL, which may contain a secret.
 */
export function auditOf(options: ImportOptions): Record<string, unknown> {
  const { dryRun, onExisting, holdMails, withoutEmail, passwordSource, webhook } = options;
  const source = passwordSource === undefined ? {} : { passwordSource };
  return {
    ...{ dryRun, onExisting, mails: holdMails ? 'none' : 'auto', withoutEmail },
    ...source,
    webhook: webhook !== undefined,
  };
}

/** Stores the options with an import that is being accepted. Call it before the import runs. */
export async function keepOptions(
  db: Db,
  importId: string,
  { dryRun, onExisting, holdMails, withoutEmail, passwordSource, webhook }: ImportOptions,
  hashes: HashCount[],
): Promise<void> {
  await db.query(
    `update imports set dry_run = $2, on_existing = $3, mails = $4, without_email = $5, webhook_url = $6, webhook_org = $7,
       password_source = $8
     where id = $1`,
    [
      ...[importId, dryRun, onExisting, holdMails ? 'held' : 'auto', withoutEmail],
      ...[webhook?.url ?? null, webhook?.orgId ?? null, passwordSource ?? null],
    ],
  );
  if (!dryRun) return;
  await db.query('insert into import_dry_runs (import_id, hashes) values ($1, $2)', [importId, JSON.stringify(hashes)]);
}
