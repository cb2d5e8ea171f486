/** The page on which people see where they are signed in. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, notice, state } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import { ACCOUNT } from '../texts/account.ts';
import { deviceName } from './device.ts';

/** As the API lists it. */
export interface Login {
  id: string;
  type: 'LOGIN_TYPE_SESSION' | 'LOGIN_TYPE_BROWSER' | 'LOGIN_TYPE_APPLICATION';
  isCurrent: boolean;
  clientId?: string;
  clientName?: string;
  address?: string;
  userAgent?: string;
  creationDate: string;
  lastUseDate?: string;
  expirationDate: string;
}

/** As many as the API lists at most. */
const MOST_LISTED = 100;

/** @param said what has just happened */
export function accountBody(
  { at, baseUrl }: { at: At; baseUrl: string },
  logins: readonly Login[],
  said: string | undefined,
): Html {
  const isApplication = ({ type }: Login) => type === 'LOGIN_TYPE_APPLICATION';
  const [places, applications] = [logins.filter((login) => !isApplication(login)), logins.filter(isApplication)];
  return html`${headline(ACCOUNT.title)}
${notice(said)}
<p class="soft">${ACCOUNT.intro} <a href="${baseUrl}/ui/forgot">${ACCOUNT.password}</a></p>
${section(at, ACCOUNT.browsers, places, ACCOUNT.noBrowsers)}
${section(at, ACCOUNT.applications, applications, ACCOUNT.noApplications, ACCOUNT.applicationsHint)}
${logins.some(({ isCurrent }) => !isCurrent) ? endOthers(at, logins.length === MOST_LISTED) : undefined}`;
}

function section(at: At, title: string, logins: readonly Login[], none: string, hint?: string): Html {
  const content = logins.length > 0 ? table(at, title, logins) : html`<p class="inset soft">${none}</p>`;
  return html`<h2>${title}</h2>
${hint && html`<p class="soft">${hint}</p>`}
<section class="card flush">${content}</section>`;
}

function table(at: At, title: string, logins: readonly Login[]): Html {
  const columns = [ACCOUNT.name, ACCOUNT.signedIn, ACCOUNT.lastUsed, ACCOUNT.address, ACCOUNT.ends, ACCOUNT.action];
  return html`<table class="stack"><caption class="sr">${title}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${logins.map((login) => row(at, login))}</tbody></table>`;
}

function row(at: At, login: Login): Html {
  return html`<tr><th scope="row">${nameOf(login)}</th>
<td data-label="${ACCOUNT.signedIn}">${time(login.creationDate)}</td>
<td data-label="${ACCOUNT.lastUsed}">${time(login.lastUseDate) ?? ACCOUNT.unknown}</td>
<td data-label="${ACCOUNT.address}">${login.address ?? ACCOUNT.unknown}</td>
<td data-label="${ACCOUNT.ends}">${time(login.expirationDate)}</td>
<td data-label="${ACCOUNT.action}">${login.isCurrent ? state({ name: ACCOUNT.current, look: 'good' }) : end(at, login)}</td></tr>
`;
}

function end(at: At, login: Login): Html {
  return html`<form method="post" action="${at('/account/end')}"><input type="hidden" name="loginId" value="${login.id}">
<button type="submit" class="quiet small">${ACCOUNT.end}<span class="sr"> ${nameOf(login)}, ${login.address}</span></button></form>`;
}

function endOthers(at: At, isMore: boolean): Html {
  return html`<form class="card confirm" method="post" action="${at('/account/end-others')}">
<p id="others">${ACCOUNT.endOthersHint}${isMore ? ` ${ACCOUNT.most}` : ''}</p>
<div class="buttons"><button type="submit" class="danger" aria-describedby="others">${ACCOUNT.endOthers}</button></div></form>`;
}

function nameOf({ type, clientId = '', clientName, userAgent }: Login): string {
  if (type === 'LOGIN_TYPE_BROWSER') return deviceName(userAgent);
  return clientName ?? ACCOUNT.builtIn[clientId] ?? (clientId || ACCOUNT.program);
}
