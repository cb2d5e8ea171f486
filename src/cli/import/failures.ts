/** Why users failed, grouped by reason, with the places of the first of each group in the files. */

import { type Group, openGroups } from '../../sources/summary.ts';
import type { Api } from '../service/api.ts';
import type { Places } from './places.ts';

interface FailedItem {
  index: number;
  error?: {
    message: string;
    details?: { id?: string; fieldViolations?: { field: string; description: string }[] }[];
  };
}

const PAGE = 1000;
/** The service counts more, but no more are read one by one. */
const MOST_READ = 20_000;

/**
 * The reasons why users failed, the most common first; of 20,000 users at most.
 * @throws Failure
 */
export async function readFailures(api: Api, importId: string, places: Places): Promise<Group[]> {
  const groups = openGroups();
  let pageToken: string | undefined;
  let seen = 0;
  do {
    const page: { items: FailedItem[]; nextPageToken?: string } = await api.call(
      'GET',
      `/admin/v1/imports/${importId}/items`,
      {
        query: { state: 'ITEM_STATE_FAILED', pageSize: PAGE, pageToken },
      },
    );
    for (const item of page.items) {
      const place = places.at(item.index) ?? { file: '', line: item.index };
      for (const { id, message } of reasonsOf(item)) groups.add(id, message, place);
    }
    seen += page.items.length;
    pageToken = page.nextPageToken || undefined;
  } while (pageToken !== undefined && seen < MOST_READ);
  return groups.list();
}

/** One reason for each invalid field; an error without fields, such as a conflict, is one. */
export function reasonsOf({ error }: Pick<FailedItem, 'error'>): { id: string; message: string }[] {
  const id = error?.details?.[0]?.id ?? 'UNKNOWN';
  const fields = error?.details?.flatMap((detail) => detail.fieldViolations ?? []) ?? [];
  if (fields.length === 0) return [{ id, message: error?.message ?? 'The service gave no reason.' }];
  return fields.map(({ field, description }) => ({ id, message: `${field}: ${description}` }));
}
