/** The page of the administrators of the service (IAM_OWNER), and the one that removes one of them. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, notice, textField } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import type { Refusal } from '../page/refusal.ts';
import { ADMINISTRATORS } from '../texts/administrators.ts';
import { SYSTEM } from '../texts/system.ts';
import { userPath } from '../users/shapes.ts';

export const PATH = '/system/administrators';

export interface Administrator {
  userId: string;
  details: { creationDate: string };
}

export interface AdministratorsPage {
  administrators: readonly Administrator[];
  /** Of all, of whom the page shows the first. */
  total: number;
  nameOf(userId: string): string;
  /** The person who is signed in. */
  self: string;
  /** What was typed into the form. */
  userId: string;
}

export function listBody(at: At, page: AdministratorsPage, refusal?: Refusal): Html {
  const { administrators, total } = page;
  const more = total > administrators.length ? ADMINISTRATORS.more(administrators.length, total) : '';
  return html`${headline(ADMINISTRATORS.title, { href: at('/system'), text: SYSTEM.title })}
<p>${ADMINISTRATORS.intro}</p>
<section class="card flush">${table(at, page)}${more && html`<p class="inset soft">${more}</p>`}</section>
<section class="card confirm"><h2>${ADMINISTRATORS.add}</h2>${notice(refusal?.message, 'bad')}
<form method="post" action="${at(PATH)}">
${textField({ name: 'userId', label: ADMINISTRATORS.userId, value: page.userId, hint: ADMINISTRATORS.userIdHint, isRequired: true, wrong: refusal?.wrong('userId') })}
<ul><li>${ADMINISTRATORS.addEffect}</li></ul>
<div class="buttons"><button type="submit">${ADMINISTRATORS.add}</button></div></form></section>`;
}

function table(at: At, { administrators, nameOf, self }: AdministratorsPage): Html {
  return html`<table class="stack"><caption class="sr">${ADMINISTRATORS.title}</caption>
<thead><tr><th scope="col">${ADMINISTRATORS.user}</th><th scope="col">${ADMINISTRATORS.userId}</th><th scope="col">${ADMINISTRATORS.since}</th><th scope="col">${ADMINISTRATORS.action}</th></tr></thead>
<tbody>${administrators.map(
    ({
      userId,
      details,
    }) => html`<tr><th scope="row"><a href="${at(userPath(userId))}">${nameOf(userId)}</a>${userId === self ? html` <span class="soft small">${ADMINISTRATORS.you}</span>` : undefined}</th>
<td data-label="${ADMINISTRATORS.userId}"><code>${userId}</code></td>
<td data-label="${ADMINISTRATORS.since}">${time(details.creationDate)}</td>
<td data-label="${ADMINISTRATORS.action}"><a href="${at(removePath(userId))}">${ADMINISTRATORS.remove}<span class="sr"> ${nameOf(userId)}</span></a></td></tr>\n`,
  )}</tbody></table>`;
}

function removePath(userId: string): string {
  return `${PATH}/${encodeURIComponent(userId)}/remove`;
}

export interface Removal {
  userId: string;
  name: string;
  isSelf: boolean;
}

export function removeBody(at: At, { userId, name, isSelf }: Removal, refusal?: Refusal): Html {
  return html`${headline(ADMINISTRATORS.removeTitle(name), { href: at(PATH), text: ADMINISTRATORS.title })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${at(removePath(userId))}">
<ul><li>${ADMINISTRATORS.removeEffect}</li><li>${ADMINISTRATORS.removeStays}</li></ul>
${isSelf ? notice(ADMINISTRATORS.removeSelf, 'warn') : undefined}
<div class="buttons"><button class="danger" type="submit">${ADMINISTRATORS.remove}</button><a class="button quiet" href="${at(PATH)}">${ADMINISTRATORS.back}</a></div></form>`;
}
