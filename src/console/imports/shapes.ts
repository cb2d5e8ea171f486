/** What the API answers about imports, as far as the screens show it (`/openapi.json` has all of it). */

export interface Counts {
  total: number;
  pending: number;
  succeeded: number;
  skipped: number;
  failed: number;
  timedOut: number;
  cancelled: number;
  undone: number;
}

export interface Progress {
  importId: string;
  state: string;
  dryRun: boolean;
  deadline: string;
  counts: Counts;
  mails: { pending: number; held: number; sent: number; failed: number };
  usersPerSecond: number;
  eta: string | null;
  orgs: { orgId: string; counts: Counts }[];
  details: { creationDate: string; changeDate: string; resourceOwner: string };
}

export interface Result extends Progress {
  warnings: { path?: string; field?: string; count?: number; message?: string }[];
  missingRoles?: string[];
  webhook?: { state: string; attempts: number; lastError?: string };
}

export interface Violation {
  field: string;
  description: string;
}

export interface Item {
  index: number;
  orgId: string;
  userId: string;
  userName: string;
  state: string;
  error?: { message: string; details: { fieldViolations?: Violation[] }[] };
  kept?: string;
  changed?: string[];
}

export interface RatePoint {
  at: string;
  seconds: number;
  succeeded: number;
  skipped: number;
  failed: number;
  usersPerSecond: number;
}

export interface UndoPreview {
  removed: number;
  kept: number;
  reasons: { reason: string; users: number }[];
}

export function stateOf({ state }: { state: string }): string {
  return state.replace(/^(?:IMPORT|ITEM)_STATE_/, '');
}

export function settled({ succeeded, skipped, failed, undone }: Counts): number {
  return succeeded + skipped + failed + undone;
}

export function open({ counts }: Progress): number {
  return counts.total - settled(counts);
}
