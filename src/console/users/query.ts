/** What a search of the screen asks the API for. */
import type { Api } from '../api.ts';
import type { FoundUser, Page } from './shapes.ts';

/** What the text of a search may be. */
export const KINDS = ['name', 'login', 'email', 'id'] as const;
export type Kind = (typeof KINDS)[number];

export interface UserFilter {
  text: string;
  /** Empty: the first kind that finds somebody. */
  kind: Kind | '';
  /** `ACTIVE`; empty: all. */
  state: string;
  orgId: string;
  /** Begins a further page. */
  after: string;
}

const PAGE = 50;

/** By kind, the query of the API. Names and addresses compare in any case. */
const QUERIES: Record<Kind, (text: string) => object> = {
  name: (text) => ({ userNameQuery: { userName: text, method: 'TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE' } }),
  login: (text) => ({ loginNameQuery: { loginName: text } }),
  email: (text) => ({ emailQuery: { emailAddress: text } }),
  id: (text) => ({ inUserIdsQuery: { userIds: [text] } }),
};
/** Exact ones first; each of them reads one index. The last one is taken even if it finds nobody. */
const ORDER: readonly Kind[] = ['id', 'login', 'email', 'name'];

/** @returns the page, and the kind of the text that found it */
export async function findUsers(api: Api, filter: UserFilter): Promise<{ kind: Kind | ''; page: Page<FoundUser> }> {
  const { text } = filter;
  const kinds: readonly (Kind | '')[] = text === '' ? [''] : filter.kind ? [filter.kind] : ORDER;
  for (const kind of kinds.slice(0, -1)) {
    const page = await search(api, filter, kind);
    if (page.result.length > 0) return { kind, page };
  }
  const kind = kinds.at(-1) ?? '';
  return { kind, page: await search(api, filter, kind) };
}

function search(api: Api, { text, state, orgId, after }: UserFilter, kind: Kind | ''): Promise<Page<FoundUser>> {
  const queries = [
    ...(kind ? [QUERIES[kind](text)] : []),
    ...(state ? [{ stateQuery: { state: `USER_STATE_${state}` } }] : []),
    ...(orgId ? [{ organizationIdQuery: { organizationId: orgId } }] : []),
  ];
  return api.send('/v2beta/users', { query: { limit: PAGE, ...(after ? { pageToken: after } : {}) }, queries });
}
