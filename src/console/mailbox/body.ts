/** The list of kept mails, and the page of one. */
import { type Html, html } from '../../html.ts';
import type { MailboxEntry, MailboxPage } from '../../mail/mailbox/read.ts';
import type { At } from '../page/at.ts';
import { facts, headline, queryOf } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import { MAILBOX } from '../texts/mailbox.ts';

/** @param isFirst whether the page begins with the newest mail */
export function listBody(at: At, { entries, next }: MailboxPage, isFirst: boolean): Html {
  return html`${headline(MAILBOX.title)}
<p class="soft">${MAILBOX.about}</p>
${entries.length === 0 ? empty() : table(at, entries)}
<p class="pages">${isFirst ? undefined : html`<a href="${at('/mailbox')}">${MAILBOX.first}</a>`}
${next === undefined ? undefined : html`<a href="${at(`/mailbox${queryOf({ before: String(next) })}`)}">${MAILBOX.next}</a>`}</p>`;
}

function empty(): Html {
  return html`<section class="card empty"><h2>${MAILBOX.emptyHeading}</h2><p>${MAILBOX.empty}</p></section>`;
}

function table(at: At, entries: readonly MailboxEntry[]): Html {
  return html`<section class="card flush"><table class="stack"><caption class="sr">${MAILBOX.caption}</caption>
<thead><tr><th scope="col">${MAILBOX.subject}</th><th scope="col">${MAILBOX.to}</th><th scope="col">${MAILBOX.sent}</th></tr></thead>
<tbody>${entries.map(
    (entry) => html`<tr><th scope="row"><a href="${at(`/mailbox/${entry.name}`)}">${titleOf(entry)}</a></th>
<td data-label="${MAILBOX.to}">${entry.to}</td><td data-label="${MAILBOX.sent}" class="soft small">${time(entry.at)}</td></tr>\n`,
  )}</tbody></table></section>`;
}

export function titleOf({ subject, html: markup }: MailboxEntry): string {
  return subject || (markup === undefined ? MAILBOX.textMessage : MAILBOX.title);
}

/** The HTML of the mail is a document of its own, in a frame that runs nothing; see `routes.ts`. */
export function oneBody(at: At, entry: MailboxEntry): Html {
  const { name, to, at: written, text, html: markup } = entry;
  return html`${headline(titleOf(entry), { href: at('/mailbox'), text: MAILBOX.title })}
<section class="card">${facts([
    [MAILBOX.to, to],
    [MAILBOX.sent, time(written)],
  ])}</section>
${links(text)}
<section class="card"><h2>${MAILBOX.asText}</h2><pre class="mail" tabindex="0">${text}</pre></section>
${
  markup === undefined
    ? undefined
    : html`<section class="card"><h2>${MAILBOX.asHtml}</h2>
<iframe class="mail" title="${MAILBOX.asHtml}" src="${at(`/mailbox/${name}/html`)}" sandbox="allow-popups allow-popups-to-escape-sandbox" loading="lazy"></iframe></section>`
}`;
}

/** Only addresses of the web: no other scheme can be opened from here. */
const WEB_ADDRESS = /https?:\/\/[^\s<>"]+/g;

function links(text: string): Html | undefined {
  const all = [...new Set(text.match(WEB_ADDRESS))];
  if (all.length === 0) return undefined;
  return html`<section class="card"><h2>${MAILBOX.links}</h2><p class="soft small">${MAILBOX.linksHint}</p>
<ul class="plain">${all.map((link) => html`<li><a href="${link}" target="_blank" rel="noopener noreferrer">${link}</a></li>\n`)}</ul></section>`;
}
