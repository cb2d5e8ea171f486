/**
 * Import of one user (interface.md 4.5): an import of one item, through the same queue and the same writer.
 *
 * Guarantee: 200 when the user is written and readable from every process; 504 at the server's timeout only if he is not,
 * and then he never will be: the deadline is the import's own, held by the guard of every batch.
 * If we die here the job is in the queue and the import runs to its end or its deadline; the caller may look the user up.
 */
import { type Details, details } from '../db/events.ts';
import { ApiError, type ErrorBody, type FieldViolation, invalidArgument, STATUS, type StatusName } from '../errors.ts';
import type { Caller } from '../identity/caller.ts';
import { expireImport } from './deadline.ts';
import type { ImportDeps } from './deps.ts';
import { pointerJob, resetCursor } from './dispatch.ts';
import { COLUMNS, itemValues, type PendingItem } from './items.ts';
import type { ImportSignal } from './signal.ts';
import { toItem } from './validate.ts';
import { countWarnings } from './warnings.ts';

export interface SingleAnswer {
  userId: string;
  details: Details;
  warnings?: { path: string; count: number; message: string }[];
}

const ITEM_COLUMNS = COLUMNS.slice(3); // after import_id, ordinal, org_index
const CREATE = `
with imported as (
  insert into imports (kind, state, created_by, resource_owner, accepted_at, deadline, total)
  select 'single', 'running', $1, o.id, clock_timestamp(), clock_timestamp() + $3 * interval '1 millisecond', 1
  from organizations o where o.id = $2
  returning id, resource_owner
),
org as (
  insert into import_orgs (import_id, org_index, org_id, total) select id, 0, resource_owner, 1 from imported
),
-- The caller's process hands the job out itself; the rescuer does should it be lost.
dispatch as (
  insert into import_dispatch (import_id, next_ordinal, dispatched) select id, 1, 1 from imported
),
item as (
  insert into import_items (import_id, ordinal, org_index, ${ITEM_COLUMNS.join(', ')})
  select id, 0, 0, ${ITEM_COLUMNS.map((_, i) => `$${i + 4}`).join(', ')} from imported
)
select id from imported`;

/**
 * @param body the single-import body, anything JSON can hold
 * @throws ApiError 400 naming every bad field, 404 without such an organization, 409 for a clash, 504 at the timeout
 */
export async function importOne(
  deps: ImportDeps & { signal: ImportSignal },
  caller: Caller,
  orgId: string,
  body: unknown,
): Promise<SingleAnswer> {
  const warnings = countWarnings();
  const item = toItem({ user: body }, deps.secrets, { unknown: (path) => warnings.unknown(inBody(path)) }, false);
  if (item.state === 'failed') throw invalid(item.error);
  const importId = await create(deps, caller, orgId, item);
  await handOut(deps, importId);
  const answer = { userId: item.userId, details: await waitForUser(deps, importId) };
  const unknown = warnings.list();
  return unknown.length > 0 ? { ...answer, warnings: unknown } : answer;
}

async function create(deps: ImportDeps, caller: Caller, orgId: string, item: PendingItem): Promise<string> {
  const { rows } = await deps.pool.query<{ id: string }>({
    name: 'create-single',
    text: CREATE,
    values: [caller.userId, orgId, deps.config.SINGLE_IMPORT_TIMEOUT_MS, ...itemValues(item)],
  });
  if (!rows[0]) throw new ApiError('NOT_FOUND', 'ORG-NOT-FOUND', 'The organization does not exist.');
  return rows[0].id;
}

async function handOut(deps: ImportDeps, importId: string): Promise<void> {
  try {
    await deps.queues.add('imports', [{ ...pointerJob(importId, 0), urgent: true }]);
  } catch {
    await resetCursor(deps.pool, importId, false); // the queue is away: the dispatcher goes on from the row
  }
}

interface Outcome {
  state: string;
  deadline_in_ms: number;
  error: ErrorBody | null;
  sequence: string | null;
  changed_at: Date | null;
  org_id: string | null;
}

async function waitForUser(deps: ImportDeps & { signal: ImportSignal }, importId: string): Promise<Details> {
  for (;;) {
    const woken = deps.signal.next(importId, deps.config.SINGLE_IMPORT_TIMEOUT_MS);
    const outcome = await readOutcome(deps, importId);
    if (outcome.state === 'running') {
      if (outcome.deadline_in_ms <= 0) await expireImport(deps.pool, importId);
      else await Promise.race([woken, after(outcome.deadline_in_ms)]);
      continue;
    }
    if (outcome.state === 'succeeded') {
      return details({
        sequence: outcome.sequence ?? '0',
        changedAt: outcome.changed_at ?? new Date(),
        resourceOwner: outcome.org_id ?? '',
      });
    }
    if (outcome.error) throw fromBody(outcome.error);
    throw new ApiError('DEADLINE_EXCEEDED', 'IMPORT-TIMEOUT', 'The user was not imported in time, and will not be.');
  }
}

async function readOutcome(deps: ImportDeps, importId: string): Promise<Outcome> {
  const { rows } = await deps.pool.query<Outcome>({
    name: 'single-outcome',
    text: `select i.state, extract(epoch from i.deadline - clock_timestamp())::float8 * 1000 as deadline_in_ms, t.error,
        u.sequence, u.changed_at, u.org_id
      from imports i join import_items t on t.import_id = i.id and t.ordinal = 0
      left join users u on u.id = t.user_id and u.import_id = i.id
      where i.id = $1`,
    values: [importId],
  });
  return rows[0] as Outcome;
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** Paths of an entry are `user.email.email`; in this body the user stands alone. */
function inBody(path: string): string {
  return path.replace(/^user\.?/, '') || 'body';
}

function invalid(error: ErrorBody): ApiError {
  const violations = error.details.flatMap((d) => (d.fieldViolations as FieldViolation[] | undefined) ?? []);
  const inner = violations.map((v) => ({ ...v, field: inBody(v.field) }));
  return invalidArgument(
    'IMPORT-USER-INVALID',
    `The user has bad fields: ${inner.map((v) => v.field).join(', ')}`,
    inner,
  );
}

function fromBody(error: ErrorBody): ApiError {
  const name = (Object.keys(STATUS) as StatusName[]).find((s) => STATUS[s].code === error.code) ?? 'INTERNAL';
  return new ApiError(name, String(error.details[0]?.id ?? 'IMPORT-FAILED'), error.message);
}
