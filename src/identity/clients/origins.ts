/**
 * The origins of the registered clients' redirect URIs: browsers let pages of these origins call the service.
 *
 * Guarantee: a new client's origin is known at once, to every process; a removed one is forgotten within `freshMs`.
 * Requests from known origins read the database once per `freshMs`, and all others share one read at a time.
 */
import type { Db } from '../../db/pool.ts';
import { webOrigin } from './redirect-uri.ts';

const FRESH_MS = 10_000;

export interface Origins {
  has(origin: string): Promise<boolean>;
}

export function openOrigins(db: Db, freshMs: number = FRESH_MS): Origins {
  let known: ReadonlySet<string | undefined> = new Set();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const startedAt = performance.now();
    const { rows } = await db.query<{ uri: string }>('select distinct unnest(redirect_uris) as uri from oauth_clients');
    known = new Set(rows.map(({ uri }) => webOrigin(uri)));
    readAt = startedAt;
  }

  const isFresh = (origin: string) => known.has(origin) && performance.now() - readAt < freshMs;

  return {
    async has(origin) {
      if (isFresh(origin)) return true;
      // A read in progress may have begun before the client was registered.
      await reading;
      if (isFresh(origin)) return true;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
      return known.has(origin);
    },
  };
}
