/**
 * The HTML of a mail inside a page of the console.
 *
 * Guarantee: it is a document of its own in a sandboxed frame without scripts, forms, our cookies or anything from the
 * network but our own pictures.
 */
import type { Response } from 'express';
import { type Html, html } from '../../platform/text/html.ts';

/** The policy of a mail's own document. A link in it opens a window of its own. */
const MAIL_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'none'; frame-ancestors 'self'; " +
    "base-uri 'none'; sandbox allow-popups allow-popups-to-escape-sandbox",
  'X-Frame-Options': 'SAMEORIGIN',
  'Content-Type': 'text/html; charset=utf-8',
};

/** Answers with the document of a mail. */
export function sendMailDocument(res: Response, mail: string): void {
  res.set(MAIL_HEADERS).send(mail.replace(/<head>/i, '<head><base target="_blank">'));
}

/** The frame that shows it, on a page that is shown with its frames allowed. @param src the address of the document */
export function mailFrame(title: string, src: string): Html {
  return html`<iframe class="mail" title="${title}" src="${src}" sandbox="allow-popups allow-popups-to-escape-sandbox" loading="lazy"></iframe>`;
}
