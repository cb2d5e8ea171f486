/** The request to convert a draft's files, or to convert them again with another source or mapping. */
import { z } from 'zod';
import { type Caller, requirePermission } from '../../../access/caller.ts';
import { transaction } from '../../../db/pool.ts';
import { ApiError, invalidArgument } from '../../../errors.ts';
import { id, text } from '../../../fields/fields.ts';
import { requireOrg } from '../../../orgs/store.ts';
import type { Pepper } from '../../../passwords/pepper.ts';
import { ENCODINGS } from '../../../sources/read/encoding.ts';
import { SOURCES } from '../../../sources/registry.ts';
import { UsageError } from '../../../sources/source.ts';
import { requireKnown } from '../../intake/body-sources.ts';
import { dropPepper, keepPepper } from '../../intake/pepper.ts';
import { lockDraft, requireDraftState } from '../draft.ts';
import { type ExportDeps, hashParameters, sourceNamed } from './exports.ts';

const MOST_MAPPED = 200;
const NAMES = SOURCES.map((source) => source.name);

/** The body of `_convert`. */
export const convertBody = z.object({
  source: z
    .string('must be a string')
    .refine((name) => NAMES.includes(name), `must be one of ${NAMES.join(', ')}`)
    .optional()
    .meta({ description: 'The system that the files come from. Default: as they are recognized.' }),
  mapping: z
    .record(text(200), text(200))
    .refine((map) => Object.keys(map).length <= MOST_MAPPED, `must have at most ${MOST_MAPPED} fields`)
    .optional()
    .meta({ description: 'Columns by field, for the sources `csv` and `ndjson`: `{"email": "Mail"}`.' }),
  orgId: id().optional().meta({ description: 'The organization of users whose entry names none.' }),
  idPrefix: text(100).optional().meta({ description: 'Text before every user id of the files.' }),
  format: z.enum(['json', 'ndjson', 'csv', 'ldif'], 'must be json, ndjson, csv or ldif').optional(),
  encoding: z.enum(ENCODINGS, `must be one of ${ENCODINGS.join(', ')}`).optional(),
  strict: z.boolean('must be true or false').optional(),
  withoutEmail: z.boolean('must be true or false').optional(),
  passwordSource: id().optional().meta({
    description:
      'Id of a password source of the organization: it verifies users whose password the files do not contain.',
  }),
});

/**
 * A worker then converts. A conversion that is under way ends.
 * @param pepper replaces an earlier one; without it, an earlier one stays
 * @throws ApiError 400, 403, 404
 */
export async function requestConversion(
  deps: ExportDeps,
  caller: Caller,
  importId: string,
  body: z.output<typeof convertBody>,
  pepper: Pepper | undefined,
): Promise<void> {
  await transaction(deps.pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireDraftState(draft, ['uploading', 'converting', 'unreadable', 'draft', 'checked'], 'converted');
    const missing = draft.files.find(({ size, offset }) => offset < size);
    if (missing) throw notReady(`The file ${missing.name} has not arrived completely.`);
    if (!draft.files.some(({ kind }) => kind === 'users')) throw notReady('The draft has no file of users.');
    if (body.orgId !== undefined) {
      requirePermission(caller, 'convertImport', body.orgId);
      await requireOrg(db, body.orgId);
    }
    if (body.passwordSource !== undefined) await requireKnown(db, body.passwordSource);
    await requireGoodOptions(body, () => hashParameters(deps, draft));
    if (pepper) {
      await dropPepper(db, importId);
      await keepPepper(db, deps.secrets, importId, pepper);
    }
    await db.query(
      `update import_drafts set state = 'converting', conversion = $2, org_id = coalesce($3, org_id), result = null,
         error = null, check_id = null, progress = null, attempts = 0, run = run + 1,
         requested_at = clock_timestamp(), changed_at = clock_timestamp() where import_id = $1`,
      [importId, JSON.stringify(body), body.orgId ?? null],
    );
  });
}

/** What would fail for every record is told at once. */
async function requireGoodOptions(
  { source, mapping }: z.output<typeof convertBody>,
  parameters: () => Promise<string | undefined>,
): Promise<void> {
  if (source === undefined) return;
  try {
    sourceNamed(source).converter({ map: mapping, hashConfig: await parameters() });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw invalidArgument('DRAFT-OPTIONS', error.message, [{ field: 'mapping', description: error.message }]);
  }
}

function notReady(message: string): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'DRAFT-INCOMPLETE', message);
}
