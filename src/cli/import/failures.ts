/** Why users failed, told apart by reason, with where the first of each stand in the files. */
import type { Api } from '../service/api.ts';
import type { Places } from './places.ts';
import { type Group, openGroups } from './summary.ts';

interface FailedItem {
  index: number;
  error?: {
    message: string;
    details?: { id?: string; fieldViolations?: { field: string; description: string }[] }[];
  };
}

const PAGE = 1000;
/** More are counted by the service, but not looked at one by one. */
const LOOK_AT = 20_000;

/**
 * The reasons of the users that failed, the commonest first; of 20,000 users at most.
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
  } while (pageToken !== undefined && seen < LOOK_AT);
  return groups.list();
}

/** One for each bad field; a conflict and the like are one. */
function reasonsOf({ error }: FailedItem): { id: string; message: string }[] {
  const id = error?.details?.[0]?.id ?? 'UNKNOWN';
  const fields = error?.details?.flatMap((detail) => detail.fieldViolations ?? []) ?? [];
  if (fields.length === 0) return [{ id, message: error?.message ?? 'The service did not say why.' }];
  return fields.map(({ field, description }) => ({ id, message: `${field}: ${description}` }));
}
