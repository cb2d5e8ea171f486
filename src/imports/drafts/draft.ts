/**
 * A draft: an import that is being prepared. Its files are uploaded and converted to entries, and these are checked;
 * when it starts, the same entries are imported under the same id.
 *
 * The state is that of the import's own row, whose kind is `draft` until it starts. What only a draft has is in
 * `import_preparations`. Whoever changes a draft locks its row there first, then the row of the import.
 *
 * Guarantee: no worker writes a user of a draft. A draft that has expired is not found, whether or not it has been
 * erased yet.
 */
import type { FileKind } from '../../contract/import-results.ts';
import type { Counts, ImportResult } from '../../contract/import-types.ts';
import type { OperationId } from '../../contract/operations.ts';
import { type Caller, may, orgsFor, permissionDenied } from '../../contract/permissions.ts';
import type { Finder } from '../../contract/serve.ts';
import type { PepperMode } from '../../passwords/marks.ts';
import { details } from '../../platform/db/events.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import { ApiError, type ErrorBody } from '../../platform/errors.ts';
import type { ExistingRule } from '../entries/options.ts';
import type { CountedFacts } from '../entries/sign-in-tally.ts';
import { ACTIONS, type DraftAction, type DraftState, shownState, wrongState } from '../entries/states.ts';
import type { OrgTally } from '../intake/accept.ts';
import type { UsedSources } from '../intake/requirements.ts';
import { importNotFound, readProgress } from '../status/progress.ts';
import type { ShownResult } from '../status/result.ts';
import { LIVE_ROLES } from '../status/workers.ts';

const COLUMNS = `i.id as "importId", i.created_by as "createdBy", i.resource_owner as "resourceOwner",
  coalesce(nullif(d.result->>'source', ''), d.conversion->>'source', i.source) as source, d.org_id as "orgId", d.orgs, d.conversion, d.progress, d.result, d.error, d.settings, d.check_id as "checkId", i.created_at as "createdAt",
  (select p.mode from import_peppers p where p.import_id = d.import_id) as pepper,
  i.changed_at as "changedAt", d.expires_at as "expiresAt", i.sequence,
  case when i.state = 'checking' and c.state <> 'running' and c.state <> 'paused' then 'checked' else i.state::text end as state,
  (select coalesce(jsonb_agg(jsonb_build_object('fileId', file_id, 'name', name, 'kind', kind, 'size', size,
     'offset', received) order by created_at, file_id), '[]') from import_files f where f.import_id = d.import_id) as files`;

/** A check is over when its dry run is. */
const SHOWN = `from import_preparations d join imports i on i.id = d.import_id left join imports c on c.id = d.check_id
  where i.kind = 'draft' and d.expires_at > clock_timestamp()`;

const NO_COUNTS: Counts = {
  total: 0,
  pending: 0,
  succeeded: 0,
  skipped: 0,
  failed: 0,
  timedOut: 0,
  cancelled: 0,
  undone: 0,
};

export interface DraftFile {
  fileId: string;
  name: string;
  kind: FileKind;
  /** Bytes. */
  size: number;
  /** Bytes that have arrived. */
  offset: number;
}

/** How the files become entries: the body of `_convert`. */
export interface ConversionOptions {
  source?: string;
  mapping?: Record<string, string>;
  hashFormat?: string;
  orgId?: string;
  idPrefix?: string;
  quoteAddresses?: boolean;
  unknownPasswords?: 'keep' | 'drop';
  passkeyRpId?: string;
  format?: string;
  encoding?: string;
  sheet?: string;
  strict?: boolean;
  withoutEmail?: boolean;
  passwordSource?: string;
}

/** What a check or a start asks for. */
export interface RunSettings {
  timeout: string;
  onExisting: ExistingRule;
  mails: 'auto' | 'none';
  /** Absent in checks that an earlier version stored. */
  enterpriseMailCodes?: boolean;
  /** User id of the caller. */
  by: string;
}

/**
 * What the latest conversion found, or the body that the entries came in. Everything that depends on the content of a
 * file is bounded.
 */
export interface ConversionResult {
  source: string;
  title: string;
  total: number;
  failed: number;
  orgs: OrgTally[];
  /**
   * As a person reads it: hashes by scheme, what was changed, skipped or cannot be read. Absent if no file was read.
   */
  summary?: Record<string, unknown>;
  broken: number;
  warnings: unknown[];
  hasDuplicates: boolean;
  /** Users without an email address are allowed. */
  withoutEmail: boolean;
  /** How long the slowest hash takes to verify, in milliseconds. */
  slowestMs: number;
  /** For a check: the hashes by scheme as a dry run reports them. */
  hashes: unknown[];
  /** Verifies the first sign-in of users without a password of their own. */
  passwordSource?: string | undefined;
  /** The password sources of its users. */
  sources?: UsedSources;
  /** How its users sign in; 'changed': entries were corrected since; absent: an earlier version wrote them. */
  signIns?: CountedFacts[] | 'changed' | undefined;
}

export interface Draft {
  importId: string;
  state: DraftState;
  createdBy: string;
  resourceOwner: string;
  /** The system that its users come from, as its files were converted or as the request said. */
  source: string | undefined;
  orgId: string | undefined;
  /** The organizations of its users, as far as they are known. */
  orgs: string[];
  conversion: ConversionOptions | undefined;
  /** How the pepper of its hashes was added, which is stored apart. */
  pepper: PepperMode | undefined;
  progress: { bytes: number; totalBytes: number; users: number } | undefined;
  result: ConversionResult | undefined;
  error: ErrorBody | undefined;
  /** What the latest check asked for. */
  settings: RunSettings | undefined;
  checkId: string | undefined;
  files: DraftFile[];
  createdAt: Date;
  changedAt: Date;
  expiresAt: Date;
  sequence: string;
}

type Nullable<T> = { [K in keyof T]: undefined extends T[K] ? NonNullable<T[K]> | null : T[K] };

function toDraft(row: Nullable<Draft>): Draft {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined])) as unknown as Draft;
}

/** Undefined when there is no such draft: it never existed, has expired or has started. */
export async function readDraft(db: Db, importId: string): Promise<Draft | undefined> {
  if (!/^\d{1,18}$/.test(importId)) return undefined;
  const { rows } = await db.query<Nullable<Draft>>({
    name: 'draft',
    text: `select ${COLUMNS} ${SHOWN} and d.import_id = $1`,
    values: [importId],
  });
  return rows[0] && toDraft(rows[0]);
}

/** The draft with its row locked, for a change of its state. @throws ApiError 400 when it has started meanwhile; 404 */
export async function lockDraft(db: Db, importId: string): Promise<Draft> {
  await db.query('select from import_preparations where import_id = $1 for update', [importId]);
  const draft = await readDraft(db, importId);
  if (draft) return draft;
  const { rowCount } = await db.query(`select from imports where id = $1 and kind <> 'draft'`, [importId]);
  throw rowCount === 1 ? startedMeanwhile() : importNotFound();
}

/** What a request changes of a draft. */
interface DraftChange {
  /** Columns of import_preparations, by their names. */
  values?: Record<string, unknown>;
  /** The work that the state waits for, a conversion or a check, begins now, without an attempt yet. */
  isWork?: boolean;
  /** Of the audit event. */
  sequence?: string;
}

/**
 * Brings a draft, whose row is locked, to the state to which the action leads. Work that is under way is over: its worker
 * has another `run`.
 */
export async function changeDraft(
  db: Db,
  importId: string,
  action: DraftAction,
  { values = {}, isWork = false, sequence }: DraftChange = {},
): Promise<void> {
  const set = Object.keys(values).map((name, i) => `, ${name} = $${i + 3}`);
  await db.query(
    `update import_preparations set run = run + 1, attempts = 0, requested_at = case when $2 then clock_timestamp() end
       ${set.join('')} where import_id = $1`,
    [importId, isWork, ...Object.values(values)],
  );
  await db.query(
    `update imports set state = $2, changed_at = clock_timestamp(), sequence = coalesce($3, sequence)
     where id = $1 and kind = 'draft'`,
    [importId, ACTIONS[action].to, sequence ?? null],
  );
}

function startedMeanwhile(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'IMPORT-STATE', 'The import has started meanwhile.');
}

interface DraftList {
  /** Only drafts of this user, and drafts whose organizations are known and all in this list; undefined: all drafts. */
  of: { userId: string; within: string[] } | undefined;
  pageSize: number;
  /** Only drafts older than this id. */
  before: string | undefined;
}

/** Newest first. */
export async function listDrafts(db: Db, { of, pageSize, before }: DraftList): Promise<Draft[]> {
  const { rows } = await db.query<Nullable<Draft>>({
    name: 'list-drafts',
    text: `select ${COLUMNS} ${SHOWN} and i.state <> 'discarded'
        and ($1::text is null or i.created_by = $1 or d.orgs <> '{}' and d.orgs <@ $2::text[])
        and ($3::bigint is null or i.id < $3)
      order by i.id desc limit $4`,
    values: [of?.userId ?? null, of?.within ?? null, before ?? null, pageSize],
  });
  return rows.map(toDraft);
}

/** The state as the API shows it. */
export function stateOf(draft: Draft): string {
  return shownState(draft.state);
}

/**
 * Whether the caller may do the operation: its creator, as long as they may import at all, and everybody who may do it
 * on all organizations of its users, if these are known.
 */
export function mayOnDraft(caller: Caller, operation: OperationId, draft: Draft): boolean {
  if (caller.isIamOwner) return true;
  if (draft.createdBy === caller.userId) return [...caller.orgRoles.keys()].some((id) => may(caller, operation, id));
  return draft.orgs.length > 0 && draft.orgs.every((orgId) => may(caller, operation, orgId));
}

/** The draft, if the caller may see it; undefined when there is none. @throws ApiError 403 */
export async function findDraft(
  db: Pool,
  caller: Caller,
  operation: OperationId,
  importId: string,
): Promise<Draft | undefined> {
  const draft = await readDraft(db, importId);
  if (draft && !mayOnDraft(caller, operation, draft)) throw permissionDenied();
  return draft;
}

/** A draft, or the import that it has become. */
export interface DraftOrImport {
  /** @param done completes "An import in state … cannot be …" @throws ApiError 400 when it has started */
  draft(done: string): Draft;
}

/**
 * The draft of the path, for callers who may do the operation. Whether it has started is told when the handler asks for
 * it, after the body was read.
 */
export function visibleDraft(pool: Pool): Finder<'import', DraftOrImport> {
  return {
    of: 'import',
    async find({ caller, operation, req }) {
      orgsFor(caller, operation);
      const importId = String(req.params.importId);
      const draft = await findDraft(pool, caller, operation, importId);
      if (draft) return { draft: () => draft };
      const started = await readProgress(pool, importId);
      if (!started?.orgs.every(({ orgId }) => may(caller, operation, orgId)))
        throw caller.isIamOwner ? importNotFound() : permissionDenied();
      return {
        draft(done) {
          throw wrongState(started.state, done);
        },
      };
    },
  };
}

/** The dry run of a check, as its draft shows it. */
type Check = Pick<ImportResult, 'importId' | 'state' | 'counts'>;

/** An import in preparation, with the members of any import; the members of a draft alone are in `draft`. */
type DraftProgress = ImportResult & { draft: ShownDraft };

type ShownDraft = NonNullable<ImportResult['draft']>;

/** The draft as an import whose users are all pending or failed. */
export function draftProgress(draft: Draft, check?: Check): DraftProgress {
  const { result, source } = draft;
  const counts = ({ total, failed, skipped = 0 }: { total: number; failed: number; skipped?: number }): Counts => ({
    ...NO_COUNTS,
    total,
    failed,
    skipped,
    pending: total - failed - skipped,
  });
  return {
    importId: draft.importId,
    state: stateOf(draft),
    dryRun: false,
    ...(source ? { source } : {}),
    timeout: '',
    deadline: draft.expiresAt.toISOString(),
    counts: result ? counts({ ...result, skipped: skippedOf(result) }) : NO_COUNTS,
    mails: { pending: 0, held: 0, sent: 0, failed: 0 },
    usersPerSecond: 0,
    eta: null,
    orgs: result
      ? result.orgs.map((org) => ({ orgId: org.orgId, counts: counts(org) }))
      : draft.orgs.map((orgId) => ({ orgId, counts: NO_COUNTS })),
    details: details({
      sequence: draft.sequence,
      createdAt: draft.createdAt,
      changedAt: draft.changedAt,
      resourceOwner: draft.resourceOwner,
    }),
    draft: shownDraft(draft, check),
  };
}

function shownDraft(draft: Draft, check: Check | undefined): ShownDraft {
  const summary = draft.result?.summary;
  return {
    createdBy: draft.createdBy,
    expiresAt: draft.expiresAt.toISOString(),
    orgId: draft.orgId ?? '',
    files: draft.files,
    source: draft.source ?? '',
    ...(draft.conversion ? { conversion: draft.conversion as NonNullable<ShownDraft['conversion']> } : {}),
    ...(draft.pepper ? { pepper: draft.pepper } : {}),
    ...(draft.settings ? { settings: shownSettings(draft.settings) } : {}),
    ...(draft.state === 'converting' && draft.progress ? { progress: draft.progress } : {}),
    ...(summary ? { summary: summary as ShownDraft['summary'] & object } : {}),
    ...(draft.error ? { error: draft.error } : {}),
    ...(check ? { check } : {}),
  };
}

function skippedOf({ orgs }: ConversionResult): number {
  return orgs.reduce((sum, { skipped = 0 }) => sum + skipped, 0);
}

function shownSettings({ by: _, ...shown }: RunSettings): Omit<RunSettings, 'by'> {
  return shown;
}

/** The draft as `GET` shows it, with its check. */
export async function draftResult(pool: Pool, draft: Draft): Promise<ShownResult> {
  const found = draft.checkId === undefined ? undefined : await readProgress(pool, draft.checkId);
  const check = found && { importId: found.importId, state: found.state, counts: found.counts };
  const waits = draft.state === 'converting' || (draft.state === 'checking' && check?.state !== 'IMPORT_STATE_PAUSED');
  return {
    ...draftProgress(draft, check),
    ...(waits && !(await isAnyConverter(pool)) ? { missingRoles: ['convert'] } : {}),
    warnings: (draft.result?.warnings ?? []) as ShownResult['warnings'],
    errors: [],
    success: { orgs: [] },
  };
}

async function isAnyConverter(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ live: boolean }>(`select ${LIVE_ROLES} @> array['convert'] as live`);
  return rows[0]?.live === true;
}
