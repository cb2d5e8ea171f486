/**
 * Why users of an import failed: each cause with its count, its first entries and the remedies that apply.
 *
 * Remembers the answer until the import has changed. Above FEW failures, an answer that is a few seconds old is shown
 * while the next one is counted, so that nobody waits for it; `asOf` says how old it is.
 *
 * Guarantee: no answer is older than the last action on the import, such as a correction.
 * On crash: counted again at the next request.
 */
import type { Pool } from '../../db/pool.ts';
import type { Cause, Causes, CountedCause, ImportResult } from '../answers.ts';
import { FIRST } from '../failures.ts';
import { orgsOf } from '../status/items-page.ts';
import { causesOf, errorIdOf, FIXED_ID } from './cause.ts';
import { errorGroups } from './error-groups.ts';

const MAX_CAUSES = 100;
/** Of distinct causes while counting; a body may have a million different unknown fields. */
const MAX_KEPT = 2000;
/** Up to here counting takes some tens of milliseconds, so the answer is always current. */
const FEW = 10_000;
/** A count that took long is followed by a pause of this many times its duration. */
const REST = 3;
const MAX_REMEMBERED = 100;

interface Remembered {
  /** The last action on the import, and the failures at that time. */
  sequence: string;
  failed: number;
  answer: Causes;
  restUntil: number;
}

export interface CausesReader {
  read(of: ImportResult): Promise<Causes>;
}

/** One for a process. */
export function openCausesReader(pool: Pool): CausesReader {
  const remembered = new Map<string, Remembered>();
  const counting = new Map<string, Promise<Causes>>();

  function count(of: ImportResult): Promise<Causes> {
    const { sequence } = of.details;
    const key = `${of.importId} ${sequence}`;
    const started = counting.get(key);
    if (started) return started;
    const began = performance.now();
    const counted = countCauses(pool, of)
      .then((answer) => {
        const restUntil = performance.now() + REST * (performance.now() - began);
        remember(of.importId, { sequence, failed: of.counts.failed, answer, restUntil });
        return answer;
      })
      .finally(() => counting.delete(key));
    counting.set(key, counted);
    return counted;
  }

  function remember(importId: string, found: Remembered): void {
    remembered.delete(importId);
    remembered.set(importId, found);
    const oldest = remembered.keys().next().value;
    if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  }

  return {
    async read(of) {
      const last = remembered.get(of.importId);
      if (!last || last.sequence !== of.details.sequence) return count(of);
      if (last.failed === of.counts.failed) return last.answer;
      if (of.counts.failed <= FEW) return count(of);
      if (performance.now() > last.restUntil) void count(of).catch(() => {}); // the next request tries again
      return last.answer;
    },
  };
}

/** Equal errors are counted by the database. */
async function countCauses(pool: Pool, of: ImportResult): Promise<Causes> {
  const asOf = new Date().toISOString();
  const found = new Map<string, { cause: Cause; count: number; first: number[] }>();
  let [failed, corrected] = [0, 0];
  for await (const { error, n, first } of errorGroups(pool, of.importId)) {
    failed += n;
    if (errorIdOf(error) === FIXED_ID) corrected += n;
    else for (const cause of causesOf(error)) take(found, cause, n, first);
  }
  const sorted = [...found.values()].sort((a, b) => b.count - a.count || (a.first[0] ?? 0) - (b.first[0] ?? 0));
  const shown = sorted.slice(0, MAX_CAUSES);
  const causes = await withUsers(pool, of.importId, shown);
  return { failed, corrected, causes, moreCauses: sorted.length - shown.length, asOf };
}

function take(
  found: Map<string, { cause: Cause; count: number; first: number[] }>,
  cause: Cause,
  n: number,
  first: number[],
): void {
  const known = found.get(cause.cause);
  if (known) {
    known.count += n;
    known.first = [...known.first, ...first].sort((a, b) => a - b).slice(0, FIRST);
  } else if (found.size < MAX_KEPT) found.set(cause.cause, { cause, count: n, first });
}

interface UserRow {
  ordinal: number;
  org_index: number;
  user_id: string | null;
  user_name: string | null;
}

async function withUsers(
  pool: Pool,
  importId: string,
  shown: { cause: Cause; count: number; first: number[] }[],
): Promise<CountedCause[]> {
  const { rows } = await pool.query<UserRow>(
    'select ordinal, org_index, user_id, user_name from import_items where import_id = $1 and ordinal = any($2::int[])',
    [importId, shown.flatMap(({ first }) => first)],
  );
  const users = new Map(rows.map((row) => [row.ordinal, row]));
  const orgs = await orgsOf(pool, importId);
  const entryAt = (index: number) => {
    const user = users.get(index);
    const orgId = orgs.get(user?.org_index ?? -1) ?? '';
    return { index, orgId, userId: user?.user_id ?? '', userName: user?.user_name ?? '' };
  };
  return shown.map(({ cause, count, first }) => ({ ...cause, count, first: first.map(entryAt) }));
}
