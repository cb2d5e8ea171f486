/**
 * Takes the body of a bulk import: parse, judge, write, and make it run; or leave nothing behind.
 *
 * Guarantee: when this returns, every user of the body is durable and the import is running; when it throws, nothing of it
 * remains. If we die here the import is still `receiving`: nobody sees it, nothing of it is worked off, the sweep removes it.
 */

import { appendEvent } from '../db/events.ts';
import { transaction } from '../db/pool.ts';
import { ApiError, invalidArgument } from '../errors.ts';
import { type Caller, hasOrgRole, permissionDenied } from '../identity/caller.ts';
import { idProblem } from '../users/fields.ts';
import { activate, createReceiving, discard, type OrgTally, touchReceiving } from './accept.ts';
import { openCopyWriter } from './copy.ts';
import type { ImportDeps } from './deps.ts';
import { createDuplicateFilter, type DuplicateFilter } from './duplicates.ts';
import { parseDuration, timeoutProblem } from './duration.ts';
import { copyLine, type Item } from './items.ts';
import type { Step } from './parse.ts';
import { toItem } from './validate.ts';
import { countWarnings } from './warnings.ts';

/** What reads a body: the `dataOrgs` parser, or another format with the same steps. */
export interface BodyParser {
  push(chunk: Buffer): Step[];
  end(): Step[];
}

export interface IntakeOptions {
  parser: BodyParser;
  strict: boolean;
}

const TOUCH_MS = 30_000;

/**
 * @param body the decoded bytes
 * @returns the id of the import, which is running or, when no user of it is valid, already at its end
 * @throws ApiError for the first fatal problem in body order; 413 when the body is over MAX_IMPORT_BYTES
 */
export async function receiveImport(
  deps: ImportDeps,
  caller: Caller,
  body: AsyncIterable<Buffer>,
  options: IntakeOptions,
): Promise<string> {
  const intake = new Intake(deps, caller, options.strict);
  try {
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > deps.config.MAX_IMPORT_BYTES) throw tooLarge(deps.config.MAX_IMPORT_BYTES);
      for (const step of options.parser.push(chunk)) await intake.take(step);
    }
    for (const step of options.parser.end()) await intake.take(step);
    return await intake.accept();
  } catch (error) {
    await intake.abandon();
    throw error;
  }
}

class Intake {
  private readonly deps: ImportDeps;
  private readonly caller: Caller;
  private readonly strict: boolean;
  private readonly warnings = countWarnings();
  private readonly entryWarnings = { unknown: (path: string) => this.warnings.unknown(`orgs[].humanUsers[].${path}`) };
  private readonly copy;
  private readonly orgs: OrgTally[] = [];
  private readonly allowed = new Set<string>();
  private filter: DuplicateFilter | undefined;
  private importId = '';
  private touchedAt = Date.now();
  private ordinal = 0;
  private duplicates = 0;
  private timeout: string | undefined;

  constructor(deps: ImportDeps, caller: Caller, strict: boolean) {
    this.deps = deps;
    this.caller = caller;
    this.strict = strict;
    this.copy = openCopyWriter(deps.pool, () => this.touch());
  }

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case 'timeout':
        return this.takeTimeout(step.value);
      case 'orgId':
        return this.takeOrgId(step.org, step.value);
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

  private async takeOrgId(org: number, value: unknown): Promise<void> {
    const field = `dataOrgs.orgs[${org}].orgId`;
    if (typeof value !== 'string') throw badField(field, 'must be a string');
    const problem = idProblem(value);
    if (problem) throw badField(field, problem);
    if (!this.allowed.has(value)) {
      if (!hasOrgRole(this.caller, value, ['ORG_OWNER'])) throw permissionDenied();
      const { rowCount } = await this.deps.pool.query('select from organizations where id = $1', [value]);
      if (rowCount === 0) throw new ApiError('NOT_FOUND', 'IMPORT-ORG', `The organization of ${field} does not exist.`);
      this.allowed.add(value);
    }
    this.tally(org).orgId = value;
  }

  private async takeUsers({ org, entries, plain }: Extract<Step, { type: 'users' }>): Promise<void> {
    const tally = this.tally(org);
    if (this.importId === '') await this.touch();
    let lines = '';
    for (const entry of entries) {
      const item = toItem(entry, this.deps.secrets, this.entryWarnings, this.strict, plain);
      tally.total++;
      if (item.state === 'failed') tally.failed++;
      const duplicate = item.state === 'pending' && this.maybeDuplicate(item);
      if (duplicate) this.duplicates++;
      lines += copyLine(this.importId, this.ordinal++, org, duplicate, item, plain);
    }
    await this.copy.write(lines);
  }

  private takeEnd(step: Extract<Step, { type: 'end' }>): void {
    if (!step.hasDataOrgs) throw badField('dataOrgs', 'is required');
    if (!step.hasOrgs) throw badField('dataOrgs.orgs', 'is required');
    if (this.ordinal === 0) throw badField('dataOrgs.orgs', 'holds no user');
    if (!step.hasTimeout) this.takeTimeout(undefined);
  }

  private maybeDuplicate(item: Extract<Item, { state: 'pending' }>): boolean {
    this.filter ??= createDuplicateFilter();
    const id = this.filter.add(`i${item.userId}`);
    const name = this.filter.add(`n${item.userNameKey}`);
    return id || name;
  }

  private tally(org: number): OrgTally {
    this.orgs[org] ??= { orgId: '', total: 0, failed: 0 };
    return this.orgs[org];
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
    await transaction(this.deps.pool, async (db) => {
      const event = await appendEvent(db, {
        aggregateType: 'import',
        aggregateId: this.importId,
        resourceOwner: this.caller.orgId,
        type: 'import.accepted',
        editor: this.caller.userId,
        payload: { total: this.ordinal },
      });
      await activate(db, {
        importId: this.importId,
        sequence: event.sequence,
        timeout: this.timeout as string,
        timeoutMs: parseDuration(this.timeout as string) as number,
        warnings: this.warnings.list(),
        orgs: this.orgs,
        hasDuplicates: this.duplicates > 0,
      });
    });
    return this.importId;
  }

  async abandon(): Promise<void> {
    await this.copy.flush().catch(() => {}); // what refused the import is thrown on; here we only wait for the chunk under way
    if (this.importId !== '') await discard(this.deps.pool, this.importId);
  }
}

function badField(field: string, description: string): ApiError {
  return invalidArgument('IMPORT-BODY', `${field} ${description}`, [{ field, description }]);
}

function tooLarge(max: number): ApiError {
  return new ApiError('RESOURCE_EXHAUSTED', 'IMPORT-BYTES', `The body is larger than ${max} bytes.`, { http: 413 });
}
