/** What the caller of `_check` and `_start` asks for, and whether the draft's entries can be imported so. */
import { z } from 'zod';
import { type Caller, requirePermission } from '../../../access/caller.ts';
import type { OperationId } from '../../../access/permissions.ts';
import type { Db } from '../../../db/pool.ts';
import { ApiError, invalidArgument } from '../../../errors.ts';
import { requireOrg } from '../../../orgs/store.ts';
import { webhookUrl } from '../../../webhooks/schema.ts';
import { timeoutProblem } from '../../duration.ts';
import type { ImportOptions } from '../../options.ts';
import type { ConversionResult, Draft, RunSettings } from '../draft.ts';

const onExisting = z
  .enum(['fail', 'skip', 'update'], 'must be fail, skip or update')
  .default('fail')
  .meta({ description: 'What happens when a user already exists.' });
const mails = z
  .enum(['auto', 'none'], 'must be auto or none')
  .default('auto')
  .meta({ description: '`auto` sends the mails that are due; `none` holds them until `_send_mails`.' });
const timeout = z.string('must be a string with a duration such as "30m0s"');

/** The body of `_check`. */
export const checkBody = z.object({
  timeout: timeout.default('1h').meta({ description: 'Time limit of the check.' }),
  onExisting,
  mails,
});

/** The body of `_start`. */
export const startBody = z.object({
  timeout: timeout.meta({ description: 'Time limit of the import, from now on.' }),
  onExisting,
  mails,
  skipBroken: z
    .boolean('must be true or false')
    .default(false)
    .meta({ description: 'Import the others when some records of the files cannot be read.' }),
  webhook: webhookUrl().optional().meta({
    description: 'URL that receives a message when the import ends, signed with the organization’s webhook secret.',
  }),
});

/** @throws ApiError 400 */
export function requireGoodTimeout(value: string, max: string): void {
  const problem = timeoutProblem(value, max);
  if (problem)
    throw invalidArgument('IMPORT-TIMEOUT', `timeout ${problem}.`, [{ field: 'timeout', description: problem }]);
}

export function runOptions(settings: RunSettings, { withoutEmail, passwordSource }: ConversionResult): ImportOptions {
  return {
    dryRun: false,
    onExisting: settings.onExisting,
    holdMails: settings.mails === 'none',
    withoutEmail,
    webhook: undefined,
    passwordSource,
  };
}

/**
 * The result of the conversion, whose users may all be imported by the caller.
 * @throws ApiError 400 when users name no organization; 403; 404 when an organization does not exist
 */
export async function importable(
  db: Db,
  caller: Caller,
  operation: OperationId,
  draft: Draft,
): Promise<ConversionResult> {
  const result = draft.result as ConversionResult;
  const orgIds = result.orgs.map(({ orgId }) => orgId).filter((orgId) => orgId !== '');
  for (const orgId of orgIds) requirePermission(caller, operation, orgId);
  const unnamed = result.orgs.find(({ orgId }) => orgId === '');
  if (unnamed) {
    const message = `${unnamed.total} users name no organization. Convert the files again with orgId.`;
    throw new ApiError('FAILED_PRECONDITION', 'DRAFT-ORG', message);
  }
  for (const orgId of orgIds) await requireOrg(db, orgId);
  return result;
}
