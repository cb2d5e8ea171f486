/** Writes what an import would send: to a file, completely or not at all, or to standard output. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Conversion, openConversion } from '../../sources/convert.ts';
import type { ExportFormat } from '../../sources/source.ts';
import { type Counter, openCounter } from '../../sources/summary.ts';
import { EXIT, Interrupted, untilInterrupted } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { saveTo } from '../terminal/save.ts';
import { chooseFiles, confirmSource, describeFiles } from './choose.ts';
import { convertOptions, type SourceOptions } from './options.ts';
import { requireUsersInFiles } from './read.ts';
import { summaryLines } from './summary.ts';

export type WriteOptions = SourceOptions & {
  /** `-` or nothing is standard output. */
  output?: string;
};

/** @throws Failure @throws UsageError */
export async function writeConverted(out: Output, options: WriteOptions): Promise<void> {
  const chosen = await chooseFiles(options);
  try {
    const given = await convertOptions(options);
    for (const line of describeFiles(chosen, given)) out.note(line);
    await confirmSource(out, chosen, options);
    const { source, files } = chosen;
    const conversion = await openConversion({
      source,
      files,
      orgId: options.org,
      idPrefix: options.idPrefix,
      quoteAddresses: options.quoteAddresses,
      options: given,
    });
    try {
      const users = files.filter(({ isHashes }) => !isHashes).map(({ file }) => file.name);
      await write(out, { conversion, source, users }, options);
    } finally {
      await conversion.close();
    }
  } finally {
    await chosen.close();
  }
}

interface Job {
  conversion: Conversion;
  source: ExportFormat;
  /** Names of the users' files. */
  users: readonly string[];
}

async function write(
  out: Output,
  { conversion, source, users }: Job,
  { output: path, shell }: WriteOptions,
): Promise<void> {
  const counter = openCounter({ source });
  const summaryOf = () => counter.summary(conversion.unusedHashes());
  const requireUsers = () => {
    try {
      requireUsersInFiles(summaryOf(), users);
    } catch (error) {
      for (const line of summaryLines(summaryOf())) out.note(line);
      throw error;
    }
  };
  const text = Readable.from(linesOf(conversion, counter, requireUsers), { objectMode: false });
  const isFile = path !== undefined && path !== '-';
  if (isFile) {
    await untilInterrupted(new Interrupted('Nothing was written.'), (signal) => saveTo(path, text, signal));
  } else await pipeline(text, out.stream, { end: false });
  const summary = summaryOf();
  if (isFile) out.result(summary);
  for (const line of summaryLines(summary)) out.note(line);
  if (summary.broken.length > 0) shell.exitCode = EXIT.usersFailed;
}

/** @param atEnd throws when the result must not be kept */
async function* linesOf(conversion: Conversion, counter: Counter, atEnd: () => void): AsyncGenerator<Buffer> {
  for await (const outcomes of conversion.outcomes()) {
    let text = '';
    for (const outcome of outcomes) {
      counter.add(outcome);
      if (outcome.entry) text += `${JSON.stringify(outcome.entry)}\n`;
    }
    if (text !== '') yield Buffer.from(text);
  }
  atEnd();
}
