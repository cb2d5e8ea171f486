/** Creates a draft: an import without users, which takes files. */
import { z } from 'zod';
import { type Caller, orgsFor, requirePermission } from '../../access/caller.ts';
import { appendEvent } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { id } from '../../fields/fields.ts';
import { requireOrg } from '../../orgs/store.ts';
import { createReceiving } from '../intake/accept.ts';
import type { ConversionResult } from './draft.ts';

/** The body of `POST /admin/v1/imports`. */
export const createBody = z.object({
  orgId: id().optional().meta({ description: 'The organization of users whose entry names none.' }),
});

const MOST_OF_CALLER = 20;
const MOST_OF_ORG = 50;
const RETRY_AFTER_S = 60;

/** Returns its id. @throws ApiError 403, 404, 429 */
export async function createDraft(
  pool: Pool,
  caller: Caller,
  { orgId }: z.output<typeof createBody>,
  ttlMs: number,
): Promise<string> {
  orgsFor(caller, 'createImport');
  if (orgId !== undefined) {
    requirePermission(caller, 'createImport', orgId);
    await requireOrg(pool, orgId);
  }
  return transaction(pool, async (db) => {
    await takeDraft(db, caller);
    const importId = await createReceiving(db, caller);
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: caller.orgId,
      type: 'import.draft.created',
      editor: caller.userId,
    });
    await insertDraft(db, { importId, orgId, orgs: orgId === undefined ? [] : [orgId], sequence, ttlMs });
    return importId;
  });
}

interface NewDraft {
  /** In state `receiving`. */
  importId: string;
  orgId?: string | undefined;
  orgs: string[];
  sequence: string;
  ttlMs: number;
  /** Its entries, if they are stored already. */
  result?: ConversionResult;
}

/** `imports.changed_at` is when the draft expires, so that it is not swept as an abandoned upload before. */
export async function insertDraft(db: Db, { importId, orgId, orgs, sequence, ttlMs, result }: NewDraft): Promise<void> {
  await db.query(
    `with draft as (
       insert into import_drafts (import_id, org_id, orgs, sequence, expires_at, state, result)
       values ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond', $6, $7) returning expires_at)
     update imports set changed_at = draft.expires_at from draft where id = $1`,
    [
      ...[importId, orgId ?? null, orgs, sequence, ttlMs],
      ...[result ? 'draft' : 'uploading', result ? JSON.stringify(result) : null],
    ],
  );
}

/**
 * Until the transaction ends, no other draft of the organization is created: parallel calls would not see each other's.
 * @throws ApiError 429 IMPORT-DRAFTS
 */
export async function takeDraft(db: Db, caller: Caller): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`drafts ${caller.orgId}`]);
  await requireFewDrafts(db, caller);
}

/** @throws ApiError 429 IMPORT-DRAFTS */
export async function requireFewDrafts(db: Db, caller: Caller): Promise<void> {
  const { rows } = await db.query<{ own: number; all: number }>(
    `select count(*) filter (where i.created_by = $1)::int as own, count(*)::int as "all"
     from import_drafts d join imports i on i.id = d.import_id
     where d.state not in ('discarded', 'started') and d.expires_at > clock_timestamp() and i.resource_owner = $2`,
    [caller.userId, caller.orgId],
  );
  const { own, all } = rows[0] ?? { own: 0, all: 0 };
  if (own >= MOST_OF_CALLER) throw tooMany(`You have ${MOST_OF_CALLER} drafts of imports.`);
  if (all >= MOST_OF_ORG) throw tooMany(`Your organization has ${MOST_OF_ORG} drafts of imports.`);
}

function tooMany(reason: string): ApiError {
  const message = `${reason} Start or discard one of them.`;
  return new ApiError('RESOURCE_EXHAUSTED', 'IMPORT-DRAFTS', message, { retryAfterS: RETRY_AFTER_S });
}
