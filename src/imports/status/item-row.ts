/** The columns of an item that its outcome is shown from, and what items can be filtered by. */
import type { ErrorBody } from '../../errors.ts';

export interface ItemRow {
  ordinal: number;
  org_index: number;
  user_id: string | null;
  user_name: string | null;
  state: string;
  error: ErrorBody | null;
  kept: string | null;
  changed: string[] | null;
}

export interface ItemFilter {
  /** Items from this index on. */
  from: number;
  /** As stored. */
  state?: string | undefined;
  orgIndexes?: number[] | undefined;
  userId?: string | undefined;
}
