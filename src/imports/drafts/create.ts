/**
 * Creates a draft: an import without users, which takes files, or one that keeps the body of an import instead of
 * starting it, so that entries which a client has converted itself are sent once, checked, and started. Discards
 * drafts, too.
 *
 * Guarantee: a draft of a body exists only when every user of the body is durable. Discarding is idempotent; until it
 * expires, the draft is shown as discarded, and the role `maintenance` erases its files and entries (erase.ts).
 */
import type { z } from 'zod';
import type { createBody } from '../../contract/import-options.ts';
import { type Caller, orgsFor, requirePermission } from '../../contract/permissions.ts';
import { undeleted } from '../../directory/organization-states.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { openSlots } from '../../platform/http/slots.ts';
import { createReceiving, touchReceiving } from '../intake/accept.ts';
import { endChecks } from '../intake/checks.ts';
import type { KeepDraft, Received } from '../intake/intake.ts';
import { type ConversionResult, changeDraft, lockDraft } from './draft.ts';

const MOST_OF_CALLER = 20;
const MOST_OF_ORG = 50;
const RETRY_AFTER_S = 60;

/** Returns the id of the draft. @throws ApiError 400 ORG-STATE, 403, 404, 429 */
export async function createDraft(
  pool: Pool,
  caller: Caller,
  { orgId }: z.output<typeof createBody>,
  ttlMs: number,
): Promise<string> {
  orgsFor(caller, 'createImport');
  if (orgId !== undefined) {
    requirePermission(caller, 'createImport', orgId);
    undeleted(await requireOrg(pool, orgId));
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

/**
 * Keeps a body as a draft.
 * @param ttlMs DRAFT_TTL. The intake calls the result in the transaction that ends the body.
 */
export function keepAsDraft(caller: Caller, ttlMs: number): KeepDraft {
  return async (db: Db, received: Received) => {
    const { importId, total } = received;
    await takeDraft(db, caller);
    await touchReceiving(db, importId); // locks the row against a concurrent sweep
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: caller.orgId,
      type: 'import.draft.created',
      editor: caller.userId,
      payload: { total },
    });
    const result = resultOf(received);
    await insertDraft(db, {
      importId,
      sequence,
      ttlMs,
      orgs: [...new Set(result.orgs.map(({ orgId }) => orgId))],
      result,
    });
  };
}

function resultOf({ importId: _, ...received }: Received): ConversionResult {
  return {
    source: '',
    title: '',
    broken: 0,
    ...received,
    failed: received.orgs.reduce((sum, { failed }) => sum + failed, 0),
  };
}

interface NewDraft {
  /** In state `receiving`. */
  importId: string;
  orgId?: string | undefined;
  orgs: string[];
  sequence: string;
  ttlMs: number;
  /** What its entries are, if they are stored already. */
  result?: ConversionResult;
}

async function insertDraft(db: Db, { importId, orgId, orgs, sequence, ttlMs, result }: NewDraft): Promise<void> {
  await db.query(
    `with preparation as (
       insert into import_preparations (import_id, org_id, orgs, expires_at, result)
       values ($1, $2, $3, clock_timestamp() + $5 * interval '1 millisecond', $7))
     update imports set kind = 'draft', state = $6, changed_at = clock_timestamp(), sequence = $4 where id = $1`,
    [
      importId,
      orgId ?? null,
      orgs,
      sequence,
      ttlMs,
      result ? 'draft' : 'uploading',
      result ? JSON.stringify(result) : null,
    ],
  );
}

/**
 * Until the transaction ends, no other draft of the organization is created: parallel calls would not see each other's.
 * @throws ApiError 429 IMPORT-DRAFTS
 */
async function takeDraft(db: Db, caller: Caller): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`drafts ${caller.orgId}`]);
  await requireFewDrafts(db, caller);
}

/** @throws ApiError 429 IMPORT-DRAFTS */
export async function requireFewDrafts(db: Db, caller: Caller): Promise<void> {
  const { rows } = await db.query<{ own: number; all: number }>(
    `select count(*) filter (where i.created_by = $1)::int as own, count(*)::int as "all"
     from import_preparations d join imports i on i.id = d.import_id
     where i.kind = 'draft' and i.state <> 'discarded' and d.expires_at > clock_timestamp() and i.resource_owner = $2`,
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

/** Discards a draft. @throws ApiError 404 */
export async function discardDraft(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await transaction(pool, async (db) => {
    const draft = await lockDraft(db, importId);
    if (draft.state === 'discarded') return;
    await endChecks(db, importId, { editor: caller.userId, entriesStay: false });
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: draft.resourceOwner,
      type: 'import.draft.discarded',
      editor: caller.userId,
    });
    await changeDraft(db, importId, 'discard', { values: { result: null, error: null }, sequence });
  });
}

/**
 * Guesses that one process makes at the same time. Each reads the beginning of the files, and tries some forty
 * sources.
 */
export const guesses = openSlots({ perCaller: 2, perOrg: 4, total: 8, id: 'DRAFT-GUESSES', what: 'guesses' });

/** Requests with bytes of files that one process serves at the same time. Each takes some megabytes of memory. */
export const pieces = openSlots({
  perCaller: 8,
  perOrg: 16,
  total: 32,
  id: 'UPLOAD-REQUESTS',
  what: 'uploads of files',
});
