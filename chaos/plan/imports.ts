/** The imports of a round: their sizes and options, and what their caller does with them. */
import type { Random } from '../random.ts';

/** `end` waits until the import has ended or its deadline has passed. */
export type Action = 'pause' | 'resume' | 'cancel' | 'retry' | 'undo' | 'send_mails' | 'repeat' | 'report' | 'end';

export interface Step {
  /** Milliseconds after the answer to the previous step. */
  afterMs: number;
  action: Action;
}

export interface PlannedImport {
  /** Unique in the round. */
  name: string;
  atMs: number;
  users: number;
  format: 'json' | 'ndjson';
  /** `update` and `skip` are about users whom the round has imported before its faults. */
  onExisting: 'fail' | 'update' | 'skip';
  mails: 'auto' | 'none';
  webhook: boolean;
  dryRun: boolean;
  timeoutMs: number;
  /** How long the caller takes to send the body. */
  uploadMs: number;
  /** How many requests with the same key it sends at once. */
  atOnce: number;
  steps: Step[];
}

/** Far beyond what a round needs. */
const LONG_MS = 600_000;
/** Every round imports these users before its faults, for updates. */
export const BASE: PlannedImport = {
  name: 'base',
  atMs: 0,
  users: 60,
  format: 'json',
  onExisting: 'fail',
  mails: 'auto',
  webhook: false,
  dryRun: false,
  timeoutMs: LONG_MS,
  uploadMs: 0,
  atOnce: 1,
  steps: [{ afterMs: 0, action: 'end' }],
};

/** In addition for each user of a large import: a loaded machine under faults writes tens of them a second. */
const USER_MS = 60;

/** One import of this many users, or none. */
export function planLarge(users: number): PlannedImport[] {
  return users > 0 ? [{ ...BASE, name: 'large', users, timeoutMs: LONG_MS + users * USER_MS }] : [];
}

const STORIES: Record<string, Action[]> = {
  plain: ['end'],
  stopped: ['pause', 'resume', 'end'],
  cancelled: ['cancel', 'end'],
  revived: ['cancel', 'resume', 'end'],
  undone: ['pause', 'undo', 'end'],
  'undone later': ['end', 'undo', 'end'],
  repeated: ['repeat', 'repeat', 'end', 'retry', 'end'],
  reported: ['report', 'pause', 'report', 'resume', 'end', 'report'],
  late: ['end'],
  'late and revived': ['end', 'resume', 'end'],
  held: ['end', 'send_mails', 'end'],
  'held to the end': ['end'],
};

export function planImports(random: Random): PlannedImport[] {
  const names = [...'abcdefg'].slice(0, random.int(3, 6));
  return names.map((name) => planImport(name, random)).sort((a, b) => a.atMs - b.atMs);
}

function planImport(name: string, random: Random): PlannedImport {
  const story = random.pick(Object.keys(STORIES));
  const onExisting = random.chance(0.25) ? random.pick(['update', 'skip'] as const) : 'fail';
  return {
    name,
    atMs: random.int(0, 2500),
    users: onExisting === 'fail' ? random.int(40, 500) : BASE.users,
    format: random.pick(['json', 'ndjson'] as const),
    onExisting,
    mails: story.startsWith('held') ? 'none' : 'auto',
    webhook: random.chance(0.4),
    dryRun: onExisting === 'fail' && random.chance(0.1),
    timeoutMs: story.startsWith('late') ? random.int(300, 3000) : LONG_MS,
    uploadMs: random.chance(0.3) ? random.int(200, 2000) : 0,
    atOnce: random.chance(0.2) ? 2 : 1,
    steps: (STORIES[story] as Action[]).map((action) => ({ afterMs: random.int(0, 900), action })),
  };
}
