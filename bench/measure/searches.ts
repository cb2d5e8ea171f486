/** Searches of users as applications send them, each with other values from call to call. */
import { timed } from '../machine/timed.ts';
import type { Client } from '../testbed/client.ts';
import { LARGEST } from '../testbed/plant-users.ts';

interface Search {
  queries: object[];
  limit?: number;
  /** Measure the second page, by the token of the first. */
  second?: true;
}

const org = (organizationId: string) => ({ organizationIdQuery: { organizationId } });
const state = (name: string) => ({ stateQuery: { state: `USER_STATE_${name}` } });
const prefix = (userName: string) => ({ userNameQuery: { userName, method: 'TEXT_QUERY_METHOD_STARTS_WITH' } });
const LETTERS = ['ann', 'björn', 'chloé', 'dmitri', 'elif', 'fatima', 'giulia', 'hiroshi', 'ines'];

/** Someone who is in the table. */
export interface Known {
  id: string;
  name: string;
  email: string;
}

/** @param n the number of the call @param orgIds of the planted organizations */
function searches(n: number, orgIds: string[], known: Known): Record<string, Search> {
  const some = orgIds[(n * 7919) % orgIds.length] as string;
  const first = prefix(`${LETTERS[n % LETTERS.length]}.`);
  return {
    'all users': { queries: [] },
    'all users, by token': { queries: [], second: true },
    'an organization': { queries: [org(some)] },
    'the largest organization': { queries: [org(LARGEST)] },
    'the largest organization, by token': { queries: [org(LARGEST)], second: true },
    'the largest organization, 1,000 a page': { queries: [org(LARGEST)], limit: 1000 },
    'the largest organization and a state': { queries: [org(LARGEST), state('INACTIVE')] },
    'an organization, a prefix and a state': { queries: [org(some), first, state('ACTIVE')] },
    'a prefix': { queries: [first] },
    'a state': { queries: [state('LOCKED')] },
    'an id': { queries: [{ inUserIdsQuery: { userIds: [known.id] } }] },
    'an address': { queries: [{ emailQuery: { emailAddress: known.email } }] },
    'a login name': { queries: [{ loginNameQuery: { loginName: known.name } }] },
  };
}

/** Milliseconds of `calls` searches of each kind, taking turns. */
export async function timeSearches(
  client: Client,
  orgIds: string[],
  known: Known[],
  calls: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>();
  for (let n = 0; n < calls; n++) {
    const kinds = searches(n, orgIds, known[n % known.length] as Known);
    for (const [kind, { queries, limit = 100, second }] of Object.entries(kinds)) {
      const query = { limit, asc: true };
      const search = (pageToken?: string) =>
        client.call('POST', '/v2beta/users', { query: { ...query, ...(pageToken ? { pageToken } : {}) }, queries });
      const token = second ? (await search()).nextPageToken : undefined;
      const ms = await timed(() => search(token));
      times.set(kind, [...(times.get(kind) ?? []), ms]);
    }
  }
  return times;
}
