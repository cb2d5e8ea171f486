/**
 * Converts the files of a draft to entries, by `src/sources`, as the command line does, and gives them to the sink that
 * takes the entries of a body (../intake/item-sink.ts).
 *
 * Guarantee: memory is bounded, whatever the files hold. The draft has all entries or none: it is in state `draft`
 * only when every entry is committed. The files stay, so that another source or mapping needs no other upload.
 * On crash: the entries so far stay invisible; the next worker removes them and begins again.
 */
import { type Conversion, type Outcome, openConversion } from '../../sources/convert.ts';
import type { Entry } from '../../sources/entry.ts';
import { UsageError } from '../../sources/read/records.ts';
import { type Counter, openCounter, type Summary } from '../../sources/summary.ts';
import { openDraftNotes } from '../entries/notes.ts';
import type { ImportDeps } from '../entries/options.ts';
import type { OrgTally } from '../intake/accept.ts';
import { type EntriesOf, ItemSink, type Stored, workersReadCompact } from '../intake/item-sink.ts';
import { hashParameters, openFiles, sourceNamed } from './convert-request.ts';
import type { ConversionResult, Draft } from './draft.ts';
import { keepHashes, takingHashes } from './earlier.ts';
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

/** Converts the files by the options of the draft. @throws UsageError when the files cannot be read so */
export async function convert(deps: ConvertDeps, draft: Draft, run: Run): Promise<ConversionResult> {
  const { pool, secrets, config } = deps;
  const of = { pool, secrets, most: config.MAX_IMPORT_BYTES };
  const options = draft.conversion ?? {};
  while (await eraseItems(pool, draft.importId)) await run.requireJob();
  const { files: uploaded, taken } = takingHashes(await openFiles(of, draft));
  const exports = await inspectAll(uploaded, options);
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
        unknownPasswords: options.unknownPasswords,
        passkeyRpId: options.passkeyRpId,
        hashConfig: await hashParameters(of, draft),
      },
    },
    countBytes(run),
  );
  const { passwordSource } = options;
  const counter = openCounter({ atSource: passwordSource !== undefined, source });
  const rules = { strict: options.strict === true, withoutEmail: options.withoutEmail === true };
  const sink = new ItemSink(deps, {
    rules,
    notes: openDraftNotes(),
    passwordSource,
    hasPepper: draft.pepper !== undefined,
    entryPath: '',
    readCompact: () => workersReadCompact(deps.pool),
    beforeCopy: run.requireJob,
  });
  sink.begin(draft.importId);
  try {
    const orgs = await writeAll(conversion, counter, sink, run);
    const stored = await sink.flush();
    await requireComplete(deps, draft.importId, stored);
    await keepHashes(deps, draft, taken, run.check);
    const summary = counter.summary(conversion.unusedHashes());
    return { ...resultOf(source, summary, { ...stored, orgs }), withoutEmail: rules.withoutEmail, passwordSource };
  } catch (error) {
    await sink.close().catch(() => {}); // no COPY may stay open; the first error says why
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

/** Returns the organizations of the entries, in the order of their numbers. */
async function writeAll(conversion: Conversion, counter: Counter, sink: ItemSink, run: Run): Promise<OrgTally[]> {
  const orgs = new Map<string, EntriesOf>();
  for await (const outcomes of conversion.outcomes()) {
    run.check();
    for (const outcome of outcomes) counter.add(outcome);
    for (const { orgId, entries } of runsOf(outcomes)) {
      const of = orgs.get(orgId) ?? { org: orgs.size, tally: { orgId, total: 0, failed: 0 } };
      orgs.set(orgId, of);
      await sink.take(of, entries);
    }
    await sink.write();
    run.progress.users = sink.total;
  }
  if (sink.total === 0) throw new UsageError('The files contain no user.');
  return [...orgs.values()].map(({ tally }) => tally);
}

/** The entries in order, each run of one organization together. */
function runsOf(outcomes: readonly Outcome[]): { orgId: string; entries: Omit<Entry, 'orgId'>[] }[] {
  const runs: { orgId: string; entries: Omit<Entry, 'orgId'>[] }[] = [];
  for (const { entry } of outcomes) {
    if (!entry) continue;
    const { orgId, ...rest } = entry;
    const last = runs.at(-1);
    if (last?.orgId === orgId) last.entries.push(rest);
    else runs.push({ orgId, entries: [rest] });
  }
  return runs;
}

/** A worker that lost the job may have written entries of its own; then the draft is converted again. */
async function requireComplete({ pool }: ConvertDeps, importId: string, { total }: Stored): Promise<void> {
  const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from import_items where import_id = $1', [
    importId,
  ]);
  if (rows[0]?.n !== total) throw new Error(`the draft has ${rows[0]?.n} entries instead of ${total}`);
}

function resultOf(
  source: { name: string; title: string },
  summary: Summary,
  stored: Stored & { orgs: OrgTally[] },
): Omit<ConversionResult, 'withoutEmail' | 'passwordSource'> {
  const { orgs: _, ...shown } = summary;
  return {
    source: source.name,
    title: source.title,
    ...stored,
    failed: stored.orgs.reduce((sum, { failed }) => sum + failed, 0),
    summary: shown as unknown as Record<string, unknown>,
    broken: summary.broken.reduce((sum, { count }) => sum + count, 0),
  };
}
