/**
 * Converts the files of a draft to entries, by `src/sources`, as the command line does, and writes them as items of
 * the draft, as the intake of a body does: the same validation, the same COPY, the same detection of duplicates.
 * Fields that an entry omits are always noted: whether existing users are to be updated is not known yet.
 *
 * Guarantee: memory is bounded, whatever the files hold. The draft has all entries or none: it is in state `draft`
 * only when every entry is committed. The files stay, so that another source or mapping needs no other upload.
 * On crash: the entries so far stay invisible; the next worker removes them and begins again.
 */
import { slowMs } from '../../directory/users/slow-hashes.ts';
import { type Conversion, openConversion } from '../../sources/convert.ts';
import type { Entry } from '../../sources/entry.ts';
import { UsageError } from '../../sources/read/records.ts';
import { type Counter, openCounter, type Summary } from '../../sources/summary.ts';
import { CopyRows } from '../entries/copy-rows.ts';
import { createDuplicateFilter, ID, NAME } from '../entries/duplicate-filter.ts';
import { copyLine } from '../entries/item.ts';
import { noteOmitted } from '../entries/notes.ts';
import type { ImportDeps } from '../entries/options.ts';
import { createWarningCounter, type EntryRules, toItem } from '../entries/validate.ts';
import type { OrgTally } from '../intake/accept.ts';
import { openCopyWriter } from '../intake/copy.ts';
import { takePepper } from '../intake/pepper.ts';
import { bodySources, type UsedSources } from '../intake/requirements.ts';
import { hashParameters, openFiles, sourceNamed } from './convert-request.ts';
import type { ConversionResult, Draft } from './draft.ts';
import { eraseItems } from './erase.ts';
import { certainGuess, filesOf, guessesOf, inspectAll } from './guess.ts';

export type ConvertDeps = Omit<ImportDeps, 'queues'>;

export interface Run {
  /** @throws the reason when the job is over for this worker */
  check(): void;
  /** Asks the database, then does as `check`. */
  requireJob(): Promise<void>;
  progress: { bytes: number; totalBytes: number; users: number };
}

interface Written {
  total: number;
  failed: number;
  orgs: OrgTally[];
  warnings: unknown[];
  hasDuplicates: boolean;
  slowestMs: number;
  /** The password sources of the users. */
  sources: UsedSources;
}

interface EntryWriter {
  readonly users: number;
  add(entry: Entry): void;
  /** Sends what was added. */
  write(): Promise<void>;
  /** When this returns, everything is committed. */
  end(): Promise<Written>;
}

/** Converts the files by the options of the draft. @throws UsageError when the files cannot be read so */
export async function convert(deps: ConvertDeps, draft: Draft, run: Run): Promise<ConversionResult> {
  const { pool, secrets, config } = deps;
  const of = { pool, secrets, most: config.MAX_IMPORT_BYTES };
  const options = draft.conversion ?? {};
  while (await eraseItems(pool, draft.importId)) await run.requireJob();
  const exports = await inspectAll(await openFiles(of, draft), options);
  const source = options.source === undefined ? certainGuess(await guessesOf(exports)) : sourceNamed(options.source);
  if (!source) throw new UsageError('The system that these files come from cannot be determined. Choose the source.');
  const files = await filesOf(source, exports);
  run.progress.totalBytes = files.reduce((sum, { file }) => sum + file.size, 0);
  const conversion = await openConversion(
    {
      source,
      files,
      orgId: options.orgId ?? draft.orgId,
      idPrefix: options.idPrefix,
      quoteAddresses: options.quoteAddresses,
      options: {
        map: options.mapping,
        hashFormat: options.hashFormat,
        hashConfig: await hashParameters(of, draft),
      },
    },
    countBytes(run),
  );
  const { passwordSource } = options;
  const counter = openCounter({ atSource: passwordSource !== undefined });
  const rules = { strict: options.strict === true, withoutEmail: options.withoutEmail === true };
  const hasPepper = draft.pepper !== undefined;
  const writer = openEntries(deps, draft.importId, { ...rules, passwordSource, hasPepper }, run.requireJob);
  try {
    await writeAll(conversion, counter, writer, run);
    const written = await writer.end();
    await requireComplete(deps, draft.importId, written);
    const result = resultOf(source, counter.summary(conversion.unusedHashes()), written, rules.withoutEmail);
    return { ...result, passwordSource };
  } catch (error) {
    await writer.end().catch(() => {}); // no COPY may stay open; the first error says why
    throw error;
  } finally {
    await conversion.close();
  }
}

/** Called with how many bytes of a file have been read. */
function countBytes(run: Run): (name: string, bytes: number) => void {
  const read = new Map<string, number>();
  return (name, bytes) => {
    run.check();
    read.set(name, bytes);
    run.progress.bytes = [...read.values()].reduce((sum, n) => sum + n, 0);
  };
}

async function writeAll(conversion: Conversion, counter: Counter, writer: EntryWriter, run: Run): Promise<void> {
  for await (const outcomes of conversion.outcomes()) {
    run.check();
    for (const outcome of outcomes) {
      counter.add(outcome);
      if (outcome.entry) writer.add(outcome.entry);
    }
    await writer.write();
    run.progress.users = writer.users;
  }
  if (writer.users === 0) throw new UsageError('The files contain no user.');
}

/** A worker that lost the job may have written entries of its own; then the draft is converted again. */
async function requireComplete({ pool }: ConvertDeps, importId: string, { total }: Written): Promise<void> {
  const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from import_items where import_id = $1', [
    importId,
  ]);
  if (rows[0]?.n !== total) throw new Error(`the draft has ${rows[0]?.n} entries instead of ${total}`);
}

function resultOf(
  source: { name: string; title: string },
  summary: Summary,
  written: Written,
  withoutEmail: boolean,
): ConversionResult {
  const { orgs: _, ...shown } = summary;
  const hashes = new Map<string, { scheme: string; users: number; verifiable: boolean }>();
  for (const { scheme, verifiable, count } of summary.hashes) {
    const key = `${scheme} ${verifiable}`;
    const known = hashes.get(key) ?? { scheme, users: 0, verifiable };
    hashes.set(key, { ...known, users: known.users + count });
  }
  return {
    source: source.name,
    title: source.title,
    withoutEmail,
    ...written,
    summary: shown as unknown as Record<string, unknown>,
    broken: summary.broken.reduce((sum, { count }) => sum + count, 0),
    hashes: [...hashes.values()],
  };
}

/**
 * Begins to write entries.
 * @param requireJob throws when the job is no longer this worker's; called before each COPY
 */
function openEntries(
  deps: Pick<ImportDeps, 'pool' | 'secrets' | 'config'>,
  importId: string,
  { passwordSource, hasPepper, ...rules }: EntryRules & { passwordSource?: string | undefined; hasPepper: boolean },
  requireJob: () => Promise<void>,
): EntryWriter {
  const copy = openCopyWriter(deps.pool, requireJob, deps.config.DATABASE_TIMEOUT_MS);
  const rows = new CopyRows();
  const warnings = createWarningCounter();
  const filter = createDuplicateFilter();
  const sources = bodySources(passwordSource);
  const orgs = new Map<string, OrgTally & { index: number }>();
  let users = 0;
  let failed = 0;
  let hasDuplicates = false;
  let slowestMs = 0;

  function orgOf(orgId: string): OrgTally & { index: number } {
    const known = orgs.get(orgId) ?? { orgId, total: 0, failed: 0, index: orgs.size };
    orgs.set(orgId, known);
    return known;
  }

  function isDuplicate(userId: string, userNameKey: string): boolean {
    const id = filter.add(userId, ID);
    const name = filter.add(userNameKey, NAME);
    return id || name;
  }

  return {
    get users() {
      return users;
    },
    add({ orgId, ...entry }) {
      const org = orgOf(orgId);
      const item = toItem(entry, deps.secrets, warnings, rules);
      sources.take(org.index, item);
      org.total++;
      let duplicate = false;
      if (item.state === 'pending') {
        noteOmitted(entry, item);
        duplicate = isDuplicate(item.userId, item.userNameKey);
        if (item.passwordHash !== null) slowestMs = Math.max(slowestMs, slowMs(item.passwordHash));
      } else {
        org.failed++;
        failed++;
      }
      if (hasPepper) takePepper(item, importId);
      hasDuplicates ||= duplicate;
      rows.add(copyLine(importId, users++, org.index, duplicate, item));
    },
    async write() {
      if (rows.length > 0) rows.clear(await copy.write(rows.lines));
    },
    async end() {
      await this.write();
      await copy.flush();
      return {
        total: users,
        failed,
        hasDuplicates,
        slowestMs,
        warnings: warnings.list(),
        sources: sources.used(),
        orgs: [...orgs.values()].map(({ index: _, ...org }) => org),
      };
    },
  };
}
