/**
 * The layout of every page, and the headers it is sent with.
 *
 * Guarantee: a page loads nothing, runs no script except the one it is rendered with, is never cached, cannot be
 * framed, and never sends its own address, which may hold a code, to another site.
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
  /** Other sites that a form of the page may lead to, directly or by a redirect: results of `formTarget`. */
  formTargets?: readonly string[];
  /** Submits the page's form for the user, who can do so by hand where scripts are off. */
  script?: string;
}

/** Sends a page as the response. */
export function sendPage(res: Response, status: number, page: Page, options?: PageOptions): void {
  const { headers, markup } = renderPage(page, options);
  res.status(status).set(headers).send(markup);
}

/** A page's headers and markup, for callers that do not use Express. */
export function renderPage(page: Page, { formTargets = [], script }: PageOptions = {}) {
  const nonce = randomBytes(16).toString('base64');
  const formAction = ["'self'", ...formTargets].join(' ');
  const scripts = script ? ` script-src 'nonce-${nonce}';` : '';
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; style-src 'nonce-${nonce}';${scripts} form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
    // Not `no-referrer`: with it, browsers would not send the origin of our own forms either.
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
  return { headers, markup: document(page, nonce, script).markup };
}

/** An origin that the policy's grammar can express (CSP level 3 section 2.3.1); IPv6 addresses are not among them. */
const NAMED = /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/;

/**
 * An address as a source for the policy's `form-action`. Chromium applies it to every redirect that follows the form,
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

/** The product's logo and name. */
const WORDMARK = html`<header>
<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 20V6.2C3 4.6 4.9 3.8 6 5l6 6.6L18 5c1.1-1.2 3-.4 3 1.2V20h-4v-8.3l-3.5 3.9a2 2 0 0 1-3 0L7 11.7V20z"/></svg>
<span>Muster</span>
</header>`;
