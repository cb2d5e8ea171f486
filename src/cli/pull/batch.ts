/** Converts the pages of an old system, and collects the users to send in batches of bounded size. */
import type { Page } from '../../pull/system.ts';
import { type Conversion, type Outcome, type RecordJob, recordConverter } from '../../sources/convert.ts';
import { type Fingerprint, fingerprintOf, type Sent } from './sent.ts';

/** Users that become one import. */
export interface Batch {
  /** Outcomes with an entry. */
  users: Outcome[];
  prints: Fingerprint[];
  /** Reading continues here once they are stored. */
  cursor: string | undefined;
  /** Users read in this run up to the cursor. */
  read: number;
}

export interface Collector {
  /** Adds a page; `seen` gets every outcome, also of users that have not changed. */
  add(page: Page, seen: (outcome: Outcome) => void): void;
  readonly size: number;
  /** The batch so far; the next one begins. */
  take(): Batch;
}

export interface CollectOptions extends RecordJob {
  /** The system's name, for messages about its records. */
  title: string;
  /** Users whose entry was sent before are left out; undefined: none is. */
  sent: Sent | undefined;
  /** Users read by earlier attempts of this run. */
  read: number;
  cursor: string | undefined;
}

export function openCollector({ title, sent, read, cursor, ...job }: CollectOptions): Collector {
  const convert = recordConverter(job);
  const empty = (): Pick<Batch, 'users' | 'prints'> => ({ users: [], prints: [] });
  let batch = empty();
  let number = read;
  let reached = cursor;
  return {
    add(page, seen) {
      for (const record of page.records) {
        const outcome: Outcome = { file: title, line: ++number, ...convert(record) };
        seen(outcome);
        if (!outcome.entry) continue;
        const print = fingerprintOf(outcome.entry);
        if (sent?.has(print)) continue;
        batch.users.push(outcome);
        batch.prints.push(print);
      }
      reached = page.cursor;
    },
    get size() {
      return batch.users.length;
    },
    take() {
      const taken = { ...batch, cursor: reached, read: number };
      batch = empty();
      return taken;
    },
  };
}

/** The batch as the body of an import. */
export function conversionOf({ users }: Batch): Conversion {
  return {
    async *outcomes() {
      yield users;
    },
    unusedHashes: () => 0,
    close: async () => {},
  };
}
