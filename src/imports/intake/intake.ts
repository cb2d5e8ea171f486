/**
 * Receives the body of a bulk import: parses it, validates each user, writes the items by COPY, and starts the
 * import, or keeps the draft, in one transaction.
 *
 * Guarantee: when `receiveImport` returns, every user of the body is durable and the import is running, or a draft;
 * when it throws, nothing of it remains. On crash: the import is still in state `receiving`, so it is invisible, no
 * worker touches it, and the sweep removes it.
 */
import { setImmediate } from 'node:timers/promises';
import { parseDuration } from '../../contract/import-options.ts';
import type { Caller } from '../../contract/permissions.ts';
import { requireWithinLimits } from '../../directory/organization-limits.ts';
import { rememberSlow, slowMs } from '../../directory/users/slow-hashes.ts';
import type { Pepper } from '../../passwords/pepper.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { isStoreFault, retryWhileUnavailable } from '../../platform/db/faults.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { annotate, inSpan } from '../../platform/telemetry.ts';
import { bounded, foreignFormat, HEAD_BYTES } from '../entries/body.ts';
import { CopyRows } from '../entries/copy-rows.ts';
import { createDuplicateFilter, type DuplicateFilter, ID, NAME } from '../entries/duplicate-filter.ts';
import { copyLine, type Item } from '../entries/item.ts';
import { type HashCount, openDraftNotes, openNotes } from '../entries/notes.ts';
import { auditOf, type ImportDeps, type ImportOptions, keepOptions, requireTimeout } from '../entries/options.ts';
import { publishBatch, type SettledBatch } from '../entries/outcome.ts';
import type { BodyParser, Step } from '../entries/parser.ts';
import { createWarningCounter, type EntryRules, toItem } from '../entries/validate.ts';
import { activate, createReceiving, discard, type OrgTally, touchReceiving } from './accept.ts';
import { openCopyWriter } from './copy.ts';
import { EntryShapes, marksAt, parseAt } from './fast/alike-entries.ts';
import { ShapedLines } from './fast/alike-lines.ts';
import { AlreadyAccepted, claimKey, type KeyedRequest, requestHashes } from './idempotency.ts';
import { keepPepper, takePepper } from './pepper.ts';
import { badField, bodyOrgs, bodySources, type UsedSources } from './requirements.ts';

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
export interface Received {
  importId: string;
  total: number;
  tallies: OrgTally[];
  warnings: unknown[];
  hasDuplicates: boolean;
  hashes: HashCount[];
  slowestMs: number;
  withoutEmail: boolean;
  passwordSource: string | undefined;
  sources: UsedSources;
}

const TOUCH_MS = 30_000;
/** How long to wait for a database that is lost during the commit, before the caller gets an error. */
const COMMIT_CHECK_MS = 10_000;
/**
 * Other requests get their turn after this time, as some entries are slow to validate (plain passwords are encrypted).
 */
const MOST_AT_ONCE_MS = 20;
/** Entries between two readings of the clock. */
const ENTRIES_PER_READING = 16;
/** The hashes of the first users are all examined, later ones in samples: a system rarely mixes its hashes. */
const ALL_EXAMINED = 1000;
const EXAMINED_EACH = 16;
/** Rows are collected before a COPY takes a connection: a slow client holds none while its users arrive one by one. */
const LEAST_COPY_BYTES = 256 * 2 ** 10;
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
  private readonly warnings = createWarningCounter();
  private readonly entryWarnings;
  private readonly notes;
  private readonly copy;
  private readonly orgs;
  private readonly sources;
  private filter: DuplicateFilter | undefined;
  importId = '';
  private touchedAt = Date.now();
  /** The rows that have not been sent. */
  private readonly rows = new CopyRows();
  private readonly lines = new ShapedLines(this.rows);
  private ordinal = 0;
  private duplicates = 0;
  /** What the slowest hash of the body takes; see `slowMs`. */
  private slowestMs = 0;
  private timeout: string | undefined;
  private isAccepting = false;
  private readonly rules: EntryRules;

  constructor(deps: ImportDeps, caller: Caller, options: IntakeOptions) {
    this.deps = deps;
    this.caller = caller;
    this.options = options;
    this.orgs = bodyOrgs(deps.pool, caller, options.keepDraft !== undefined);
    this.sources = bodySources(options.special?.passwordSource);
    const { entryPath } = options.parser;
    this.entryWarnings = { unknown: (path: string) => this.warnings.unknown(`${entryPath}${path}`) };
    this.rules = { strict: options.strict, withoutEmail: options.special?.withoutEmail ?? false };
    this.notes = options.keepDraft ? openDraftNotes() : options.special && openNotes(options.special);
    const needsEntries = this.notes || options.pepper || options.special?.passwordSource;
    if (!needsEntries && !options.withoutFastPath) options.parser.findShaped?.(new EntryShapes());
    this.copy = openCopyWriter(deps.uploadPool ?? deps.pool, () => this.touch(), deps.config.DATABASE_TIMEOUT_MS);
  }

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case 'timeout':
        return this.takeTimeout(step.value);
      case 'orgId':
        return this.orgs.take(step);
      case 'users':
        return this.takeUsers(step);
      case 'shaped':
        return this.takeShaped(step);
      case 'orgEnd':
        if (!step.hasId) throw badField(`dataOrgs.orgs[${step.org}].orgId`, 'is required');
        return;
      case 'unknown':
        return this.warnings.unknown(step.path);
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

  private async takeUsers({ org, entries, plain }: Extract<Step, { type: 'users' }>): Promise<void> {
    const tally = this.orgs.tally(org);
    if (this.importId === '') await this.touch();
    let since = performance.now();
    for (const [n, entry] of entries.entries()) {
      if (n % ENTRIES_PER_READING === 0 && performance.now() - since > MOST_AT_ONCE_MS) {
        await setImmediate();
        since = performance.now();
      }
      const item = toItem(entry, this.deps.secrets, this.entryWarnings, this.rules, plain);
      this.sources.take(org, item);
      this.notes?.take(entry, item);
      tally.total++;
      if (item.state === 'failed') tally.failed++;
      else if (item.passwordHash !== null) this.examine(item.passwordHash);
      if (this.options.pepper) takePepper(item, this.importId);
      const duplicate = item.state === 'pending' && this.maybeDuplicate(item);
      if (duplicate) this.duplicates++;
      this.rows.add(copyLine(this.importId, this.ordinal++, org, duplicate, item, plain));
    }
  }

  /** The fast path: takes users without an object for each, unless a user is not a common one after all. */
  private async takeShaped({ org, shaped }: Extract<Step, { type: 'shaped' }>): Promise<void> {
    const tally = this.orgs.tally(org);
    if (this.importId === '') await this.touch();
    const { lines } = this;
    for (let at = 0; at < shaped.marks.length; at += marksAt(shaped, at)) {
      if (!lines.add(shaped, at, this.ordinal, org)) {
        await this.takeUsers({ type: 'users', org, entries: [parseAt(shaped, at)], plain: true });
        continue;
      }
      this.ordinal++;
      tally.total++;
      if (lines.hash !== undefined) this.examine(lines.hash);
      this.filter ??= createDuplicateFilter();
      if (lines.markDuplicate(this.filter)) this.duplicates++;
    }
  }

  private examine(hash: string): void {
    if (this.ordinal < ALL_EXAMINED || this.ordinal % EXAMINED_EACH === 0)
      this.slowestMs = Math.max(this.slowestMs, slowMs(hash));
  }

  /** Sends the rows collected so far to PostgreSQL, if they are worth a COPY or one is open. */
  async write(): Promise<void> {
    if (this.copy.isOpen || this.rows.length >= LEAST_COPY_BYTES) await this.send();
  }

  private async send(): Promise<void> {
    if (this.rows.length > 0) this.rows.clear(await this.copy.write(this.rows.lines));
  }

  private takeEnd(step: Extract<Step, { type: 'end' }>): void {
    const others = this.otherFields();
    if (!step.hasDataOrgs) throw badField('dataOrgs', `is required${others}`);
    if (!step.hasOrgs) throw badField('dataOrgs.orgs', `is required${others}`);
    if (this.ordinal === 0) throw badField('dataOrgs.orgs', `must contain at least one user${others}`);
    if (!step.hasTimeout) this.takeTimeout(undefined);
  }

  /** The unknown fields of a body without users: its mistyped names, or that it is the error of another program. */
  private otherFields(): string {
    const paths = this.warnings.list().map(({ path }) => `"${path}"`);
    return paths.length === 0 ? '' : `; not known: ${paths.slice(0, MOST_NAMED).join(', ')}`;
  }

  private maybeDuplicate(item: Extract<Item, { state: 'pending' }>): boolean {
    this.filter ??= createDuplicateFilter();
    const id = this.filter.add(item.userId, ID);
    const name = this.filter.add(item.userNameKey, NAME);
    return id || name;
  }

  /**
   * Creates the import's row before its first item; later records from time to time that the upload is still active.
   */
  private async touch(): Promise<void> {
    if (this.importId === '') {
      this.importId = await createReceiving(this.deps.pool, this.caller, this.options.source);
      this.lines.begin(this.importId);
    } else if (Date.now() - this.touchedAt > Math.min(TOUCH_MS, this.deps.config.ABANDONED_AFTER_MS / 4))
      await touchReceiving(this.deps.pool, this.importId);
    else return;
    this.touchedAt = Date.now();
  }

  async accept(): Promise<string> {
    await this.send();
    await this.copy.flush();
    const { keyed, special, keepDraft } = this.options;
    const hashes = keyed && requestHashes(keyed);
    if (keepDraft) return this.keep(keepDraft, hashes);
    // Before the users exist, so that their first failed login takes as long as a login of an unknown user.
    if (!special?.dryRun) await rememberSlow(this.deps.pool, this.slowestMs);
    this.isAccepting = true;
    annotate({ 'muster.import.id': this.importId, 'muster.users': this.ordinal });
    const settled = await inSpan('import.accept', {}, () => this.commit(hashes));
    publishBatch(settled);
    return this.importId;
  }

  private async requireAllowed(db: Db): Promise<void> {
    const orgIds = this.orgs.tallies.map(({ orgId }) => orgId).filter((orgId) => orgId !== '');
    await this.options.stillAllowed?.(db, [...new Set(orgIds)]);
  }

  /** Makes the draft visible, in one transaction. */
  private async keep(keepDraft: KeepDraft, hashes: Buffer[] | undefined): Promise<string> {
    const { keyed, special, pepper } = this.options;
    const { importId, ordinal: total, slowestMs, duplicates } = this;
    this.isAccepting = true;
    await transaction(this.deps.pool, async (db) => {
      await this.requireAllowed(db);
      await this.sources.require(db, (org) => this.orgs.tallies[org]?.orgId ?? '');
      if (keyed && hashes) await claimKey(db, keyed, hashes, importId);
      if (pepper) await keepPepper(db, this.deps.secrets, importId, pepper);
      await keepDraft(db, {
        importId,
        total,
        slowestMs,
        hasDuplicates: duplicates > 0,
        tallies: this.orgs.tallies,
        warnings: this.warnings.list(),
        hashes: this.notes?.hashes() ?? [],
        sources: this.sources.used(),
        withoutEmail: this.rules.withoutEmail,
        passwordSource: special?.passwordSource,
      });
    });
    return importId;
  }

  /** Makes the import visible, in one transaction. */
  private commit(hashes: Buffer[] | undefined): Promise<SettledBatch> {
    const { keyed, special, pepper } = this.options;
    return transaction(this.deps.pool, async (db) => {
      await this.sources.require(db, (org) => this.orgs.tallies[org]?.orgId ?? '');
      if (keyed && hashes) await claimKey(db, keyed, hashes, this.importId);
      const event = await appendEvent(db, {
        aggregateType: 'import',
        aggregateId: this.importId,
        resourceOwner: this.caller.orgId,
        type: 'import.accepted',
        editor: this.caller.userId,
        payload: { total: this.ordinal, ...(special && auditOf(special)), ...(pepper && { pepper: pepper.mode }) },
      });
      if (pepper && !special?.dryRun) await keepPepper(db, this.deps.secrets, this.importId, pepper);
      if (special) await keepOptions(db, this.importId, special, this.notes?.hashes() ?? []);
      const settled = await activate(db, {
        importId: this.importId,
        sequence: event.sequence,
        timeout: this.timeout as string,
        timeoutMs: parseDuration(this.timeout as string) as number,
        warnings: this.warnings.list(),
        orgs: this.orgs.tallies,
        hasDuplicates: this.duplicates > 0,
        duplicates: { skips: special?.onExisting === 'skip', erases: special?.dryRun === true },
      });
      // Last, as it locks rights, and the steps before may take long.
      await this.requireAllowed(db);
      await requireWithinLimits(db, this.importId);
      return settled;
    });
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
        `select state <> 'receiving' or exists (select from import_drafts where import_id = $1) as visible
         from imports where id = $1 for update`,
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
    const isOver = await this.copy.flush().then(
      () => true,
      // A COPY that lost its connection may still commit after a delete here; the sweep removes its rows later.
      (error) => !isStoreFault(error),
    );
    if (isOver && this.importId !== '') await discard(this.deps.pool, this.importId).catch(() => {});
  }
}
