/**
 * Receives the body of a bulk import: parses it, validates each user, writes the items by COPY, and starts the
 * import, or keeps the draft, in one transaction.
 *
 * Guarantee: when `receiveImport` returns, every user of the body is durable and the import is running, or a draft;
 * when it throws, nothing of it remains. On crash: the import is still in state `receiving`, so it is invisible, no
 * worker touches it, and the sweep removes it.
 */
import { parseDuration } from '../../contract/import-options.ts';
import type { Caller } from '../../contract/permissions.ts';
import { requireWithinLimits } from '../../directory/organization-limits.ts';
import { rememberSlow } from '../../directory/users/slow-hashes.ts';
import type { Pepper } from '../../passwords/pepper.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { isStoreFault, retryWhileUnavailable } from '../../platform/db/faults.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { annotate, inSpan } from '../../platform/telemetry.ts';
import { bounded, foreignFormat, HEAD_BYTES } from '../entries/body.ts';
import { openDraftNotes, openNotes } from '../entries/notes.ts';
import { auditOf, type ImportDeps, type ImportOptions, keepOptions, requireTimeout } from '../entries/options.ts';
import { publishBatch, type SettledBatch } from '../entries/outcome.ts';
import type { BodyParser, Step } from '../entries/parser.ts';
import { activate, createReceiving, discard, type OrgTally, touchReceiving } from './accept.ts';
import { EntryShapes } from './fast/alike-entries.ts';
import { AlreadyAccepted, claimKey, type KeyedRequest, requestHashes } from './idempotency.ts';
import { type EntriesOf, ItemSink, type Stored, workersReadCompact } from './item-sink.ts';
import { keepPepper } from './pepper.ts';
import { badField, bodyOrgs } from './requirements.ts';

export interface IntakeOptions {
  parser: BodyParser;
  strict: boolean;
  /** The system that the users come from. */
  source?: string | undefined;
  keyed?: KeyedRequest | undefined;
  /** What the old system added to the passwords before it hashed them. */
  pepper?: Pepper | undefined;
  /** Absent when all options have their defaults. */
  special?: ImportOptions | undefined;
  /** Called in the transaction that makes the users visible: the caller may still import into these organizations. */
  stillAllowed?: ((db: Db, orgIds: readonly string[]) => Promise<void>) | undefined;
  /** Keeps the users as a draft, which starts later with options of its own. */
  keepDraft?: KeepDraft | undefined;
  /** Parses and validates every entry, without the fast path (fast/README.md): for tests that compare the two. */
  withoutFastPath?: boolean | undefined;
}

/** Called in the transaction that makes the draft visible. */
export type KeepDraft = (db: Db, received: Received) => Promise<void>;

/** A body whose users are all stored. */
export interface Received extends Stored {
  importId: string;
  orgs: OrgTally[];
  withoutEmail: boolean;
  passwordSource: string | undefined;
}

const TOUCH_MS = 30_000;
/** How long to wait for a database that is lost during the commit, before the caller gets an error. */
const COMMIT_CHECK_MS = 10_000;
/** Unknown fields that an error names. */
const MOST_NAMED = 10;

/**
 * @param body the decoded bytes
 * @returns the id of the import, which is running, or has ended if none of its users is valid. If an equal request with
 *   the same idempotency key was accepted meanwhile, the id of that import
 * @throws ApiError for the first fatal problem in body order; 409 for a key that was used for a different request; 413
 *   when the body is larger than MAX_IMPORT_BYTES
 */
export function receiveImport(
  deps: ImportDeps,
  caller: Caller,
  body: AsyncIterable<Buffer>,
  options: IntakeOptions,
): Promise<string> {
  return inSpan('import.receive', {}, () => receive(deps, new BodyIntake(deps, caller, options), body, options));
}

async function receive(
  deps: ImportDeps,
  intake: BodyIntake,
  body: AsyncIterable<Buffer>,
  options: IntakeOptions,
): Promise<string> {
  let head: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of bounded(body, deps.config.MAX_IMPORT_BYTES)) {
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES)]);
      options.keyed?.hash.update(chunk);
      for (const step of options.parser.push(chunk)) await intake.take(step);
      await intake.write();
    }
    for (const step of options.parser.end()) await intake.take(step);
    return await intake.accept();
  } catch (error) {
    if (isStoreFault(error) && (await intake.isAccepted())) return intake.importId;
    await intake.abandon();
    if (error instanceof AlreadyAccepted) return error.recorded.importId;
    throw foreignBody(error, head) ?? error;
  }
}

/** A better error for a body that is not JSON, if its format is known. */
function foreignBody(error: unknown, head: Buffer): ApiError | undefined {
  const message = error instanceof ApiError && error.id === 'REQUEST-JSON' ? foreignFormat(head) : undefined;
  return message === undefined ? undefined : invalidArgument('IMPORT-FORMAT', message);
}

/** One body; `take` its steps in order and `write` from time to time, then `accept` or `abandon` it. */
class BodyIntake {
  private readonly deps: ImportDeps;
  private readonly caller: Caller;
  private readonly options: IntakeOptions;
  private readonly orgs;
  private readonly sink: ItemSink;
  importId = '';
  private touchedAt = Date.now();
  private timeout: string | undefined;
  private isAccepting = false;

  constructor(deps: ImportDeps, caller: Caller, options: IntakeOptions) {
    this.deps = deps;
    this.caller = caller;
    this.options = options;
    const { special, keepDraft, parser, pepper } = options;
    this.orgs = bodyOrgs(deps.pool, caller, keepDraft !== undefined);
    const notes = keepDraft ? openDraftNotes() : special && openNotes(special);
    if (!notes && !pepper && !options.withoutFastPath) parser.findShaped?.(new EntryShapes());
    this.sink = new ItemSink(deps, {
      rules: { strict: options.strict, withoutEmail: special?.withoutEmail ?? false },
      notes,
      passwordSource: special?.passwordSource,
      hasPepper: pepper !== undefined,
      entryPath: parser.entryPath,
      readCompact: () => workersReadCompact(deps.pool),
      beforeCopy: () => this.touch(),
    });
  }

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case 'timeout':
        return this.takeTimeout(step.value);
      case 'orgId':
        return this.orgs.take(step);
      case 'users':
        return this.sink.take(await this.runOf(step.org), step.entries, step.plain);
      case 'shaped':
        return this.sink.takeShaped(await this.runOf(step.org), step.shaped);
      case 'orgEnd':
        if (!step.hasId) throw badField(`dataOrgs.orgs[${step.org}].orgId`, 'is required');
        return;
      case 'unknown':
        return this.sink.warnings.unknown(step.path);
      case 'error':
        throw invalidArgument(
          step.error.id,
          step.error.message,
          step.error.field ? [{ field: step.error.field, description: step.error.message }] : [],
        );
      case 'end':
        return this.takeEnd(step);
    }
  }

  private takeTimeout(value: unknown): void {
    if (this.options.keepDraft) return; // its start names one
    requireTimeout(value, this.deps.config.MAX_IMPORT_TIMEOUT);
    this.timeout = value as string;
  }

  private async runOf(org: number): Promise<EntriesOf> {
    if (this.importId === '') await this.touch();
    return { org, tally: this.orgs.tally(org) };
  }

  write(): Promise<void> {
    return this.sink.write();
  }

  private takeEnd(step: Extract<Step, { type: 'end' }>): void {
    const others = this.otherFields();
    if (!step.hasDataOrgs) throw badField('dataOrgs', `is required${others}`);
    if (!step.hasOrgs) throw badField('dataOrgs.orgs', `is required${others}`);
    if (this.sink.total === 0) throw badField('dataOrgs.orgs', `must contain at least one user${others}`);
    if (!step.hasTimeout) this.takeTimeout(undefined);
  }

  /** The unknown fields of a body without users: its mistyped names, or that it is the error of another program. */
  private otherFields(): string {
    const paths = this.sink.warnings.list().map(({ path }) => `"${path}"`);
    return paths.length === 0 ? '' : `; not known: ${paths.slice(0, MOST_NAMED).join(', ')}`;
  }

  /**
   * Creates the import's row before its first item; later records from time to time that the upload is still active.
   */
  private async touch(): Promise<void> {
    if (this.importId === '') {
      this.importId = await createReceiving(this.deps.pool, this.caller, this.options.source);
      this.sink.begin(this.importId);
    } else if (Date.now() - this.touchedAt > Math.min(TOUCH_MS, this.deps.config.ABANDONED_AFTER_MS / 4))
      await touchReceiving(this.deps.pool, this.importId);
    else return;
    this.touchedAt = Date.now();
  }

  async accept(): Promise<string> {
    const stored = await this.sink.flush();
    const { keyed, special, keepDraft } = this.options;
    const hashes = keyed && requestHashes(keyed);
    // Before the users exist, so that their first failed login takes as long as a login of an unknown user.
    if (!keepDraft && !special?.dryRun) await rememberSlow(this.deps.pool, stored.slowestMs);
    this.isAccepting = true;
    if (keepDraft) {
      await transaction(this.deps.pool, (db) => this.keep(db, keepDraft, stored, hashes));
      return this.importId;
    }
    annotate({ 'muster.import.id': this.importId, 'muster.users': stored.total });
    const commit = () => transaction(this.deps.pool, (db) => this.commit(db, stored, hashes));
    publishBatch(await inSpan('import.accept', {}, commit));
    return this.importId;
  }

  private async requireAllowed(db: Db): Promise<void> {
    const orgIds = this.orgs.tallies.map(({ orgId }) => orgId).filter((orgId) => orgId !== '');
    await this.options.stillAllowed?.(db, [...new Set(orgIds)]);
  }

  /** Makes the draft visible. Call it in a transaction. */
  private async keep(db: Db, keepDraft: KeepDraft, stored: Stored, hashes: Buffer[] | undefined): Promise<void> {
    const { importId } = this;
    const { keyed, special, pepper } = this.options;
    await this.requireAllowed(db);
    await this.sink.sources.require(db, (org) => this.orgs.tallies[org]?.orgId ?? '');
    if (keyed && hashes) await claimKey(db, keyed, hashes, importId);
    if (pepper) await keepPepper(db, this.deps.secrets, importId, pepper);
    await keepDraft(db, {
      ...stored,
      importId,
      orgs: this.orgs.tallies,
      withoutEmail: special?.withoutEmail ?? false,
      passwordSource: special?.passwordSource,
    });
  }

  /** Makes the import visible. Call it in a transaction. */
  private async commit(db: Db, stored: Stored, hashes: Buffer[] | undefined): Promise<SettledBatch> {
    const { importId } = this;
    const { keyed, special, pepper } = this.options;
    await this.sink.sources.require(db, (org) => this.orgs.tallies[org]?.orgId ?? '');
    if (keyed && hashes) await claimKey(db, keyed, hashes, importId);
    const event = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: this.caller.orgId,
      type: 'import.accepted',
      editor: this.caller.userId,
      payload: { total: stored.total, ...(special && auditOf(special)), ...(pepper && { pepper: pepper.mode }) },
    });
    if (pepper && !special?.dryRun) await keepPepper(db, this.deps.secrets, importId, pepper);
    if (special) await keepOptions(db, importId, special, stored.hashes);
    const settled = await activate(db, {
      importId,
      sequence: event.sequence,
      timeout: this.timeout as string,
      timeoutMs: parseDuration(this.timeout as string) as number,
      warnings: stored.warnings,
      orgs: this.orgs.tallies,
      hasDuplicates: stored.hasDuplicates,
      signIns: stored.signIns,
      duplicates: { skips: special?.onExisting === 'skip', erases: special?.dryRun === true },
    });
    // Last, as it locks rights, and the steps before may take long.
    await this.requireAllowed(db);
    await requireWithinLimits(db, importId);
    return settled;
  }

  /**
   * Whether the import is running although its commit was never confirmed. Waits for the transaction, which locks the
   * row while it lasts. If the database stays unavailable, the outcome is unknown: the caller looks for the import in
   * the list, or sends the request again with its idempotency key.
   */
  async isAccepted(): Promise<boolean> {
    if (!this.isAccepting) return false;
    const readState = () =>
      this.deps.pool.query<{ visible: boolean }>(
        `select state <> 'receiving' as visible from imports where id = $1 for update`,
        [this.importId],
      );
    return retryWhileUnavailable(readState, { ms: COMMIT_CHECK_MS }).then(
      ({ rows: [row] }) => row?.visible === true,
      () => false,
    );
  }

  /**
   * Removes what was written. Never throws, so that the caller gets the original error; the sweep removes what is left.
   */
  async abandon(): Promise<void> {
    const isOver = await this.sink.close().then(
      () => true,
      // A COPY that lost its connection may still commit after a delete here; the sweep removes its rows later.
      (error) => !isStoreFault(error),
    );
    if (isOver && this.importId !== '') await discard(this.deps.pool, this.importId).catch(() => {});
  }
}
