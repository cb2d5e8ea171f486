/**
 * Sends a page of the console: the frame with the navigation, and the headers.
 *
 * Guarantee: a page runs and loads only the files of this service, is never cached or framed, and assigns no text to
 * markup (`require-trusted-types-for`), so a name that holds markup stays text in scripts too.
 */
import type { Request, Response } from 'express';
import { type Html, html } from '../../html.ts';
import { FRAME } from '../texts/frame.ts';
import { visitOf } from '../visit.ts';
import { type Assets, LOGO } from './assets.ts';
import type { At } from './at.ts';

export interface ConsolePage {
  /** Begins the title of the window. */
  title: string;
  body: Html;
  /** Default: 200. */
  status?: number;
  /** Files of `src/console/browser` to run, such as `live.ts`. */
  scripts?: readonly string[];
  /** The page has frames of ours. */
  frames?: boolean;
}

export type Show = (req: Request, res: Response, page: ConsolePage) => void;

/** An entry of the navigation. */
export interface NavigationEntry {
  path: string;
  name: string;
}

export interface FrameOptions {
  assets: Assets;
  at: At;
  /** The entries that this person sees; none without a session. */
  navigation: (res: Response) => readonly NavigationEntry[];
}

const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ');
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  // Not `no-referrer`: with it, browsers would not send the origin of our own forms either.
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export function openShow({ assets, at, navigation }: FrameOptions): Show {
  return (req, res, { title, body, status = 200, scripts = [], frames = false }) => {
    const name = visitOf(res)?.tokens.name;
    const markup = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title} – ${FRAME.product}</title>
<link rel="icon" type="image/svg+xml" href="${assets.url('logo.svg')}">
<link rel="stylesheet" href="${assets.url('console.css')}">
${scripts.map((file) => html`<script type="module" src="${assets.url(file)}"></script>\n`)}</head>
<body>
<a class="skip" href="#main">${FRAME.skip}</a>
<header class="top">
<a class="brand" href="${at('')}">${LOGO}<span>${FRAME.product}</span></a>
${name === undefined ? undefined : bar(req, at, navigation(res), name)}
</header>
<main id="main" tabindex="-1">
${body}
</main>
</body>
</html>
`;
    res.set(HEADERS).set('Content-Security-Policy', frames ? `${POLICY}; frame-src 'self'` : POLICY);
    res.status(status).send(markup.markup);
  };
}

function bar(req: Request, at: At, entries: readonly NavigationEntry[], name: string): Html {
  const isHere = (path: string) => req.path === `/console${path}` || req.path.startsWith(`/console${path}/`);
  return html`<nav aria-label="${FRAME.navigation}">
${entries.map(
  (entry) =>
    html`<a href="${at(entry.path)}"${isHere(entry.path) ? html` aria-current="page"` : undefined}>${entry.name}</a>\n`,
)}</nav>
<form class="who" method="post" action="${at('/sign-out')}"><a class="name" href="${at('/account')}"${
    isHere('/account') ? html` aria-current="page"` : undefined
  }><span class="sr">${FRAME.account} </span>${name}</a>
<button type="submit" class="quiet small">${FRAME.signOut}</button></form>`;
}
