/**
 * Open imports and their pending users, from the counters of the imports. Reads two partial indexes that hold open
 * imports only, however many imports and users there are.
 */
import type { Db } from '../../db/pool.ts';
import { atMostEvery, type Measure } from '../../http/metrics/metrics.ts';

interface Row {
  state: string;
  imports: number;
  /** Users of imports that run and whose deadline has not passed. */
  pending: number;
  /** Seconds; 0 if nothing is pending. */
  oldest: number;
  stalled: number;
}

const NONE = { receiving: 0, running: 0, paused: 0, undoing: 0 };
const SHARED_MS = 1000;

// A draft is in `receiving` too, although nothing of it arrives. A timed-out import stays `running` in the table until it is read; its users are no longer pending. One branch for
// each partial index: imports_open, imports_paused.
export const OPEN_IMPORTS = `
with open as (
  select state, accepted_at, stood, changed_at,
    case when state = 'running' and deadline > clock_timestamp()
      then total - succeeded - skipped - failed - undone else 0 end as pending
  from imports where state in ('receiving', 'running', 'undoing')
    and not (state = 'receiving' and exists (select from import_drafts d where d.import_id = imports.id))
  union all
  select state, accepted_at, stood, changed_at, 0 from imports where state = 'paused'
)
select state, count(*)::int as imports, sum(pending)::float8 as pending,
  coalesce(max(extract(epoch from clock_timestamp() - accepted_at - stood)) filter (where pending > 0), 0)::float8 as oldest,
  coalesce(max(extract(epoch from clock_timestamp() - changed_at)) filter (where pending > 0), 0)::float8 as stalled
from open group by state`;

export function openImports(db: Db): Measure[] {
  const rows = atMostEvery(SHARED_MS, async () => (await db.query<Row>(OPEN_IMPORTS)).rows);
  const ofRunning = async (column: 'pending' | 'oldest' | 'stalled') =>
    (await rows()).find((row) => row.state === 'running')?.[column] ?? 0;
  return [
    {
      name: 'muster_imports_open',
      help: 'Imports that are uploading (receiving), running, paused or being undone, by state.',
      label: 'state',
      read: async () => ({ ...NONE, ...Object.fromEntries((await rows()).map((row) => [row.state, row.imports])) }),
    },
    {
      name: 'muster_import_items_pending',
      help: 'Users of running imports that are not written yet.',
      read: () => ofRunning('pending'),
    },
    {
      name: 'muster_import_oldest_pending_seconds',
      help: 'How long the oldest import with pending users has been running.',
      read: () => ofRunning('oldest'),
    },
    {
      name: 'muster_import_stalled_seconds',
      help: 'Time since the last progress of an import with pending users; of all imports, the longest.',
      read: () => ofRunning('stalled'),
    },
  ];
}
