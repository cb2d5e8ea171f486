/**
 * Where entries become rows of an import, whether they come in a body or from files: validates each, notes what its
 * import has to know, marks possible duplicates, counts, and writes the rows by COPY.
 *
 * Guarantee: the same entries become the same rows and the same counts, whoever sends them. Memory does not depend on
 * the number of entries, except for the filter of duplicates.
 * On crash: the rows belong to an import that has not been accepted, so nobody sees them.
 */
import { setImmediate } from 'node:timers/promises';
import { slowMs } from '../../directory/users/slow-hashes.ts';
import type { Db } from '../../platform/db/pool.ts';
import { CopyRows } from '../entries/copy-rows.ts';
import { createDuplicateFilter, type DuplicateFilter, ID, NAME, PASSKEY } from '../entries/duplicate-filter.ts';
import { compact } from '../entries/factors.ts';
import { itemFacts } from '../entries/facts.ts';
import { copyLine, type Item } from '../entries/item.ts';
import { linkNames } from '../entries/link-names.ts';
import type { HashCount, Notes } from '../entries/notes.ts';
import type { ImportDeps } from '../entries/options.ts';
import type { ShapedEntries } from '../entries/parser.ts';
import { type CountedFacts, FactsTally } from '../entries/sign-in-tally.ts';
import { createWarningCounter, type EntryRules, toItem } from '../entries/validate.ts';
import type { OrgTally } from './accept.ts';
import { openCopyWriter } from './copy.ts';
import { marksAt, parseAt } from './fast/alike-entries.ts';
import { ShapedLines } from './fast/alike-lines.ts';
import { takePepper } from './pepper.ts';
import { bodySources, type UsedSources } from './requirements.ts';

/**
 * Other work of the process gets its turn after this time, as some entries are slow to validate (plain passwords are
 * encrypted).
 */
const MOST_AT_ONCE_MS = 20;
/** Entries between two readings of the clock. */
const ENTRIES_PER_READING = 16;
/** The hashes of the first users are all examined, later ones in samples: a system rarely mixes its hashes. */
const ALL_EXAMINED = 1000;
const EXAMINED_EACH = 16;
/** Rows are collected before a COPY takes a connection: a slow client holds none while its users arrive one by one. */
const LEAST_COPY_BYTES = 256 * 2 ** 10;

export interface SinkOptions {
  rules: EntryRules;
  /** What is recorded about each entry beside its item. */
  notes: Notes | undefined;
  /** The password source of users who have no password of their own. */
  passwordSource: string | undefined;
  /** Whether the hashes need the pepper of the import. */
  hasPepper: boolean;
  /** What the path of a field begins with in a warning. */
  entryPath: string;
  /** Asked once, before the first entry that is parsed: whether all workers read compact items. */
  readCompact(): Promise<boolean>;
  /** Called before each COPY; creates the import, or requires that it still takes entries. */
  beforeCopy(): Promise<void>;
}

/** Entries that are all stored. */
export interface Stored {
  total: number;
  warnings: unknown[];
  hasDuplicates: boolean;
  /** How long the slowest hash takes to verify, in milliseconds; see `slowMs`. */
  slowestMs: number;
  hashes: HashCount[];
  sources: UsedSources;
  /** How its valid users sign in. */
  signIns: CountedFacts[];
}

/** A run of entries of one organization. */
export interface EntriesOf {
  /** The number of the organization in the import. */
  org: number;
  /** The counts of the organization, which change. */
  tally: OrgTally;
}

/** The migration since which workers read items whose `extras` are compact. */
const COMPACT = 219;
/** The reports of a worker may be late. */
const LATE_S = 60;

/** Whether no worker of a version before migration 219 may write the items. */
export async function workersReadCompact(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ reads: boolean }>(
    `select not exists (select from workers
       where schema < ${COMPACT} and seen_at > clock_timestamp() - interval '${LATE_S} seconds') as reads`,
  );
  return rows[0]?.reads === true;
}

/** Call `begin`, then `take` entries and `write` from time to time, then `flush`. */
export class ItemSink {
  readonly warnings = createWarningCounter();
  readonly sources;
  private readonly deps;
  private readonly options;
  private readonly entryWarnings;
  private readonly copy;
  /** The rows that have not been sent. */
  private readonly rows = new CopyRows();
  private readonly lines = new ShapedLines(this.rows);
  private filter: DuplicateFilter | undefined;
  private importId = '';
  private ordinal = 0;
  private hasDuplicates = false;
  private slowestMs = 0;
  private readonly facts = new FactsTally();
  private isCompact: boolean | undefined;

  constructor(deps: Pick<ImportDeps, 'pool' | 'uploadPool' | 'secrets' | 'config'>, options: SinkOptions) {
    this.deps = deps;
    this.options = options;
    this.sources = bodySources(options.passwordSource);
    this.entryWarnings = { unknown: (path: string) => this.warnings.unknown(`${options.entryPath}${path}`) };
    this.copy = openCopyWriter(deps.uploadPool ?? deps.pool, options.beforeCopy, deps.config.DATABASE_TIMEOUT_MS);
  }

  /** Entries so far. */
  get total(): number {
    return this.ordinal;
  }

  /** The import of all rows; before the first one. */
  begin(importId: string): void {
    this.importId = importId;
    this.lines.begin(importId);
  }

  /** @param plain no string of the entries was written with an escape */
  async take(of: EntriesOf, entries: readonly unknown[], plain = false): Promise<void> {
    this.isCompact ??= await this.options.readCompact();
    let since = performance.now();
    for (const [n, entry] of entries.entries()) {
      if (n % ENTRIES_PER_READING === 0 && performance.now() - since > MOST_AT_ONCE_MS) {
        await setImmediate();
        since = performance.now();
      }
      this.add(of, entry, plain);
    }
  }

  private add({ org, tally }: EntriesOf, entry: unknown, plain: boolean): void {
    const { rules, notes, hasPepper } = this.options;
    const item = toItem(entry, this.deps.secrets, this.entryWarnings, rules, plain);
    this.sources.take(org, item);
    notes?.take(entry, item, this.isCompact === true);
    tally.total++;
    if (item.state === 'failed') tally.failed++;
    else if (item.passwordHash !== null) this.examine(item.passwordHash);
    if (hasPepper) takePepper(item, this.importId);
    if (item.state === 'pending') this.facts.add(org, itemFacts(item), linkNames(item));
    const duplicate = item.state === 'pending' && this.maybeDuplicate(item);
    if (this.isCompact && item.state === 'pending' && item.extras) item.extras = compact(item.extras);
    if (duplicate) this.hasDuplicates = true;
    this.rows.add(copyLine(this.importId, this.ordinal++, org, duplicate, item, plain));
  }

  /** The fast path: takes users without an object for each, unless a user is not a common one after all. */
  async takeShaped(of: EntriesOf, shaped: ShapedEntries): Promise<void> {
    const { lines } = this;
    for (let at = 0; at < shaped.marks.length; at += marksAt(shaped, at)) {
      if (!lines.add(shaped, at, this.ordinal, of.org)) {
        await this.take(of, [parseAt(shaped, at)], true);
        continue;
      }
      this.ordinal++;
      of.tally.total++;
      this.facts.add(of.org, lines.facts, null);
      if (lines.hash !== undefined) this.examine(lines.hash);
      this.filter ??= createDuplicateFilter();
      if (lines.markDuplicate(this.filter)) this.hasDuplicates = true;
    }
  }

  private examine(hash: string): void {
    if (this.ordinal < ALL_EXAMINED || this.ordinal % EXAMINED_EACH === 0)
      this.slowestMs = Math.max(this.slowestMs, slowMs(hash));
  }

  private maybeDuplicate(item: Extract<Item, { state: 'pending' }>): boolean {
    this.filter ??= createDuplicateFilter();
    const id = this.filter.add(item.userId, ID);
    const name = this.filter.add(item.userNameKey, NAME);
    let passkey = false;
    for (const { id } of item.extras?.passkeys ?? []) passkey = this.filter.add(id, PASSKEY) || passkey;
    return id || name || passkey;
  }

  /** Sends the rows collected so far to PostgreSQL, if they are worth a COPY or one is open. */
  async write(): Promise<void> {
    if (this.copy.isOpen || this.rows.length >= LEAST_COPY_BYTES) await this.send();
  }

  private async send(): Promise<void> {
    if (this.rows.length > 0) this.rows.clear(await this.copy.write(this.rows.lines));
  }

  /** When this returns, every entry is committed. */
  async flush(): Promise<Stored> {
    await this.send();
    await this.close();
    const { ordinal: total, hasDuplicates, slowestMs } = this;
    const hashes = this.options.notes?.hashes() ?? [];
    const [warnings, sources, signIns] = [this.warnings.list(), this.sources.used(), this.facts.list()];
    return { total, hasDuplicates, slowestMs, hashes, warnings, sources, signIns };
  }

  /** Leaves what was not sent. When this returns or throws, no COPY is in progress. */
  close(): Promise<void> {
    return this.copy.flush();
  }
}
