/** The search of users: the form, and the users that it found. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, queryOf, selectField, state } from '../page/blocks.ts';
import { count, time } from '../page/format.ts';
import { USER_STATES, USERS } from '../texts/users.ts';
import { KINDS, type Kind, type UserFilter } from './query.ts';
import { type FoundUser, nameOf, type Page, userPath } from './shapes.ts';

export interface ListPage {
  filter: UserFilter;
  /** The kind of the text that found the users. */
  kind: Kind | '';
  page: Page<FoundUser>;
  /** The organizations to choose from; undefined: the person may see all, and names one by its id. */
  orgIds: readonly string[] | undefined;
  orgName(id: string): string;
}

type OrgName = ListPage['orgName'];

export function listBody(at: At, { filter, kind, page, orgIds, orgName }: ListPage): Html {
  const { result: users, nextPageToken } = page;
  return html`${headline(USERS.title)}
${form(at, filter, orgIds, orgName)}
${users.length === 0 ? nobody(at, filter) : html`${summary(at, filter, kind, page)}${table(at, users, orgName)}`}
<p class="pages">${filter.after && html`<a href="${at(`/users${queryOf(parametersOf(filter, kind))}`)}">${USERS.first}</a>`}
${nextPageToken && html`<a href="${at(`/users${queryOf({ ...parametersOf(filter, kind), after: nextPageToken })}`)}">${USERS.next}</a>`}</p>`;
}

function parametersOf({ text, state, orgId }: UserFilter, kind: Kind | ''): Record<string, string> {
  return { q: text, by: kind, state, org: orgId };
}

function form(
  at: At,
  { text, kind, state, orgId }: UserFilter,
  orgIds: readonly string[] | undefined,
  orgName: OrgName,
): Html {
  const kinds = KINDS.map((one): [string, string] => [one, USERS.kinds[one]]);
  const states = Object.entries(USER_STATES).map(([name, shown]): [string, string] => [name, shown.name]);
  const orgs = orgIds?.map((id): [string, string] => [id, orgName(id)]);
  return html`<form class="filters" role="search" method="get" action="${at('/users')}">
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

function summary(at: At, filter: UserFilter, kind: Kind | '', { details }: Page<FoundUser>): Html {
  const total = count(Number(details.totalResult));
  const said = USERS.found(details.totalIsEstimate ? USERS.about(total) : total, total === '1');
  // An exact match may hide the users whose names begin with the same text.
  const more = kind && kind !== 'name' && !filter.kind;
  const names = at(`/users${queryOf(parametersOf(filter, 'name'))}`);
  return html`<p class="soft">${said}${kind && ` ${USERS.matching[kind]}`}.
${more ? html`<a href="${names}">${USERS.beginning(filter.text)}</a>` : undefined}</p>`;
}

function nobody(at: At, { text, state, orgId, after }: UserFilter): Html {
  const isFiltered = [text, state, orgId, after].some((value) => value !== '');
  if (!isFiltered) {
    return html`<section class="card empty"><h2>${USERS.emptyHeading}</h2><p>${USERS.empty}</p></section>`;
  }
  return html`<section class="card empty"><h2>${USERS.noneHeading}</h2><p>${USERS.none}</p>
<p><a href="${at('/users')}">${USERS.showAll}</a></p></section>`;
}

function table(at: At, users: readonly FoundUser[], orgName: OrgName): Html {
  return html`<section class="card flush"><table class="stack">
<caption class="sr">${USERS.caption}</caption>
<thead><tr><th scope="col">${USERS.name}</th><th scope="col">${USERS.loginName}</th><th scope="col">${USERS.email}</th>
<th scope="col">${USERS.state}</th><th scope="col">${USERS.organization}</th><th scope="col">${USERS.changed}</th></tr></thead>
<tbody>${users.map((user) => row(at, user, orgName))}</tbody></table></section>`;
}

function row(at: At, user: FoundUser, orgName: OrgName): Html {
  const { email } = user.human ?? {};
  return html`<tr>
<th scope="row"><a href="${at(userPath(user.userId))}">${nameOf(user)}</a></th>
<td data-label="${USERS.loginName}">${user.preferredLoginName}</td>
<td data-label="${USERS.email}">${email?.email && html`<span>${email.email}${email.isVerified ? undefined : html` <span class="soft">(${USERS.unverified})</span>`}</span>`}</td>
<td data-label="${USERS.state}">${stateOf(user)}</td>
<td data-label="${USERS.organization}">${orgName(user.details.resourceOwner)}</td>
<td data-label="${USERS.changed}">${time(user.details.changeDate)}</td>
</tr>
`;
}

export function stateOf({ state: name }: { state: string }): Html | undefined {
  const shown = USER_STATES[name.replace('USER_STATE_', '')];
  return shown && state(shown);
}
