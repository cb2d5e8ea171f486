/**
 * Takes the body of a bulk import: parse, judge, write, and make it run; or leave nothing behind.
 *
 * Guarantee: when this returns, every user of the body is durable and the import is running; when it throws, nothing of it
 * remains. If we die here the import is still `receiving`: nobody sees it, nothing of it is worked off, the sweep removes it.
 */

import { setImmediate } from 'node:timers/promises';
import type { Caller } from '../../access/caller.ts';
import { appendEvent } from '../../db/events.ts';
import { transaction } from '../../db/pool.ts';
import { retryWhileUnavailable } from '../../db/retry.ts';
import { invalidArgument } from '../../errors.ts';
import { isUnavailable } from '../../http/unavailable.ts';
import type { ImportDeps } from '../deps.ts';
import { parseDuration, timeoutProblem } from '../duration.ts';
import { copyLine, type Item } from '../items.ts';
import { auditOf, type ImportOptions, keepOptions } from '../options.ts';
import { bounded } from '../parse/body.ts';
import type { BodyParser, Step } from '../parse/step.ts';
import { toItem } from '../validate/validate.ts';
import { createWarningCounter } from '../validate/warnings.ts';
import { activate, createReceiving, discard, touchReceiving } from './accept.ts';
import { badField, bodyOrgs } from './body-orgs.ts';
import { openCopyWriter } from './copy.ts';
import { CopyRows } from './copy-rows.ts';
import { createDuplicateFilter, type DuplicateFilter } from './duplicates.ts';
import { AlreadyAccepted, claimKey, type KeyedRequest } from './idempotency.ts';
import { openNotes } from './notes.ts';

export interface IntakeOptions {
  parser: BodyParser;
  strict: boolean;
  keyed?: KeyedRequest | undefined;
  /** Absent for the usual import. */
  special?: ImportOptions | undefined;
}

const TOUCH_MS = 30_000;
/** How long a database that broke off at the commit may be away before the caller is told so. */
const LOOK_MS = 10_000;
/** Others get their turn when entries that are slow to judge, such as those with passwords to seal, took this long. */
const MOST_AT_ONCE_MS = 20;
/** Entries between two looks at the clock. */
const BETWEEN_LOOKS = 16;
/** Kinds of keys in the filter of duplicates. */
const ID = 1;
const NAME = 2;

/**
 * @param body the decoded bytes
 * @returns the id of the import, which is running or, when no user of it is valid, already at its end; that of the import
 *   that an equal request brought meanwhile, if its key says so
 * @throws ApiError for the first fatal problem in body order; 409 for a key that stands for another request; 413 when the
 *   body is over MAX_IMPORT_BYTES
 */
export async function receiveImport(
  deps: ImportDeps,
  caller: Caller,
  body: AsyncIterable<Buffer>,
  options: IntakeOptions,
): Promise<string> {
  const intake = new Intake(deps, caller, options);
  try {
    for await (const chunk of bounded(body, deps.config.MAX_IMPORT_BYTES)) {
      options.keyed?.hash.update(chunk);
      for (const step of options.parser.push(chunk)) await intake.take(step);
      await intake.write();
    }
    for (const step of options.parser.end()) await intake.take(step);
    await intake.write();
    return await intake.accept();
  } catch (error) {
    if (isUnavailable(error) && (await intake.isAccepted())) return intake.importId;
    await intake.abandon();
    if (error instanceof AlreadyAccepted) return error.recorded.importId;
    throw error;
  }
}

class Intake {
  private readonly deps: ImportDeps;
  private readonly caller: Caller;
  private readonly options: IntakeOptions;
  private readonly warnings = createWarningCounter();
  private readonly entryWarnings;
  private readonly notes;
  private readonly copy;
  private readonly orgs;
  private filter: DuplicateFilter | undefined;
  importId = '';
  private touchedAt = Date.now();
  /** Of the chunk that is being read. */
  private readonly rows = new CopyRows();
  private ordinal = 0;
  private duplicates = 0;
  private timeout: string | undefined;
  private isAccepting = false;

  constructor(deps: ImportDeps, caller: Caller, options: IntakeOptions) {
    this.deps = deps;
    this.caller = caller;
    this.options = options;
    this.orgs = bodyOrgs(deps.pool, caller);
    const { entryPath } = options.parser;
    this.entryWarnings = { unknown: (path: string) => this.warnings.unknown(`${entryPath}${path}`) };
    this.notes = options.special && openNotes(options.special);
    this.copy = openCopyWriter(deps.pool, () => this.touch(), deps.config.DATABASE_TIMEOUT_MS);
  }

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case 'timeout':
        return this.takeTimeout(step.value);
      case 'orgId':
        return this.orgs.take(step);
      case 'users':
        return this.takeUsers(step);
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
    const problem = timeoutProblem(value, this.deps.config.MAX_IMPORT_TIMEOUT);
    if (problem)
      throw invalidArgument('IMPORT-TIMEOUT', `timeout ${problem}`, [{ field: 'timeout', description: problem }]);
    this.timeout = value as string;
  }

  private async takeUsers({ org, entries, plain }: Extract<Step, { type: 'users' }>): Promise<void> {
    const tally = this.orgs.tally(org);
    if (this.importId === '') await this.touch();
    let since = performance.now();
    for (const [n, entry] of entries.entries()) {
      if (n % BETWEEN_LOOKS === 0 && performance.now() - since > MOST_AT_ONCE_MS) {
        await setImmediate();
        since = performance.now();
      }
      const item = toItem(entry, this.deps.secrets, this.entryWarnings, this.options.strict, plain);
      this.notes?.take(entry, item);
      tally.total++;
      if (item.state === 'failed') tally.failed++;
      const duplicate = item.state === 'pending' && this.maybeDuplicate(item);
      if (duplicate) this.duplicates++;
      this.rows.add(copyLine(this.importId, this.ordinal++, org, duplicate, item, plain));
    }
  }

  /** Hands on what was taken. */
  async write(): Promise<void> {
    if (!this.rows.isEmpty) this.rows.clear(await this.copy.write(this.rows.lines));
  }

  private takeEnd(step: Extract<Step, { type: 'end' }>): void {
    if (!step.hasDataOrgs) throw badField('dataOrgs', 'is required');
    if (!step.hasOrgs) throw badField('dataOrgs.orgs', 'is required');
    if (this.ordinal === 0) throw badField('dataOrgs.orgs', 'holds no user');
    if (!step.hasTimeout) this.takeTimeout(undefined);
  }

  private maybeDuplicate(item: Extract<Item, { state: 'pending' }>): boolean {
    this.filter ??= createDuplicateFilter();
    const id = this.filter.add(item.userId, ID);
    const name = this.filter.add(item.userNameKey, NAME);
    return id || name;
  }

  /** Creates the import's row before its first item, and says from time to time that the upload is alive. */
  private async touch(): Promise<void> {
    if (this.importId === '') this.importId = await createReceiving(this.deps.pool, this.caller);
    else if (Date.now() - this.touchedAt > Math.min(TOUCH_MS, this.deps.config.ABANDONED_AFTER_MS / 4))
      await touchReceiving(this.deps.pool, this.importId);
    else return;
    this.touchedAt = Date.now();
  }

  async accept(): Promise<string> {
    await this.copy.flush();
    const { keyed, special } = this.options;
    const requestHash = keyed?.hash.digest();
    this.isAccepting = true;
    await transaction(this.deps.pool, async (db) => {
      if (keyed && requestHash) await claimKey(db, keyed, requestHash, this.importId);
      const event = await appendEvent(db, {
        aggregateType: 'import',
        aggregateId: this.importId,
        resourceOwner: this.caller.orgId,
        type: 'import.accepted',
        editor: this.caller.userId,
        payload: { total: this.ordinal, ...(special && auditOf(special)) },
      });
      if (special) await keepOptions(db, this.importId, special, this.notes?.hashes() ?? []);
      await activate(db, {
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
    return this.importId;
  }

  /**
   * Whether the import runs although its commit was not answered. Waits for the transaction, which holds the row as long as it
   * lives; when the database is away for longer nobody knows, and the caller finds the import or sends it again with its key.
   */
  async isAccepted(): Promise<boolean> {
    if (!this.isAccepting) return false;
    const look = () =>
      this.deps.pool.query<{ state: string }>('select state from imports where id = $1 for update', [this.importId]);
    return retryWhileUnavailable(look, { ms: LOOK_MS }).then(
      ({ rows: [row] }) => row !== undefined && row.state !== 'receiving',
      () => false,
    );
  }

  /** What refused the import is thrown on; what cannot be removed here the sweep removes. */
  async abandon(): Promise<void> {
    const isOver = await this.copy.flush().then(
      () => true,
      // A COPY that lost its connection may still commit, after we have looked.
      (error) => !isUnavailable(error),
    );
    if (isOver && this.importId !== '') await discard(this.deps.pool, this.importId).catch(() => {});
  }
}
