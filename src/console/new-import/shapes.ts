/** What the API answers about drafts, as far as the steps show it. */
import type { PepperMode } from '../../passwords/pepper-modes.ts';
import type { Counts, Result } from '../imports/shapes.ts';

export interface DraftFile {
  fileId: string;
  name: string;
  kind: 'users' | 'hashes' | 'hash_parameters';
  size: number;
  offset: number;
}

export interface Place {
  file: string;
  line: number;
}

export interface Group {
  id: string;
  message: string;
  count: number;
  examples: Place[];
}

export interface Summary {
  users: number;
  hashes: { scheme: string; verifiable: boolean; count: number; problem?: string }[];
  withoutPassword: number;
  plainPasswords: number;
  inactive: number;
  locked: number;
  typeUserName: number;
  numericIds: number;
  unusedHashes: number;
  notes: Group[];
  skipped: Group[];
  broken: Group[];
}

export interface Conversion {
  source?: string;
  mapping?: Record<string, string>;
  orgId?: string;
  withoutEmail?: boolean;
  passwordSource?: string;
}

export interface Settings {
  timeout: string;
  onExisting: 'fail' | 'skip' | 'update';
  mails: 'auto' | 'none';
}

export interface ShownDraft {
  expiresAt: string;
  orgId: string;
  files: DraftFile[];
  source: string;
  conversion?: Conversion;
  /** How the old system added a pepper; absent: the draft has none. */
  pepper?: PepperMode;
  settings?: Settings;
  progress?: { bytes: number; totalBytes: number; users: number };
  summary?: Summary;
  error?: { message: string; details: { id?: string }[] };
  check?: { importId: string; state: string; counts: Counts };
}

/** An import in preparation. */
export type Draft = Omit<Result, 'draft'> & { draft: ShownDraft };

export interface Sample {
  text?: string;
  hidden?: string;
}

export interface Column {
  name: string;
  samples: Sample[];
  becomes: string;
}

export interface Guess {
  source: string;
  candidates: { source: string; title: string; certainty: number }[];
  files: {
    name: string;
    isHashes: boolean;
    format: string;
    encoding: string;
    isGzip: boolean;
    delimiter: string;
    columns: Column[];
    problem?: string;
  }[];
  mapping: Record<string, string>;
}

/** What is read of a file before the rest of it has arrived. */
const ENOUGH = 2 ** 20;

/** Whether the files of users have begun to arrive, so that they can be recognized. */
export function isRecognizable(files: readonly DraftFile[]): boolean {
  return files.length > 0 && files.every(({ size, offset }) => offset >= Math.min(size, ENOUGH));
}

/** Whether it has users, or has all that is needed to read them. One whose users came in a request has no files. */
export function isReadable({ state, draft: { files } }: Draft): boolean {
  return isComplete(files) || (files.length === 0 && state !== 'IMPORT_STATE_UPLOADING');
}

export function isComplete(files: readonly DraftFile[]): boolean {
  return files.some(({ kind }) => kind === 'users') && files.every(({ size, offset }) => offset === size);
}
