/** The search of users: what it asks the API for, and its page. */

import type { Answer, Sent } from '../../contract/client.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import type { Api } from '../api.ts';
import { nameOfUser, userPath } from '../shapes.ts';
import {
  ago,
  type Choice,
  count,
  empty,
  headline,
  pages,
  queryOf,
  selectField,
  state,
  table,
} from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { USER_STATES, USERS } from '../texts/users.ts';

type Found = Answer<'searchUsers'>;
type FoundUser = Found['result'][number];

export interface ListPage {
  filter: UserFilter;
  /** The kind of the text that found the users. */
  kind: Kind | '';
  page: Found;
  /** The organizations to choose from; undefined: the person may see all, and names one by its id. */
  orgIds: readonly string[] | undefined;
  orgName(id: string): string;
}

type OrgName = ListPage['orgName'];

/** The search of users: the form, and the users that it found. */
export function listBody(consoleUrl: ConsoleUrl, { filter, kind, page, orgIds, orgName }: ListPage): Html {
  const { result: users, nextPageToken } = page;
  const link = (text: string, after?: string) => ({
    href: consoleUrl(`/users${queryOf({ ...parametersOf(filter, kind), after })}`),
    text,
  });
  return html`${headline(USERS.title)}
${form(consoleUrl, filter, orgIds, orgName)}
${users.length === 0 ? nobody(consoleUrl, filter) : html`${summary(consoleUrl, filter, kind, page)}${userTable(consoleUrl, users, orgName)}`}
${pages(filter.after ? link(USERS.first) : undefined, nextPageToken ? link(USERS.next, nextPageToken) : undefined)}`;
}

function parametersOf({ text, state, orgId }: UserFilter, kind: Kind | ''): Record<string, string> {
  return { q: text, by: kind, state, org: orgId };
}

function form(
  consoleUrl: ConsoleUrl,
  { text, kind, state, orgId }: UserFilter,
  orgIds: readonly string[] | undefined,
  orgName: OrgName,
): Html {
  const kinds = KINDS.map((one): Choice => [one, USERS.kinds[one]]);
  const states = Object.entries(USER_STATES).map(([name, shown]): Choice => [name, shown.name]);
  const orgs = orgIds?.map((id): Choice => [id, orgName(id)]);
  return html`<form class="filters" role="search" method="get" action="${consoleUrl('/users')}">
<div><label for="q">${USERS.text}</label><input id="q" name="q" type="search" value="${text}" size="32" maxlength="500"></div>
${selectField(USERS.by, 'by', [['', USERS.anyKind], ...kinds], kind)}
${selectField(USERS.state, 'state', [['', USERS.anyState], ...states], state)}
${
  orgs === undefined
    ? html`<div><label for="org">${USERS.organization}</label><input id="org" name="org" value="${orgId}" maxlength="200"></div>`
    : orgs.length > 1
      ? selectField(USERS.organization, 'org', [['', USERS.anyOrganization], ...orgs], orgId)
      : undefined
}
<button type="submit">${USERS.search}</button>
</form>`;
}

function summary(consoleUrl: ConsoleUrl, filter: UserFilter, kind: Kind | '', { details }: Found): Html {
  const total = count(Number(details.totalResult));
  const said = USERS.found(details.totalIsEstimate ? USERS.about(total) : total, total === '1');
  // An exact match may hide the users whose names begin with the same text.
  const more = kind && kind !== 'name' && !filter.kind;
  const names = consoleUrl(`/users${queryOf(parametersOf(filter, 'name'))}`);
  return html`<p class="soft">${said}${kind && ` ${USERS.matching[kind]}`}.
${more ? html`<a href="${names}">${USERS.beginning(filter.text)}</a>` : undefined}</p>`;
}

function nobody(consoleUrl: ConsoleUrl, { text, state, orgId, after }: UserFilter): Html {
  const isFiltered = [text, state, orgId, after].some((value) => value !== '');
  if (!isFiltered) {
    return empty(USERS.emptyHeading, USERS.empty);
  }
  return empty(USERS.noneHeading, USERS.none, html`<p><a href="${consoleUrl('/users')}">${USERS.showAll}</a></p>`);
}

function userTable(consoleUrl: ConsoleUrl, users: readonly FoundUser[], orgName: OrgName): Html {
  const columns = [USERS.name, USERS.userName, USERS.email, USERS.state, USERS.organization, USERS.changed];
  const rows = users.map((user) => row(consoleUrl, user, orgName));
  return html`<section class="card flush">${table(USERS.caption, columns, rows)}</section>`;
}

function row(consoleUrl: ConsoleUrl, user: FoundUser, orgName: OrgName): Html {
  const { email } = user.human ?? {};
  return html`<tr>
<th scope="row"><a href="${consoleUrl(userPath(user.userId))}">${nameOfUser(user)}</a></th>
<td data-label="${USERS.userName}">${user.username}</td>
<td data-label="${USERS.email}">${email?.email && html`<span>${email.email}${email.isVerified ? undefined : html` <span class="soft">(${USERS.unverified})</span>`}</span>`}</td>
<td data-label="${USERS.state}">${stateBadge(user)}</td>
<td data-label="${USERS.organization}">${orgName(user.details.resourceOwner)}</td>
<td data-label="${USERS.changed}">${ago(user.details.changeDate)}</td>
</tr>
`;
}

/** The badge of a user's state. */
export function stateBadge({ state: name }: { state: string }): Html | undefined {
  const shown = ownValue(USER_STATES, name.replace('USER_STATE_', ''));
  return shown && state(shown);
}

/** What the text of a search may be. */
export const KINDS = ['person', 'name', 'login', 'email', 'phone', 'id'] as const;
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

type Query = NonNullable<Sent<'searchUsers'>['queries']>[number];

/** By kind, the query of the API. Names and addresses compare in any case. */
const QUERIES: Record<Kind, (text: string) => Query> = {
  person: (text) => ({
    displayNameQuery: { displayName: text, method: 'TEXT_QUERY_METHOD_WORDS_START_WITH_IGNORE_CASE' },
  }),
  name: (text) => ({ userNameQuery: { userName: text, method: 'TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE' } }),
  login: (text) => ({ loginNameQuery: { loginName: text } }),
  email: (text) => ({ emailQuery: { emailAddress: text } }),
  phone: (text) => ({ phoneQuery: { number: text } }),
  id: (text) => ({ inUserIdsQuery: { userIds: [text] } }),
};
/** Exact kinds first; each of them reads one index. The last kind is taken even if it finds nobody. */
const ORDER: readonly Kind[] = ['id', 'login', 'email', 'phone', 'person', 'name'];
/** The kinds that the text may be: a number has digits, and one letter begins too many names. */
function kindsOf(text: string): readonly Kind[] {
  return ORDER.filter((kind) => (kind === 'phone' ? /^[+0(]/.test(text) : kind !== 'person' || text.length > 1));
}

/** @returns the page, and the kind of the text that found it */
export async function findUsers(api: Api, filter: UserFilter): Promise<{ kind: Kind | ''; page: Found }> {
  const { text } = filter;
  const kinds: readonly (Kind | '')[] = text === '' ? [''] : filter.kind ? [filter.kind] : kindsOf(text);
  for (const kind of kinds.slice(0, -1)) {
    const page = await search(api, filter, kind);
    if (page.result.length > 0) return { kind, page };
  }
  const kind = kinds.at(-1) ?? '';
  return { kind, page: await search(api, filter, kind) };
}

function search(api: Api, { text, state, orgId, after }: UserFilter, kind: Kind | ''): Promise<Found> {
  const queries = [
    ...(kind ? [QUERIES[kind](text)] : []),
    ...(state ? [{ stateQuery: { state: `USER_STATE_${state}` } }] : []),
    ...(orgId ? [{ organizationIdQuery: { organizationId: orgId } }] : []),
  ];
  const query = { limit: PAGE, ...(after ? { pageToken: after } : {}) };
  return api.call('searchUsers', { body: { query, queries } });
}

/** The names of the users whom the person may see, by id; others keep their id. */
export async function userNames(api: Api, userIds: readonly string[]): Promise<(userId: string) => string> {
  const body = { query: { limit: userIds.length }, queries: [{ inUserIdsQuery: { userIds: [...userIds] } }] };
  const { result } = userIds.length > 0 ? await api.call('searchUsers', { body }) : { result: [] };
  const names = new Map(result.map((user) => [user.userId, nameOfUser(user)]));
  return (userId) => names.get(userId) ?? userId;
}
