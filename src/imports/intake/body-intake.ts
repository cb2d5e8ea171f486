/**
 * Takes the users of one body, as intake.ts parses it: validates each, collects its rows for COPY, and finally starts the
 * import or keeps the draft, in one transaction.
 */

import { setImmediate } from 'node:timers/promises';
import type { Caller } from '../../access/caller.ts';
import { appendEvent } from '../../db/events.ts';
import { type Db, transaction } from '../../db/pool.ts';
import { retryWhileUnavailable } from '../../db/retry.ts';
import { invalidArgument } from '../../errors.ts';
import { isUnavailable } from '../../http/unavailable.ts';
import type { Pepper } from '../../passwords/pepper.ts';
import { annotate, inSpan } from '../../spans.ts';
import { rememberSlow, slowMs } from '../../users/slow-hashes.ts';
import type { ImportDeps } from '../deps.ts';
import { parseDuration, timeoutProblem } from '../duration.ts';
import { publishBatch, type SettledBatch } from '../ended.ts';
import { copyLine, type Item } from '../items.ts';
import { auditOf, type ImportOptions, keepOptions } from '../options.ts';
import { marksAt, parseAt } from '../parse/entry-shapes.ts';
import type { BodyParser, Step } from '../parse/step.ts';
import type { HashCount } from '../validate/hash-counts.ts';
import { type EntryRules, toItem } from '../validate/validate.ts';
import { createWarningCounter } from '../validate/warnings.ts';
import { activate, createReceiving, discard, type OrgTally, touchReceiving } from './accept.ts';
import { badField, bodyOrgs } from './body-orgs.ts';
import { bodySources, type UsedSources } from './body-sources.ts';
import { openCopyWriter } from './copy.ts';
import { CopyRows } from './copy-rows.ts';
import { createDuplicateFilter, type DuplicateFilter, ID, NAME } from './duplicates.ts';
import { claimKey, type KeyedRequest, requestHashes } from './idempotency.ts';
import { openDraftNotes, openNotes } from './notes.ts';
import { keepPepper, takePepper } from './pepper.ts';
import { ShapedLines } from './shaped-lines.ts';

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
  /** Keeps the users as a draft, which starts later with options of its own. */
  keepDraft?: KeepDraft | undefined;
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
/** The hashes of the first users are all examined, later ones in samples: those of a system are rarely mixed. */
const ALL_EXAMINED = 1000;
const EXAMINED_EACH = 16;
/** Rows are collected before a COPY takes a connection: a slow client holds none while its users arrive one by one. */
const LEAST_COPY_BYTES = 256 * 2 ** 10;
/** Unknown fields that an error names. */
const MOST_NAMED = 10;

/** One body; `take` its steps in order and `write` from time to time, then `accept` or `abandon` it. */
export class BodyIntake {
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
    this.orgs = bodyOrgs(deps.pool, caller);
    this.sources = bodySources(options.special?.passwordSource);
    const { entryPath } = options.parser;
    this.entryWarnings = { unknown: (path: string) => this.warnings.unknown(`${entryPath}${path}`) };
    this.rules = { strict: options.strict, withoutEmail: options.special?.withoutEmail ?? false };
    this.notes = options.keepDraft ? openDraftNotes() : options.special && openNotes(options.special);
    const needsEntries = this.notes || options.pepper || options.special?.passwordSource;
    if (!needsEntries) options.parser.findShaped?.();
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
    const problem = timeoutProblem(value, this.deps.config.MAX_IMPORT_TIMEOUT);
    if (problem)
      throw invalidArgument('IMPORT-TIMEOUT', `timeout ${problem}.`, [{ field: 'timeout', description: problem }]);
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

  /** The same as `takeUsers`, without an object for each user, unless a user is not a common one after all. */
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
    // Before the users exist, so that their first failed login does not differ from that of an unknown user.
    if (!special?.dryRun) await rememberSlow(this.deps.pool, this.slowestMs);
    this.isAccepting = true;
    annotate({ 'muster.import.id': this.importId, 'muster.users': this.ordinal });
    const settled = await inSpan('import.accept', {}, () => this.commit(hashes));
    publishBatch(settled);
    return this.importId;
  }

  /** Makes the draft visible, in one transaction. */
  private async keep(keepDraft: KeepDraft, hashes: Buffer[] | undefined): Promise<string> {
    const { keyed, special, pepper } = this.options;
    const { importId, ordinal: total, slowestMs, duplicates } = this;
    this.isAccepting = true;
    await transaction(this.deps.pool, async (db) => {
      await this.sources.require(db, (org) => this.orgs.tallies[org]?.orgId ?? '');
      if (keyed && hashes) await claimKey(db, keyed, hashes, importId);
      if (pepper) await keepPepper(db, this.deps.secrets, importId, pepper);
      await keepDraft(db, {
        ...{ importId, total, slowestMs, hasDuplicates: duplicates > 0, tallies: this.orgs.tallies },
        ...{ warnings: this.warnings.list(), hashes: this.notes?.hashes() ?? [], sources: this.sources.used() },
        ...{ withoutEmail: this.rules.withoutEmail, passwordSource: special?.passwordSource },
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
      return activate(db, {
        importId: this.importId,
        sequence: event.sequence,
        timeout: this.timeout as string,
        timeoutMs: parseDuration(this.timeout as string) as number,
        warnings: this.warnings.list(),
        orgs: this.orgs.tallies,
        hasDuplicates: this.duplicates > 0,
        duplicates: { skips: special?.onExisting === 'skip', erases: special?.dryRun === true },
      });
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
      (error) => !isUnavailable(error),
    );
    if (isOver && this.importId !== '') await discard(this.deps.pool, this.importId).catch(() => {});
  }
}
