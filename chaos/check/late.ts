/**
 * Late: a user whose transaction was committed after a caller was answered that the import is paused, cancelled or
 * timed out, and before anybody made it run again; or well after the deadline of an import that has timed out.
 *
 * The time is that of the commit, which PostgreSQL records (track_commit_timestamp). The event of a user is never
 * changed, so the transaction of its row is the one that wrote the user.
 */
import type { Db } from '../../src/platform/db/pool.ts';
import { type Problem, problem, type SentImport } from '../client/sent.ts';
import type { Rows } from './rows.ts';

/** A commit begins before the deadline and may need this long on a busy machine; nobody was told that it is over. */
const COMMIT_MS = 2000;

export async function findLate(db: Db, sent: SentImport, rows: Rows): Promise<(Problem | undefined)[]> {
  const { id, state } = rows.import;
  const inStop = await Promise.all(sent.stopped.map(({ from, until }) => committedWithin(db, id, from, until)));
  const late = state === 'timed_out' ? await afterDeadline(db, id) : [];
  return [
    problem(sent, 'late', 'users written after the answer that the import has stopped', inStop.flat()),
    problem(sent, 'late', 'users written after the deadline', late),
  ];
}

const WRITTEN = `select jsonb_array_elements_text(coalesce(payload -> 'userIds', jsonb_build_array(aggregate_id))) as id
  from events e where type in ('user.human.imported', 'user.human.updated') and payload ->> 'importId' = $1::text`;

async function committedWithin(db: Db, importId: string, from: number, until: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `${WRITTEN} and pg_xact_commit_timestamp(e.xmin) > to_timestamp($2::float8 / 1000)
       and pg_xact_commit_timestamp(e.xmin) < to_timestamp($3::float8 / 1000)`,
    [importId, from, until],
  );
  return rows.map(({ id }) => id);
}

async function afterDeadline(db: Db, importId: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `${WRITTEN} and pg_xact_commit_timestamp(e.xmin) >
       (select deadline + $2 * interval '1 millisecond' from imports where id = $1::bigint)`,
    [importId, COMMIT_MS],
  );
  return rows.map(({ id }) => id);
}
