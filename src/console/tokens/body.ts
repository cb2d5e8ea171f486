/** The page of a machine user's tokens. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, notice, selectField } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import type { Refusal } from '../page/refusal.ts';
import { TOKENS } from '../texts/tokens.ts';
import { nameOf, type User, userPath } from '../users/shapes.ts';

export interface Token {
  tokenId: string;
  expirationDate?: string;
  details: { creationDate: string };
}

/** In days. */
export const LIFETIMES = ['30', '90', '365', ''] as const;

export function tokensPath(userId: string): string {
  return `${userPath(userId)}/tokens`;
}

/** @param days the lifetime that is chosen already */
export function tokensBody(at: At, user: User, tokens: readonly Token[], days: string, refusal?: Refusal): Html {
  const page = at(tokensPath(user.userId));
  const lifetimes = LIFETIMES.map((days): [string, string] => [days, days ? TOKENS.days(days) : TOKENS.forever]);
  return html`${headline(TOKENS.title, { href: at(userPath(user.userId)), text: nameOf(user) })}
${notice(refusal?.message, 'bad')}
<section class="card flush">${tokens.length === 0 ? html`<p class="inset soft">${TOKENS.none}</p>` : table(page, tokens)}</section>
<section class="card confirm"><h2>${TOKENS.add}</h2>
<form method="post" action="${page}"><ul><li>${TOKENS.effect(nameOf(user))}</li><li>${TOKENS.onceHint}</li></ul>
<div class="field">${selectField(TOKENS.lifetime, 'days', lifetimes, days)}</div>
<div class="buttons"><button type="submit">${TOKENS.add}</button></div></form></section>`;
}

function table(page: string, tokens: readonly Token[]): Html {
  return html`<table class="stack"><caption class="sr">${TOKENS.title}</caption>
<thead><tr><th scope="col">${TOKENS.id}</th><th scope="col">${TOKENS.created}</th><th scope="col">${TOKENS.ends}</th><th scope="col">${TOKENS.action}</th></tr></thead>
<tbody>${tokens.map(
    ({ tokenId, expirationDate, details }) => html`<tr><th scope="row"><code>${tokenId}</code></th>
<td data-label="${TOKENS.created}">${time(details.creationDate)}</td>
<td data-label="${TOKENS.ends}">${time(expirationDate) ?? TOKENS.never}</td>
<td data-label="${TOKENS.action}"><a href="${page}/${encodeURIComponent(tokenId)}/remove">${TOKENS.remove}<span class="sr"> ${tokenId}</span></a></td></tr>\n`,
  )}</tbody></table>`;
}

export function removeTokenBody(at: At, user: User, tokenId: string, refusal?: Refusal): Html {
  const page = at(tokensPath(user.userId));
  return html`${headline(TOKENS.removeTitle, { href: page, text: TOKENS.title })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${page}/${encodeURIComponent(tokenId)}/remove">
<p><code>${tokenId}</code></p><ul><li>${TOKENS.removeEffect(nameOf(user))}</li></ul>
<div class="buttons"><button class="danger" type="submit">${TOKENS.remove}</button><a class="button quiet" href="${page}">${TOKENS.back}</a></div></form>`;
}
