/**
 * The screen of the local mailbox, where mails are kept while no mail server is set.
 *
 * Mails hold codes with which one becomes their user, so only an IAM_OWNER sees them, who may give themselves every role.
 * Guarantee: the HTML of a mail is shown in a sandboxed frame without scripts, forms, our cookies or anything from the
 * network. Outside this mode, every address here answers 403.
 */
import { type Request, type Response, Router } from 'express';
import { requirePermission } from '../../access/caller.ts';
import { ApiError } from '../../errors.ts';
import { openSlots } from '../../http/slots.ts';
import { mailboxFolder } from '../../mail/mailbox/folder.ts';
import { listMailbox, type MailboxEntry, readMailboxEntry } from '../../mail/mailbox/read.ts';
import type { ScreenDeps } from '../deps.ts';
import { parameter } from '../page/blocks.ts';
import { MAILBOX } from '../texts/mailbox.ts';
import { visitOf } from '../visit.ts';
import { listBody, oneBody, titleOf } from './body.ts';

const PAGE = 50;
/** Listing reads the whole folder. */
const listings = openSlots({ perCaller: 2, perOrg: 4, total: 4, id: 'CONSOLE-MAILBOX', what: 'lists of mails' });

/** The policy of a mail's own document. A link in it opens a window of its own. */
const MAIL_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'; " +
    "base-uri 'none'; sandbox allow-popups allow-popups-to-escape-sandbox",
  'X-Frame-Options': 'SAMEORIGIN',
  'Content-Type': 'text/html; charset=utf-8',
};

/** Whether mails are kept as files. */
export function hasMailbox({ config }: Pick<ScreenDeps, 'config'>): boolean {
  return config.SMTP_URL === undefined;
}

export function mailboxScreens(deps: ScreenDeps): Router {
  const { at, show } = deps;
  const folder = mailboxFolder(deps.config);
  const router = Router();

  /** @throws ApiError 403 */
  function requireMailbox(res: Response): void {
    // A person who reads mails can become any user: the same as giving roles on the instance.
    requirePermission(visitOf(res).caller, 'addInstanceMember');
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
    const release = listings.take(visitOf(res).caller);
    const page = await listMailbox(folder, PAGE, before === undefined ? undefined : Number(before)).finally(release);
    show(req, res, { title: MAILBOX.title, body: listBody(at, page, before === undefined) });
  });
  router.get('/console/mailbox/:name', async (req, res) => {
    const entry = await entryOf(req, res);
    show(req, res, { title: titleOf(entry), body: oneBody(at, entry), frames: true });
  });
  router.get('/console/mailbox/:name/html', async (req, res) => {
    const { html } = await entryOf(req, res);
    if (html === undefined) throw new ApiError('NOT_FOUND', 'CONSOLE-MAIL', MAILBOX.notFound);
    res.set(MAIL_HEADERS).send(html.replace(/<head>/i, '<head><base target="_blank">'));
  });
  return router;
}
