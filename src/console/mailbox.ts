/**
 * The screen of the local mailbox, where mails are kept while no mail server is set.
 *
 * Mails hold codes with which one becomes their user, so only an IAM_OWNER sees them, who may give themselves every role.
 * Guarantee: the HTML of a mail is shown in a sandboxed frame (shell/mail-frame.ts). Outside this mode, every address
 * here answers 403.
 */
import { type Request, type Response, Router } from 'express';
import { requirePermission } from '../contract/permissions.ts';
import { mailboxFolder } from '../messages/mail/mailbox.ts';
import { listMailbox, type MailboxEntry, type MailboxPage, readMailboxEntry } from '../messages/mail/read-mailbox.ts';
import { ApiError } from '../platform/errors.ts';
import { openSlots } from '../platform/http/slots.ts';
import { type Html, html } from '../platform/text/html.ts';
import type { ScreenDeps } from './deps.ts';
import { sessionOf } from './session.ts';
import { empty, facts, headline, list, pages, parameter, queryOf, table, time } from './shell/blocks.ts';
import { mailFrame, sendMailDocument } from './shell/mail-frame.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { MAILBOX } from './texts/mailbox.ts';

const PAGE = 50;
/** Listing reads the whole folder. */
const listings = openSlots({ perCaller: 2, perOrg: 4, total: 4, id: 'CONSOLE-MAILBOX', what: 'lists of mails' });

export function mailboxScreens(deps: ScreenDeps): Router {
  const { consoleUrl, show } = deps;
  const folder = mailboxFolder(deps.config);
  const router = Router();

  /** @throws ApiError 403 */
  function requireMailbox(res: Response): void {
    // A person who reads mails can become any user: the same as giving roles on the instance.
    requirePermission(sessionOf(res).caller, 'addInstanceMember');
    if (!hasMailbox(deps)) throw new ApiError('PERMISSION_DENIED', 'CONSOLE-MAILBOX-OFF', MAILBOX.off);
  }

  async function entryOf(req: Request, res: Response): Promise<MailboxEntry> {
    requireMailbox(res);
    const entry = await readMailboxEntry(folder, String(req.params.name));
    if (!entry) throw new ApiError('NOT_FOUND', 'CONSOLE-MAIL', MAILBOX.notFound);
    return entry;
  }

  router.get('/console/mailbox', async (req, res) => {
    requireMailbox(res);
    const before = /^\d{1,15}$/.exec(parameter(req, 'before'))?.[0];
    const release = listings.take(sessionOf(res).caller);
    const page = await listMailbox(folder, PAGE, before === undefined ? undefined : Number(before)).finally(release);
    show(req, res, { title: MAILBOX.title, body: listBody(consoleUrl, page, before === undefined) });
  });
  router.get('/console/mailbox/:name', async (req, res) => {
    const entry = await entryOf(req, res);
    show(req, res, { title: titleOf(entry), body: oneBody(consoleUrl, entry), frames: true });
  });
  router.get('/console/mailbox/:name/html', async (req, res) => {
    const { html } = await entryOf(req, res);
    if (html === undefined) throw new ApiError('NOT_FOUND', 'CONSOLE-MAIL', MAILBOX.notFound);
    sendMailDocument(res, html);
  });
  return router;
}

/** Whether mails are kept as files. */
export function hasMailbox({ config }: Pick<ScreenDeps, 'config'>): boolean {
  return config.SMTP_URL === undefined;
}

/** The list of kept mails. @param isFirst whether the page begins with the newest mail */
function listBody(consoleUrl: ConsoleUrl, { entries, next }: MailboxPage, isFirst: boolean): Html {
  return html`${headline(MAILBOX.title)}
<p class="soft">${MAILBOX.about}</p>
${entries.length === 0 ? empty(MAILBOX.emptyHeading, MAILBOX.empty) : mailTable(consoleUrl, entries)}
${pages(
  isFirst ? undefined : { href: consoleUrl('/mailbox'), text: MAILBOX.first },
  next === undefined
    ? undefined
    : { href: consoleUrl(`/mailbox${queryOf({ before: String(next) })}`), text: MAILBOX.next },
)}`;
}

function mailTable(consoleUrl: ConsoleUrl, entries: readonly MailboxEntry[]): Html {
  const rows = entries.map(
    (entry) => html`<tr><th scope="row"><a href="${consoleUrl(`/mailbox/${entry.name}`)}">${titleOf(entry)}</a></th>
<td data-label="${MAILBOX.to}">${entry.to}</td><td data-label="${MAILBOX.sent}" class="soft small">${time(entry.at)}</td></tr>\n`,
  );
  return html`<section class="card flush">${table(MAILBOX.caption, [MAILBOX.subject, MAILBOX.to, MAILBOX.sent], rows)}</section>`;
}

function titleOf({ subject, html: markup }: MailboxEntry): string {
  return subject || (markup === undefined ? MAILBOX.textMessage : MAILBOX.title);
}

/** The HTML of the mail is a document of its own, in a frame that runs nothing: see shell/mail-frame.ts. */
function oneBody(consoleUrl: ConsoleUrl, entry: MailboxEntry): Html {
  const { name, to, at: written, text, html: markup } = entry;
  return html`${headline(titleOf(entry), { href: consoleUrl('/mailbox'), text: MAILBOX.title })}
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
${mailFrame(MAILBOX.asHtml, consoleUrl(`/mailbox/${name}/html`))}</section>`
}`;
}

/** Only addresses of the web: no other scheme can be opened from here. */
const WEB_ADDRESS = /https?:\/\/[^\s<>"]+/g;

function links(text: string): Html | undefined {
  const all = [...new Set(text.match(WEB_ADDRESS))];
  if (all.length === 0) return undefined;
  return html`<section class="card"><h2>${MAILBOX.links}</h2><p class="soft small">${MAILBOX.linksHint}</p>
${list(
  all.map((link) => html`<a href="${link}" target="_blank" rel="noopener noreferrer">${link}</a>`),
  'plain',
)}</section>`;
}
