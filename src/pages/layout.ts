/**
 * What every page looks like, and the headers it is sent with.
 *
 * Guarantee: a page loads nothing, runs no script but the one that it is made with, is kept in no cache, cannot be framed,
 * and gives its own address, which may hold a code, to no other site.
 */
import { randomBytes } from 'node:crypto';
import type { Response } from 'express';
import { type Html, html } from '../html.ts';
import { STYLE } from './style.ts';

export interface Page {
  title: string;
  body: Html;
}

export interface PageOptions {
  /** Where a form of the page may lead besides to us, by itself or by a redirect: what `formTarget` makes of an address. */
  formTargets?: readonly string[];
  /** Sends the page's form for the reader, who can do it himself where scripts are off. */
  script?: string;
}

/** Answers with a page. */
export function sendPage(res: Response, status: number, page: Page, options?: PageOptions): void {
  const { headers, markup } = renderPage(page, options);
  res.status(status).set(headers).send(markup);
}

/** A page for who sends it in another way. */
export function renderPage(page: Page, { formTargets = [], script }: PageOptions = {}) {
  const nonce = randomBytes(16).toString('base64');
  const formAction = ["'self'", ...formTargets].join(' ');
  const scripts = script ? ` script-src 'nonce-${nonce}';` : '';
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; style-src 'nonce-${nonce}';${scripts} form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
    // Not `no-referrer`: with that, browsers do not say either where a form of ours comes from.
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
  return { headers, markup: document(page, nonce, script).markup };
}

/** A host that the policy's grammar has a word for (CSP level 3 section 2.3.1): no IPv6 address is one. */
const NAMED = /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/;

/**
 * An address as a source of the policy's `form-action`. Chromium holds a form to it through every redirect that follows,
 * so the page of a login must name the application that the login leads back to.
 * @param uri a registered redirect URI
 */
export function formTarget(uri: string): string {
  const { protocol, origin } = new URL(uri);
  return NAMED.test(origin) ? origin : protocol;
}

function document({ title, body }: Page, nonce: string, script?: string): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style nonce="${nonce}">${{ markup: STYLE }}</style>
</head>
<body>
<div class="card">
${WORDMARK}
<main>
${body}
</main>
</div>
${script && html`<script nonce="${nonce}">${{ markup: script }}</script>`}
</body>
</html>
`;
}

/** The name of the product. */
const WORDMARK = html`<header>
<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 20V6.2C3 4.6 4.9 3.8 6 5l6 6.6L18 5c1.1-1.2 3-.4 3 1.2V20h-4v-8.3l-3.5 3.9a2 2 0 0 1-3 0L7 11.7V20z"/></svg>
<span>Muster</span>
</header>`;
