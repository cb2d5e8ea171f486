/** Reads all pages of an old system, as `muster pull` does. */
import type { PullSystem, RecordPage } from '../../../src/sources/pull/system.ts';
import type { Fields } from '../../../src/sources/source.ts';

export interface ReadOptions {
  options: Record<string, string>;
  secrets?: Record<string, string>;
  cursor?: string | undefined;
  since?: string | undefined;
}

export interface Read {
  pages: RecordPage[];
  records: Fields[];
  identity: string;
  hashConfig: string | undefined;
  /** What the person was told. */
  notes: string[];
}

/** @throws PullError @throws UsageError */
export async function readAll(system: PullSystem, given: ReadOptions): Promise<Read> {
  const usual = Object.entries(system.options).flatMap(([name, option]) =>
    option.default === undefined ? [] : [[name, option.default]],
  );
  const notes: string[] = [];
  const old = await system.open({
    options: { ...Object.fromEntries(usual), ...given.options },
    secrets: given.secrets ?? {},
    signal: new AbortController().signal,
    note: (text) => void notes.push(text),
  });
  try {
    const pages: RecordPage[] = [];
    for await (const page of old.pages({ cursor: given.cursor, since: given.since })) pages.push(page);
    const { identity, hashConfig } = old;
    return { pages, records: pages.flatMap(({ records }) => records), identity, hashConfig, notes };
  } finally {
    await old.close();
  }
}
