import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type Request, type Response, Router } from 'express';
import { ApiError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/html/layout.ts';
import { visitOf } from '../session.ts';
import { FRAME } from '../texts/frame.ts';
/** The address of a path of the console, such as `/imports`: the public address may have a path of its own. */
export type At = (path: string) => string;

/** @param baseUrl the public address */
export function openAt(baseUrl: string): At {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '');
  return (path) => `${prefix}/console${path}`;
}

/**
 * The files that a page of the console loads: style, scripts, logo.
 *
 * They are read and compressed at the start; TypeScript is stripped of its types. All have one hash in their address,
 * that of all of them, so relative imports between scripts work unchanged and browsers may keep every file for good.
 */

const FOLDER = new URL('../browser/', import.meta.url);
const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
const FOREVER = 'public, max-age=31536000, immutable';

export const LOGO = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 20V6.2C3 4.6 4.9 3.8 6 5l6 6.6L18 5c1.1-1.2 3-.4 3 1.2V20h-4v-8.3l-3.5 3.9a2 2 0 0 1-3 0L7 11.7V20z"/></svg>`;

export interface Assets {
  /** The address of a file of `src/console/browser`. */
  url(file: string): string;
  routes: Router;
}

interface Asset {
  type: string;
  plain: Buffer;
  br: Buffer;
  gzip: Buffer;
}

/** One reading for all applications of this process. */
let loaded: { files: Map<string, Asset>; hash: string } | undefined;

export function openAssets(at: At): Assets {
  loaded ??= load();
  const { files, hash } = loaded;
  const router = Router();
  router.get('/console/assets/:hash/:file', (req, res) => {
    const asset = files.get(req.params.file);
    if (!asset) throw new ApiError('NOT_FOUND', 'CONSOLE-ASSET', 'This file does not exist.');
    const encoding = req.acceptsEncodings('br', 'gzip', 'identity') || 'identity';
    // A page of another version, during an upgrade: its file must not be kept under that address.
    res
      .set('Cache-Control', req.params.hash === hash ? FOREVER : 'no-store')
      .vary('Accept-Encoding')
      .type(asset.type);
    if (encoding === 'br' || encoding === 'gzip') res.set('Content-Encoding', encoding).send(asset[encoding]);
    else res.send(asset.plain);
  });
  return {
    routes: router,
    url(file) {
      if (!files.has(file)) throw new Error(`There is no file ${file} in src/console/browser.`);
      return at(`/assets/${hash}/${file}`);
    },
  };
}

function load(): { files: Map<string, Asset>; hash: string } {
  const files = new Map<string, Asset>();
  const hash = createHash('sha256');
  for (const file of readdirSync(FOLDER).sort()) {
    const extension = file.split('.').at(-1) as string;
    const type = TYPES[extension];
    if (!type) continue;
    const text = readFileSync(new URL(file, FOLDER), 'utf8');
    const plain = Buffer.from(extension === 'ts' ? withoutTypes(text) : text);
    hash.update(file).update(plain);
    files.set(file, { type, plain, br: brotliCompressSync(plain), gzip: gzipSync(plain) });
  }
  return { files, hash: hash.digest('hex').slice(0, 16) };
}

/** Without the warning that the function is experimental: nobody who runs the service can do anything about it. */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * Sends a page of the console: the frame with the navigation, and the headers.
 *
 * Guarantee: a page runs and loads only the files of this service, is never cached or framed, and assigns no text to
 * markup (`require-trusted-types-for`), so a name that holds markup stays text in scripts too.
 */

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

/** The building blocks of the screens. */

export interface Message {
  heading: string;
  message: string;
  more?: Html | undefined;
  link?: { href: string; text: string } | undefined;
}

/** A page that says one thing. */
export function messageBody({ heading, message, more, link }: Message): Html {
  return html`<section class="message">
<h1>${heading}</h1>
<p>${message}</p>
${more}
${link && html`<p><a class="button" href="${link.href}">${link.text}</a></p>`}
</section>`;
}
