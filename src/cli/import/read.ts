/**
 * Reads the files of an import to their end, with progress; and where each user is in them, so that a failure is shown
 * with its place.
 */
import type { Conversion } from '../../sources/convert.ts';
import {
  type CounterOptions,
  type Group,
  openCounter,
  openGroups,
  type SourceLocation,
  type Summary,
} from '../../sources/summary.ts';
import { type Item, itemPages } from '../follow/pages.ts';
import { type Api, detailsOf } from '../service/api.ts';
import { type Failure, wrongUsage } from '../terminal/failure.ts';
import { type Output, openDisplay, printable, rateOf, type Step } from '../terminal/output.ts';
import type { Chosen } from './choose.ts';

/** How far the files have been read. */
export interface Reading {
  /** Size of the users' files on disk, in bytes. */
  size: number;
  /** Bytes of the users' files that have been read so far. */
  read(): number;
  /** @param listen called whenever more bytes have been read, even if they contain no record */
  onRead(listen: () => void): void;
}

export function openReading({ files }: Chosen): Reading & { note(file: string, bytes: number): void } {
  const users = files.filter((file) => !file.isHashes);
  const read = new Map<string, number>();
  let listener = () => {};
  return {
    size: users.reduce((sum, { file }) => sum + file.size, 0),
    read: () => users.reduce((sum, { file }) => sum + (read.get(file.name) ?? 0), 0),
    note(file, bytes) {
      read.set(file, bytes);
      listener();
    },
    onRead(listen) {
      listener = listen;
    },
  };
}

/** Reads all files to their end, and counts their users. @throws UsageError when a file as a whole is not valid */
export async function readThrough(
  out: Output,
  conversion: Conversion,
  reading: Reading,
  given: CounterOptions = {},
): Promise<Summary> {
  const counter = openCounter(given);
  const gauge = openGauge(out, reading.size, 'read', { isBytes: true });
  reading.onRead(() => gauge.update(reading.read()));
  try {
    for await (const outcomes of conversion.outcomes()) {
      for (const outcome of outcomes) counter.add(outcome);
    }
  } finally {
    reading.onRead(() => {});
    gauge.stop();
  }
  return counter.summary(conversion.unusedHashes());
}

export interface Gauge {
  update(done: number): void;
  /** Shows the last state, such as 100 %. */
  stop(): void;
}

const SHOW_AFTER_MS = 1000;
const SHOW_EVERY_MS = 100;

/**
 * Progress of work with a known total, shown once it has taken a second: small files need no bar.
 * @param what is counted, and what is done with it: `users sent`; for bytes, what is done with them: `read`
 */
export function openGauge(out: Output, total: number, what: string, { isBytes = false } = {}): Gauge {
  const display = openDisplay(out);
  const startedAt = Date.now();
  let isShown = false;
  let last: Step | undefined;
  let shownAt = startedAt + SHOW_AFTER_MS - SHOW_EVERY_MS;
  return {
    update(done) {
      const now = Date.now();
      const rate = rateOf((done * 1000) / Math.max(1, now - startedAt), isBytes);
      last = { done: Math.min(done, total), total, isBytes, text: `${what}  ${rate}` };
      if (now - shownAt < SHOW_EVERY_MS) return;
      shownAt = now;
      isShown = true;
      display.update(last);
    },
    stop() {
      // The last step may have come too soon after the one before to be shown.
      if (isShown && last) display.update(last);
      display.stop();
    },
  };
}

/**
 * Files without users are an error in every command: a wrong file, a wrong --from, an export that was cut off.
 * Returns when every file of users has users, or records that were skipped for a reason that the summary states.
 * @param files of users, as named on the command line
 * @throws Failure (usage)
 */
export function requireUsersInFiles(summary: Summary, files: readonly string[]): void {
  if (summary.users === 0) throw noUser(files.length === 1 ? shown(files[0]) : 'these files');
  const empty = files.find(
    (name) => !summary.files.some(({ file, users, skipped }) => file === name && users + skipped > 0),
  );
  if (empty !== undefined) throw noUser(shown(empty));
}

function shown(file = ''): string {
  return printable(file);
}

function noUser(where: string): Failure {
  return wrongUsage(
    `There are no users in ${where}.`,
    'Check --from and --format, and that the file contains the users.',
  );
}

const FIRST = 4096;

/** Where each user of an import's body is in the files, by their index in the body: about four bytes for each user. */
export interface Places {
  /** Adds the place of the next user. */
  push(file: string, line: number): void;
  at(index: number): SourceLocation | undefined;
  clear(): void;
}

export function openPlaces(): Places {
  let lines = new Uint32Array(FIRST);
  let length = 0;
  /** The files in the order they were read, each with the index of its first user. */
  let files: { file: string; from: number }[] = [];
  return {
    push(file, line) {
      if (length === lines.length) {
        const larger = new Uint32Array(2 * length);
        larger.set(lines);
        lines = larger;
      }
      if (files.at(-1)?.file !== file) files.push({ file, from: length });
      lines[length++] = line;
    },
    at(index) {
      if (index < 0 || index >= length) return undefined;
      const { file } = files.findLast(({ from }) => from <= index) as { file: string };
      return { file, line: lines[index] as number };
    },
    clear() {
      length = 0;
      files = [];
    },
  };
}

/** The service counts more, but no more are read one by one. */
const MOST_READ = 20_000;

/**
 * The reasons why users failed, the most common first, with the places of the first users of each; of 20,000 users at
 * most.
 * @throws Failure
 */
export async function readFailures(api: Api, importId: string, places: Places): Promise<Group[]> {
  const groups = openGroups();
  for await (const item of failedItems(api, importId, MOST_READ)) {
    const place = places.at(item.index) ?? { file: '', line: item.index };
    for (const { id, message } of reasonsOf(item)) groups.add(id, message, place);
  }
  return groups.list();
}

/** At most `most` users that failed. @throws Failure */
export async function* failedItems(api: Api, importId: string, most: number): AsyncGenerator<Item> {
  for await (const { items } of itemPages(api, importId, { state: 'ITEM_STATE_FAILED' }, most)) yield* items;
}

/** One reason for each invalid field; an error without fields, such as a conflict, is one. */
export function reasonsOf({ error }: Pick<Item, 'error'>): { id: string; message: string }[] {
  const { id = 'UNKNOWN', fields } = detailsOf(error ?? {});
  if (fields.length === 0) return [{ id, message: error?.message ?? 'The service gave no reason.' }];
  return fields.map((message) => ({ id, message }));
}
