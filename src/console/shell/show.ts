/**
 * Sends a page of the console: the frame with the navigation, the headers, and the files that the page loads.
 *
 * Guarantee: a page runs and loads only the files of this service, is never cached or framed, and assigns no text to
 * markup (`require-trusted-types-for`), so a name that holds markup stays text in scripts too.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type Request, type Response, Router } from 'express';
import { ApiError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { document, LOGO, PAGE_HEADERS } from '../../platform/html/layout.ts';
import { sessionOf } from '../session.ts';
import { FRAME } from '../texts/frame.ts';
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
  name: string;
}

export interface FrameOptions {
  assets: Assets;
  consoleUrl: ConsoleUrl;
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

export function openShow({ assets, consoleUrl, navigation }: FrameOptions): Show {
  const css = html`<link rel="icon" type="image/svg+xml" href="${assets.url('logo.svg')}">
<link rel="stylesheet" href="${assets.url('console.css')}">`;
  return (req, res, { title, body, status = 200, scripts = [], frames = false }) => {
    const name = sessionOf(res)?.tokens.name;
    const head = html`${css}
${scripts.map((file) => html`<script type="module" src="${assets.url(file)}"></script>\n`)}`;
    const { markup } = document(
      `${title} – ${FRAME.product}`,
      head,
      html`<a class="skip" href="#main">${FRAME.skip}</a>
<header class="top">
<a class="brand" href="${consoleUrl('')}">${LOGO}<span>${FRAME.product}</span></a>
${name === undefined ? undefined : bar(req, consoleUrl, navigation(res), name)}
</header>
<main id="main" tabindex="-1">
${notice(wasSentBefore(res) ? FRAME.sentBefore : undefined, 'warn')}${withFormIds(body)}
</main>`,
    );
    res.set(PAGE_HEADERS).set('Content-Security-Policy', frames ? `${POLICY}; frame-src 'self'` : POLICY);
    res.status(status).send(markup);
  };
}

/** The navigation, and who is signed in. */
function bar(req: Request, consoleUrl: ConsoleUrl, entries: readonly NavigationEntry[], name: string): Html {
  const isHere = (path: string) => req.path === `/console${path}` || req.path.startsWith(`/console${path}/`);
  return html`<nav aria-label="${FRAME.navigation}">
${entries.map(
  (entry) =>
    html`<a href="${consoleUrl(entry.path)}"${isHere(entry.path) ? html` aria-current="page"` : undefined}>${entry.name}</a>\n`,
)}</nav>
<form class="who" method="post" action="${consoleUrl('/sign-out')}"><a class="name" href="${consoleUrl('/account')}"${
    isHere('/account') ? html` aria-current="page"` : undefined
  }><span class="sr">${FRAME.account} </span>${name}</a>
<button type="submit" class="quiet small">${FRAME.signOut}</button></form>`;
}

/** The address of a path of the console, such as `/imports`: the public address may have a path of its own. */
export type ConsoleUrl = (path: string) => string;

/** @param baseUrl the public address */
export function openAt(baseUrl: string): ConsoleUrl {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '');
  return (path) => `${prefix}/console${path}`;
}

const FOLDER = new URL('../browser/', import.meta.url);
const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
const FOREVER = 'public, max-age=31536000, immutable';

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

/** Read once for all applications of this process. */
let loaded: { files: Map<string, Asset>; hash: string } | undefined;

/**
 * The files that a page loads: style, scripts, logo. They are read and compressed at the start; TypeScript is stripped of
 * its types. All have one hash in their address, made of all of them, so relative imports between scripts work unchanged
 * and browsers may keep every file for good.
 */
export function openAssets(consoleUrl: ConsoleUrl): Assets {
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
      return consoleUrl(`/assets/${hash}/${file}`);
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
