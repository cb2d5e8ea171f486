/** Names of users, for lists that know only their ids. */
import type { Api } from '../api.ts';
import { type FoundUser, nameOf, type Page } from './shapes.ts';

/** The names of the users whom the person may see; of others, the id. */
export async function userNames(api: Api, userIds: readonly string[]): Promise<(userId: string) => string> {
  const search = { query: { limit: userIds.length }, queries: [{ inUserIdsQuery: { userIds } }] };
  const { result } =
    userIds.length > 0 ? await api.send<Page<FoundUser>>('/v2beta/users', search) : { result: [] as FoundUser[] };
  const names = new Map(result.map((user) => [user.userId, nameOf(user)]));
  return (userId) => names.get(userId) ?? userId;
}
