/**
 * Sends a page of the console: the frame with the navigation, the headers, and the files that the page loads.
 *
 * Guarantee: a page runs and loads only the files of this service, is never cached or framed, and assigns no text to
 * markup (`require-trusted-types-for`), so a name that holds markup stays text in scripts too.
 */
import type { Request, Response } from 'express';
import { type Assets, openAssets } from '../../platform/html/assets.ts';
import { document, LOGO, languageList, PAGE_HEADERS } from '../../platform/html/layout.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { sessionOf } from '../session.ts';
import { FRAME } from '../texts/frame.ts';
import { CONSOLE_LANGUAGES, consoleLanguage } from '../texts/language.ts';
import { notice } from './blocks.ts';
import { wasSentBefore, withFormIds } from './send-once.ts';

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
  name(): string;
}

export interface FrameOptions {
  assets: Assets;
  consoleUrl: ConsoleUrl;
  /** The pages of the person's own account. */
  accountUrl: string;
  /** Addresses of scripts that every page runs. */
  scripts: readonly string[];
  /** The entries that this person sees; none without a session. */
  navigation: (res: Response) => readonly NavigationEntry[];
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

export function openShow({ assets, consoleUrl, accountUrl, scripts: always, navigation }: FrameOptions): Show {
  const css = html`<link rel="icon" type="image/svg+xml" href="${assets.url('logo.svg')}">
<link rel="stylesheet" href="${assets.url('console.css')}">`;
  return (req, res, { title, body, status = 200, scripts = [], frames = false }) => {
    const name = sessionOf(res)?.tokens.name;
    const language = consoleLanguage();
    const head = html`${css}
${[...always, ...scripts.map(assets.url)].map((src) => html`<script type="module" src="${src}"></script>\n`)}`;
    const { markup } = document(
      `${title} – ${FRAME.product}`,
      head,
      html`<a class="skip" href="#main">${FRAME.skip}</a>
<header class="top">
<a class="brand" href="${consoleUrl('')}">${LOGO}<span>${FRAME.product}</span></a>
${name === undefined ? undefined : bar(req, { consoleUrl, accountUrl }, navigation(res), name)}
</header>
<main id="main" tabindex="-1">
${notice(wasSentBefore(res) ? FRAME.sentBefore : undefined, 'warn')}${withFormIds(body)}
</main>
${languageList(undefined, { current: language, all: CONSOLE_LANGUAGES })}`,
      language,
    );
    res.set(PAGE_HEADERS).set('Content-Security-Policy', frames ? `${POLICY}; frame-src 'self'` : POLICY);
    res.status(status).send(markup);
  };
}

/** The navigation, and who is signed in. */
function bar(
  req: Request,
  { consoleUrl, accountUrl }: Pick<FrameOptions, 'consoleUrl' | 'accountUrl'>,
  entries: readonly NavigationEntry[],
  name: string,
): Html {
  // The guides are part of the imports.
  const at = req.path.replace(/^\/console\/guides\//, '/console/imports/guides/');
  const isHere = (path: string) => at === `/console${path}` || at.startsWith(`/console${path}/`);
  return html`<button type="button" class="menu-button quiet small" popovertarget="menu">${FRAME.menu}</button>
<div class="menu" id="menu" popover><nav aria-label="${FRAME.navigation}">
${entries.map(
  (entry) =>
    html`<a href="${consoleUrl(entry.path)}"${isHere(entry.path) ? html` aria-current="page"` : undefined}>${entry.name()}</a>\n`,
)}</nav>
<form class="who" method="post" action="${consoleUrl('/sign-out')}"><a class="name" href="${accountUrl}"><span class="sr">${FRAME.account} </span>${name}</a>
<button type="submit" class="quiet small">${FRAME.signOut}</button></form></div>`;
}

/** The address of a path of the console, such as `/imports`: the public address may have a path of its own. */
export type ConsoleUrl = (path: string) => string;

/** @param baseUrl the public address */
export function openAt(baseUrl: string): ConsoleUrl {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '');
  return (path) => `${prefix}/console${path}`;
}

const FOLDER = new URL('../browser/', import.meta.url);
/** The files of `src/console/browser`. */
export function openConsoleAssets(consoleUrl: ConsoleUrl): Assets {
  return openAssets(FOLDER, '/console/assets', consoleUrl('/assets'), 'CONSOLE-ASSET');
}
