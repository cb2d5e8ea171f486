/**
 * New audit events as they come.
 *
 * Guarantee: each event is shown once, also one that is stored up to OVERLAP_MS after others with a later time, as its
 * transaction took that long. An event that only counts up is shown when it was first stored.
 */
import type { Api } from './api.ts';
import type { AuditEvent } from './events.ts';

const OVERLAP_MS = 30_000;
const PAGE = 1000;

interface Page {
  result: AuditEvent[];
  nextPageToken: string;
}

export interface FollowedEvents {
  /** The latest events, the oldest first. */
  latest(limit: number): Promise<AuditEvent[]>;
  /** Those that were stored since the last call of either function. */
  next(): Promise<AuditEvent[]>;
}

/** @param filter the conditions of a search, without a page */
export function followEvents(api: Pick<Api, 'call'>, filter: object, signal?: AbortSignal): FollowedEvents {
  const shown = new Map<string, number>();
  let from: string | undefined;

  const search = (body: object) =>
    api.call<Page>('POST', '/admin/v1/events/_search', { body: { ...filter, ...body }, signal });

  /** All events of the overlap and after it. */
  async function recent(): Promise<AuditEvent[]> {
    const all: AuditEvent[] = [];
    let pageToken: string | undefined;
    do {
      const page = await search({ ...(from === undefined ? {} : { from }), asc: true, pageSize: PAGE, pageToken });
      all.push(...page.result);
      pageToken = page.nextPageToken || undefined;
    } while (pageToken !== undefined);
    return all;
  }

  function unshown(events: AuditEvent[]): AuditEvent[] {
    const added = events.filter(({ sequence }) => !shown.has(sequence));
    for (const { sequence, creationDate } of added) shown.set(sequence, Date.parse(creationDate));
    const since = Math.max(...shown.values()) - OVERLAP_MS;
    if (shown.size > 0) from = new Date(since).toISOString();
    for (const [sequence, at] of shown) if (at < since) shown.delete(sequence);
    return added;
  }

  return {
    async latest(limit) {
      const { result } = await search({ pageSize: limit });
      const latest = unshown(result.toReversed());
      if (latest.length > 0) unshown(await recent()); // older than those, but within the overlap
      return latest;
    },
    next: async () => unshown(await recent()),
  };
}
