/** The page of a machine user's tokens, and that of their keys. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, notice, selectField } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import type { Refusal } from '../page/refusal.ts';
import { nameOf, type User, userPath } from '../users/shapes.ts';
import { type Credential, credentialsPath, type Kind } from './kinds.ts';

/** In days. */
export const LIFETIMES = ['30', '90', '365', ''] as const;

export interface ListPage {
  kind: Kind;
  user: User;
  credentials: readonly Credential[];
  /** The lifetime that is chosen already. */
  days: string;
}

export function listBody(at: At, { kind, user, credentials, days }: ListPage, refusal?: Refusal): Html {
  const { texts } = kind;
  const page = at(credentialsPath(kind, user.userId));
  const lifetimes = LIFETIMES.map((days): [string, string] => [days, days ? texts.days(days) : texts.forever]);
  const effects = [...texts.effects(nameOf(user)), texts.onceHint];
  return html`${headline(texts.title, { href: at(userPath(user.userId)), text: nameOf(user) })}
${notice(refusal?.message, 'bad')}
<section class="card flush">${credentials.length === 0 ? html`<p class="inset soft">${texts.none}</p>` : table(page, kind, credentials)}</section>
<section class="card confirm"><h2>${texts.add}</h2>
<form method="post" action="${page}"><ul>${effects.map((effect) => html`<li>${effect}</li>`)}</ul>
<div class="field">${selectField(texts.lifetime, 'days', lifetimes, days)}</div>
<div class="buttons"><button type="submit">${texts.add}</button></div></form></section>`;
}

function table(page: string, { texts }: Kind, credentials: readonly Credential[]): Html {
  return html`<table class="stack"><caption class="sr">${texts.title}</caption>
<thead><tr><th scope="col">${texts.id}</th><th scope="col">${texts.created}</th><th scope="col">${texts.ends}</th><th scope="col">${texts.action}</th></tr></thead>
<tbody>${credentials.map(
    ({ id, expirationDate, details }) => html`<tr><th scope="row"><code>${id}</code></th>
<td data-label="${texts.created}">${time(details.creationDate)}</td>
<td data-label="${texts.ends}">${time(expirationDate) ?? texts.never}</td>
<td data-label="${texts.action}"><a href="${page}/${encodeURIComponent(id)}/remove">${texts.remove}<span class="sr"> ${id}</span></a></td></tr>\n`,
  )}</tbody></table>`;
}

export function removeBody(at: At, kind: Kind, user: User, id: string, refusal?: Refusal): Html {
  const { texts } = kind;
  const page = at(credentialsPath(kind, user.userId));
  return html`${headline(texts.removeTitle, { href: page, text: texts.title })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${page}/${encodeURIComponent(id)}/remove">
<p><code>${id}</code></p><ul><li>${texts.removeEffect(nameOf(user))}</li></ul>
<div class="buttons"><button class="danger" type="submit">${texts.remove}</button><a class="button quiet" href="${page}">${texts.back}</a></div></form>`;
}
