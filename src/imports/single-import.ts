/**
 * Import of one user: an import with a single item, through the same queue and the same writer.
 *
 * Guarantee: answers 200 when the user is written and readable from every process; 504 at the server's timeout only if
 * the user is not written, and never will be, as every batch checks the import's deadline before it commits.
 * On crash: the job is in the queue, and the import runs until it ends or its deadline passes; the caller can look up
 * the user.
 */
import { errorIdOf, violationsOf } from '../contract/causes.ts';
import { type Caller, permissionDenied } from '../contract/permissions.ts';
import { hasUserLimit, requireWithinLimits } from '../directory/organization-limits.ts';
import { requireActiveOrg } from '../directory/organizations.ts';
import { rememberSlowHash } from '../directory/users/slow-hashes.ts';
import { sourceOf } from '../passwords/marks.ts';
import type { Pepper } from '../passwords/pepper.ts';
import { auditOfChange, auditValues, type Details, details } from '../platform/db/events.ts';
import { type Db, transaction } from '../platform/db/pool.ts';
import { type Optional, oneRow } from '../platform/db/rows.ts';
import type { ImportItems, Imports, Users } from '../platform/db/tables.ts';
import {
  ApiError,
  type ErrorBody,
  type ErrorId,
  invalidArgument,
  STATUS,
  type StatusName,
} from '../platform/errors.ts';
import { inSpan, traceContext } from '../platform/telemetry.ts';
import { ITEM_COLUMNS, itemValues } from './entries/item.ts';
import type { ImportDeps } from './entries/options.ts';
import { createWarningCounter, toItem, USUAL_RULES } from './entries/validate.ts';
import { AlreadyAccepted, claimKey, type KeyedRequest, keepAnswer, requestHashes } from './intake/idempotency.ts';
import { addPepper } from './intake/pepper.ts';
import { requireSources } from './intake/requirements.ts';
import { pointerJob, resetCursor } from './run/dispatch.ts';
import type { ImportSignal } from './status/watch.ts';
import { expireImport } from './upkeep/rescue.ts';

/** The parameters are caller, organization, timeout, trace, the values of the item, and the audit event. */
const CREATE = `
with imported as (
  insert into imports (kind, state, created_by, resource_owner, accepted_at, deadline, total, trace_context)
  select 'single', 'running', $1, o.id, clock_timestamp(), clock_timestamp() + $3 * interval '1 millisecond', 1, $4
  from organizations o where o.id = $2 and may_import_into($1, o.id)
  returning id, resource_owner
),
org as (
  insert into import_orgs (import_id, org_index, org_id, total) select id, 0, resource_owner, 1 from imported
),
-- This process adds the job itself; if the job is lost, the rescuer dispatches it again.
dispatch as (
  insert into import_dispatch (import_id, next_ordinal, dispatched) select id, 1, 1 from imported
),
item as (
  insert into import_items (import_id, ordinal, org_index, ${ITEM_COLUMNS.join(', ')})
  select id, 0, 0, ${ITEM_COLUMNS.map((_, i) => `$${i + 5}`).join(', ')} from imported
),
numbered as (select nextval('events_sequence_seq') as sequence from imported),
audited as (${auditOfChange('numbered', ITEM_COLUMNS.length + 5)})
select id from imported`;

export interface SingleAnswer {
  userId: string;
  details: Details;
  warnings?: { path: string; count: number; message: string }[];
}

/** Stores the import, and returns its id. */
type Create = (db: Db) => Promise<string>;

interface Outcome extends Optional<Pick<Users, 'sequence' | 'changed_at' | 'org_id'>> {
  state: Imports['state'];
  deadline_in_ms: number;
  error: ErrorBody | null;
  user_id: NonNullable<ImportItems['user_id']>;
}

/**
 * Imports the user.
 * @param body the single-import body, anything JSON can hold
 * @param pepper what the old system added to the password before it hashed it
 * @param keyed the idempotency key with the hash of the whole body, if the caller sent a key
 * @throws ApiError 400 naming every invalid field, 404 when the organization does not exist, 400 ORG-INACTIVE, ORG-LIMIT-USERS, 409 for a conflict or for
 *   a key that was used for a different request, 504 at the timeout
 */
export async function importOne(
  deps: ImportDeps & { signal: ImportSignal },
  caller: Caller,
  orgId: string,
  body: unknown,
  { keyed, pepper }: { keyed?: KeyedRequest | undefined; pepper?: Pepper | undefined } = {},
): Promise<SingleAnswer> {
  const warnings = createWarningCounter();
  const unknown = (path: string) => warnings.unknown(inBody(path));
  const item = toItem({ user: body }, deps.secrets, { unknown }, USUAL_RULES);
  if (item.state === 'failed') throw invalid(item.error);
  const sourceId = sourceOf(item.passwordHash);
  if (sourceId !== undefined) await requireSources(deps.pool, orgId, [sourceId]);
  else if (item.passwordHash !== null) await rememberSlowHash(deps.pool, item.passwordHash);
  const audit = { type: 'import.single.accepted', actor: caller.userId, userId: item.userId, orgId };
  const values = [
    caller.userId,
    orgId,
    deps.config.SINGLE_IMPORT_TIMEOUT_MS,
    traceContext() ?? null,
    ...itemValues(item),
    ...auditValues(audit),
  ];
  const isPeppered = item.passwordHash !== null && sourceId === undefined;
  const isLimited = await hasUserLimit(deps.pool, orgId);
  const create = (db: Db) =>
    createSingle(db, { orgId, values, isLimited }, deps.secrets, isPeppered ? pepper : undefined);
  const found = warnings.list();
  const withWarnings = found.length > 0 ? { warnings: found } : {};
  if (keyed) return importKeyed(deps, create, keyed, withWarnings);
  const importId = pepper || isLimited ? await transaction(deps.pool, create) : await create(deps.pool);
  return { ...(await enqueueAndWait(deps, importId)), ...withWarnings };
}

/** Imports the user with an idempotency key: if an equal request came first, waits for it and returns its answer. */
async function importKeyed(
  deps: ImportDeps & { signal: ImportSignal },
  create: Create,
  keyed: KeyedRequest,
  withWarnings: Pick<SingleAnswer, 'warnings'>,
): Promise<SingleAnswer> {
  const { importId, isNew, answer: given } = await createKeyed(deps, create, keyed);
  if (given) return given;
  const answer = { ...(await (isNew ? enqueueAndWait : waitForUser)(deps, importId)), ...withWarnings };
  await keepAnswer(deps.pool, keyed, importId, answer);
  return answer;
}

async function createKeyed(
  deps: ImportDeps,
  create: Create,
  keyed: KeyedRequest,
): Promise<{ importId: string; isNew: boolean; answer: SingleAnswer | null }> {
  const hashes = requestHashes(keyed);
  try {
    const importId = await transaction(deps.pool, async (db) => {
      const created = await create(db);
      await claimKey(db, keyed, hashes, created);
      return created;
    });
    return { importId, isNew: true, answer: null };
  } catch (error) {
    if (!(error instanceof AlreadyAccepted)) throw error;
    const { importId, answer } = error.recorded;
    return { importId, isNew: false, answer: answer as SingleAnswer | null };
  }
}

/** @param db a transaction where there is a pepper or a limit, so that no worker sees the user too early */
async function createSingle(
  db: Db,
  { orgId, values, isLimited }: { orgId: string; values: unknown[]; isLimited: boolean },
  secrets: ImportDeps['secrets'],
  pepper: Pepper | undefined,
): Promise<string> {
  const { rows } = await db.query<Pick<Imports, 'id'>>({ name: 'create-single', text: CREATE, values });
  if (!rows[0]) {
    await requireActiveOrg(db, orgId);
    throw permissionDenied(); // the caller lost the role while the body arrived
  }
  if (isLimited) await requireWithinLimits(db, rows[0].id, ['users']);
  if (pepper) await addPepper(db, secrets, rows[0].id, pepper);
  return rows[0].id;
}

/** Adds the job to the queue, and returns the outcome as soon as PostgreSQL notifies this process of it. */
async function enqueueAndWait(deps: ImportDeps & { signal: ImportSignal }, importId: string) {
  // Reading the outcome before would cost a statement and find the user unwritten.
  const woken = deps.signal.next(importId, deps.config.SINGLE_IMPORT_TIMEOUT_MS);
  void enqueue(deps, importId);
  await woken;
  return waitForUser(deps, importId);
}

/** Adds the job to the queue. Callers do not await it, as a silent queue must not delay the answer. Never throws. */
async function enqueue({ queues, pool }: ImportDeps, importId: string): Promise<void> {
  const added = inSpan('import.dispatch', { 'muster.import.id': importId, 'muster.users': 1 }, () =>
    queues.add('imports', [onlyJob(importId)]),
  );
  // If the queue is unavailable, the dispatcher adds the job; if the database is unavailable too, the rescuer does.
  await added.catch(() => resetCursor(pool, importId, false)).catch(() => {});
}

function onlyJob(importId: string) {
  const { id, data, shardNumber } = pointerJob(importId, 0);
  return { id, data: { ...data, only: true as const }, shardNumber, urgent: true };
}

/**
 * Waits until the import has written its one user.
 * @throws ApiError the item's error; 504 when the deadline passed first, in which case the user is never written
 */
async function waitForUser(
  deps: ImportDeps & { signal: ImportSignal },
  importId: string,
): Promise<{ userId: string; details: Details }> {
  for (;;) {
    const woken = deps.signal.next(importId, deps.config.SINGLE_IMPORT_TIMEOUT_MS);
    const outcome = await readOutcome(deps, importId);
    if (outcome.state === 'running') {
      if (outcome.deadline_in_ms <= 0) await expireImport(deps.pool, importId);
      else await Promise.race([woken, after(outcome.deadline_in_ms)]);
      continue;
    }
    if (outcome.state === 'succeeded') {
      return { userId: outcome.user_id, details: detailsOf(outcome) };
    }
    if (outcome.error) throw fromBody(outcome.error);
    throw new ApiError(
      'DEADLINE_EXCEEDED',
      'IMPORT-TIMEOUT',
      'The user was not imported in time, and will not be imported later.',
    );
  }
}

async function readOutcome(deps: ImportDeps, importId: string): Promise<Outcome> {
  const { rows } = await deps.pool.query<Outcome>({
    name: 'single-outcome',
    text: `select i.state, extract(epoch from i.deadline - clock_timestamp())::float8 * 1000 as deadline_in_ms, t.error,
        t.user_id, u.sequence, u.changed_at, u.org_id
      from imports i join import_items t on t.import_id = i.id and t.ordinal = 0
      left join users u on u.id = t.user_id and u.import_id = i.id
      where i.id = $1`,
    values: [importId],
  });
  return oneRow(rows);
}

function detailsOf(outcome: Outcome): Details {
  return details({
    sequence: outcome.sequence ?? '0',
    changedAt: outcome.changed_at ?? new Date(),
    resourceOwner: outcome.org_id ?? '',
  });
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

function fromBody(error: ErrorBody): ApiError {
  const name = (Object.keys(STATUS) as StatusName[]).find((s) => STATUS[s].code === error.code) ?? 'INTERNAL';
  return new ApiError(name, (errorIdOf(error) || 'IMPORT-FAILED') as ErrorId, error.message);
}

/** Converts the path of a field in an entry, `user.email.email`, to its path in this body, `email.email`. */
function inBody(path: string): string {
  return path.replace(/^user\.?/, '') || 'body';
}

function invalid(error: ErrorBody): ApiError {
  const violations = violationsOf(error);
  const inner = violations.map((v) => ({ ...v, field: inBody(v.field) }));
  return invalidArgument(
    'IMPORT-USER-INVALID',
    `The user has invalid fields: ${inner.map((v) => v.field).join(', ')}.`,
    inner,
  );
}
