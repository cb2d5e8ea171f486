/**
 * The pages for people who sign in: a plain card in the middle of a wide screen, the full screen on a phone, in the
 * language of the request, with a list of the others at its foot. Their document, headers and logo are also those of the
 * console, which has a style sheet of its own.
 *
 * Guarantee: a page loads nothing but scripts of ours and the logo of its branding (branding.ts), runs no script except those it is rendered with, is never cached, cannot be
 * framed, and never sends its own address, which may hold a code, to another site. Text and field outlines meet the
 * contrast of WCAG 2.2 level AA (4.5:1 and 3:1) in light and dark, focus is visible, and nothing moves for users who
 * prefer reduced motion.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Response } from 'express';
import {
  currentLanguage,
  directionOf,
  inLanguage,
  LANGUAGES,
  type Language,
  nameOf,
  say,
} from '../messages/catalogue.ts';
import { requestContext } from '../request-context.ts';
import { type Html, html } from '../text/html.ts';
import { brandedStyle, brandHead, brandLinks, imageSources } from './branding.ts';

export interface HtmlPage {
  title: string;
  body: Html;
  /**
   * The query with which the page, or the form that led to it, can be opened in another language; absent: that of the
   * request. A page that cannot be opened again, such as what came of a link, has none.
   */
  reopenedBy?: Readonly<Record<string, string>> | 'nothing';
  /** Addresses of scripts of ours, without which the page is complete too. */
  scripts?: readonly string[];
}

export interface PageOptions {
  /** Other sites that a form of the page may lead to, directly or by a redirect: results of `formTarget`. */
  formTargets?: readonly string[];
  /** Submits the page's form for the user, who can do so by hand where scripts are off. */
  script?: string;
  /** For pages with more than a form. */
  isWide?: boolean;
}

/** Sends a page as the response. */
export function sendPage(res: Response, status: number, page: HtmlPage, options?: PageOptions): void {
  const { headers, markup } = renderPage(page, options);
  for (const name of VARIES) res.vary(name);
  res.status(status).set(headers).send(markup);
}

/** The headers of a request that decide the language of a page. */
export const VARIES = ['Accept-Language', 'Cookie'];

/** A page's headers and markup, for callers that do not use Express; the response also varies by `VARIES`. */
export function renderPage(page: HtmlPage, { formTargets = [], script, isWide = false }: PageOptions = {}) {
  const nonce = randomBytes(16).toString('base64');
  const formAction = ["'self'", ...formTargets].join(' ');
  const sources = [...(script ? [`'nonce-${nonce}'`] : []), ...(page.scripts?.length ? ["'self'"] : [])];
  const scripts = sources.length > 0 ? ` script-src ${sources.join(' ')};` : '';
  const headers = {
    ...PAGE_HEADERS,
    'Content-Language': currentLanguage(),
    'Content-Security-Policy': `default-src 'none'; style-src 'nonce-${nonce}';${imageSources()}${scripts} form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
  };
  return { headers, markup: card(page, nonce, { script, isWide }).markup };
}

/** The headers of every page, the console's among them. Each page adds its `Content-Security-Policy`. */
export const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  // Not `no-referrer`: with it, browsers would not send the origin of our own forms either.
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

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

function card(
  { title, body, scripts = [], reopenedBy }: HtmlPage,
  nonce: string,
  { script, isWide }: { script: string | undefined; isWide: boolean },
): Html {
  return document(
    title,
    html`<style nonce="${nonce}">${{ markup: brandedStyle(STYLE) }}</style>${scripts.map((src) => html`\n<script type="module" src="${src}"></script>`)}`,
    html`<div class="card${isWide ? ' wide' : ''}">
<header>
${brandHead(html`${LOGO}\n<span>Muster</span>`)}
</header>
<main>
${body}
</main>${brandLinks()}
${reopenedBy === 'nothing' ? undefined : languageList(reopenedBy)}
</div>
${script && html`<script nonce="${nonce}">${{ markup: script }}</script>`}`,
    currentLanguage(),
  );
}

/**
 * The languages of a page, as links to the page itself: `src/platform/html/languages.ts` keeps the choice.
 * @param query of the page; default: that of the request @param of the language that the page is in, and all it can be in
 */
export function languageList(
  query?: Readonly<Record<string, string>>,
  of: { current: Language; all: readonly Language[] } = { current: currentLanguage(), all: LANGUAGES },
): Html {
  const { current, all } = of;
  const link = (language: Language) => {
    const parameters = new URLSearchParams(query ?? requestContext()?.query);
    parameters.set(LANGUAGE_PARAMETER, language);
    const isCurrent = language === current ? html` aria-current="true"` : undefined;
    return html`<li><a href="?${String(parameters)}" lang="${language}" dir="${directionOf(language)}" hreflang="${language}"${isCurrent}>${asTitle(language)}</a></li>\n`;
  };
  const name = asTitle(current);
  return html`<footer>
<details class="languages"><summary aria-label="${inLanguage({ chosen: current }, () => say('common.language', { name }))}">${GLOBE}<span>${name}</span></summary>
<ul>
${all.map(link)}</ul>
</details>
</footer>`;
}

/** The name of a language at the beginning of a line. */
function asTitle(language: Language): string {
  const [first = '', ...rest] = nameOf(language);
  return first.toLocaleUpperCase(language) + rest.join('');
}

/** The parameter of a page's address that chooses its language, named as that of an authorization request. */
export const LANGUAGE_PARAMETER = 'ui_locales';

const GLOBE = html`<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c5 5.5 5 12.5 0 18M12 3c-5 5.5-5 12.5 0 18"/></svg>`;

/**
 * The document of every page, the console's among them.
 * @param head its styles and scripts @param language of its texts; default: English
 */
export function document(title: string, head: Html, body: Html, language: Language = LANGUAGES[0]): Html {
  return html`<!doctype html>
<html lang="${language}" dir="${directionOf(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`;
}

/** The product's logo; `src/console/browser/logo.svg` is the icon of the window. */
export const LOGO = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 20V6.2C3 4.6 4.9 3.8 6 5l6 6.6L18 5c1.1-1.2 3-.4 3 1.2V20h-4v-8.3l-3.5 3.9a2 2 0 0 1-3 0L7 11.7V20z"/></svg>`;

/** A page with a message and no form. */
export function messagePage(title: string, message: string, more?: Html): HtmlPage {
  return { title, body: said(DONE, title, message, more) };
}

/** A page about a problem that no input can fix. */
export function problemPage(title: string, message: string, more?: Html): HtmlPage {
  return { title: say('common.problemTitle', { title }), body: said(STOPPED, title, message, more) };
}

function said(mark: Html, title: string, message: string, more?: Html): Html {
  return html`${mark}\n<h1 tabindex="-1" autofocus>${title}</h1>\n<p role="status">${message}</p>\n${more}`;
}

const DONE = html`<div class="mark good"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 12.5l4.5 4.5L19 7.5"/></svg></div>`;
const STOPPED = html`<div class="mark bad"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 5.5v8M12 18.2v.1"/></svg></div>`;

/** The colours and sizes that the console has too, without the comment. */
const LOOK = readFileSync(new URL('look.css', import.meta.url), 'utf8').replace(/^\/\*.*?\*\/\n/s, '');

/** The style sheet of the card. */
const STYLE = `${LOOK}
:root { --glow: #dfe7fb; --shadow: 0 1px 2px rgb(23 27 38 / .06), 0 16px 40px rgb(23 27 38 / .09) }
@media (prefers-color-scheme: dark) {
  :root { --glow: #1a2236; --shadow: 0 0 0 1px #262d3a, 0 16px 40px rgb(0 0 0 / .35) }
}
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 32px 16px;
  background: radial-gradient(70rem 40rem at 50% -12rem, var(--glow), transparent) no-repeat var(--page);
  color: var(--text); -webkit-font-smoothing: antialiased; text-wrap: pretty;
  font: var(--size-text)/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
.card {
  width: 100%; max-width: 440px; padding: 36px 40px 40px; border-radius: 20px;
  background: var(--card); box-shadow: var(--shadow);
}
.card.wide { max-width: 640px }
header { display: flex; align-items: center; gap: 10px; margin: 0 0 28px; font-weight: var(--weight-strong); letter-spacing: -.01em }
header svg { width: 28px; height: 28px; flex: none; fill: var(--accent) }
h1 { margin: 0 0 8px; overflow-wrap: anywhere; font-size: var(--size-heading); line-height: 1.2; letter-spacing: -.02em; text-wrap: balance; outline: none }
p { margin: 0 0 24px; color: var(--soft); overflow-wrap: anywhere }
p strong { color: var(--text) }
h1, h2, strong, th { font-weight: var(--weight-strong) }
p:last-child { margin-bottom: 0 }
form, .buttons form { margin: 0 }
form + form { margin: 12px 0 0 }
h1 + :is(form, ol) { margin-top: 20px }
.field { margin: 0 0 20px }
label { display: block; margin: 0 0 6px; font-weight: var(--weight-strong) }
.hint { margin: 6px 0 0; font-size: var(--size-small) }
input, .choice {
  display: block; width: 100%; min-height: 48px; padding: 10px 14px; border: 1px solid var(--line); border-radius: 10px;
  background: var(--card); color: inherit; font: inherit;
}
[dir="rtl"] input { text-align: right; unicode-bidi: plaintext }
[dir="rtl"] code { direction: ltr; unicode-bidi: isolate }
[dir="rtl"] :is(h1, header) { letter-spacing: normal }
strong, .sections span { unicode-bidi: plaintext }
:lang(ja) :is(h1, h2, p, li, label, button, .problem) { word-break: auto-phrase }
input[aria-invalid="true"] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad) }
input.code { font-size: var(--size-large); letter-spacing: .25em; font-variant-numeric: tabular-nums }
button {
  display: block; width: 100%; min-height: 48px; padding: 10px 20px; border: 1px solid transparent; border-radius: 10px;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: var(--weight-strong); cursor: pointer;
  overflow-wrap: anywhere; text-wrap: balance;
}
button:hover { background: var(--accent-strong) }
button.quiet { background: transparent; border-color: var(--line); color: var(--text) }
button.quiet:hover, button.plain:hover { background: var(--tint) }
button.provider { display: flex; align-items: center; justify-content: center; gap: 12px }
.initial {
  flex: none; display: grid; place-items: center; width: 28px; height: 28px; border-radius: 50%; background: var(--tint);
  color: var(--accent); font-size: var(--size-small); font-weight: var(--weight-strong);
}
button.provider:hover .initial { background: var(--card) }
button.plain { background: transparent; color: var(--accent) }
.buttons { display: grid; gap: 12px }
.or { margin: 12px 0; text-align: center }
form + .buttons { margin: 12px 0 0 }
a { color: var(--accent); font-weight: var(--weight-strong); text-underline-offset: 3px }
a:hover { color: var(--accent-strong) }
.links { margin: 20px 0 0; text-align: center; text-wrap: balance }
.qr { display: block; max-width: 100%; height: auto; margin: 8px 0 }
.aside { margin: 24px 0 0; padding: 12px 0 0; border-top: 1px solid var(--hair) }
a:focus-visible, input:focus-visible, .choice:focus-visible, button:focus-visible, summary:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 10px;
}
a:focus-visible { border-radius: 4px }
.problem {
  display: flex; gap: 12px; margin: 16px 0 24px; padding: 14px 16px; border-radius: 10px;
  background: var(--bad-page); color: var(--bad);
}
.problem svg { flex: none; width: 20px; height: 20px; margin-top: 2px; fill: currentColor }
.mark { display: grid; place-items: center; width: 56px; height: 56px; margin: 0 0 20px; border-radius: 50% }
.mark svg { width: 28px; height: 28px; fill: none; stroke: currentColor; stroke-width: 2.5; stroke-linecap: round; stroke-linejoin: round }
.mark.good { background: var(--good-page); color: var(--good) }
.mark.bad { background: var(--bad-page); color: var(--bad) }
.small { font-size: var(--size-small) }
.shown { padding: 14px 16px; border-radius: 10px; background: var(--tint); text-align: center; text-wrap: balance }
.shown code { font-size: var(--size-heading); letter-spacing: .12em }
.shown code.key { font-size: var(--size-title); letter-spacing: .06em }
.rows { margin: 0 0 24px; padding: 0; list-style: none }
.rows li { margin: 0 0 16px; padding: 0 0 16px; border-bottom: 1px solid var(--hair) }
.rows p { margin: 0 0 12px }
.sections { margin: 24px 0 }
.sections li { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px 24px }
.sections span { color: var(--soft); overflow-wrap: anywhere }
h2 { margin: 32px 0 12px; font-size: var(--size-title); line-height: 1.3 }
hr { margin: 32px 0; border: 0; border-top: 1px solid var(--hair) }
.up { margin: 0 0 12px }
.done { padding: 14px 16px; border-radius: 10px; background: var(--good-page); color: var(--good) }
.check { display: flex; align-items: center; gap: 12px }
.check input { width: 24px; height: 24px; min-height: 0; margin: 0; flex: none; accent-color: var(--accent) }
.check label { margin: 0; color: var(--text) }
.rows button { width: auto; min-width: 128px }
button.danger { background: var(--bad); color: var(--card) }
.codes { display: grid; grid-template-columns: repeat(auto-fill, minmax(max(136px, 40%), 1fr)); gap: 12px 24px; margin: 0 0 24px; padding: 20px; border-radius: 10px; background: var(--tint); list-style: none }
.codes code { font-size: var(--size-title); white-space: nowrap }
details { margin: 0 0 12px }
summary { padding: 6px 0; color: var(--accent); font-weight: var(--weight-strong); cursor: pointer }
details form { margin: 8px 0 0 }
.steps { margin: 0 0 24px; padding: 0; padding-inline-start: 24px }
.steps li { margin: 0 0 12px }
.steps p { margin: 12px 0 }
footer { margin: 28px 0 0; font-size: var(--size-small) }
.languages { margin: 0 }
.languages summary { display: inline-flex; align-items: center; gap: 8px; min-height: 32px; color: var(--soft); list-style: none }
.languages summary::-webkit-details-marker { display: none }
.languages svg { flex: none; width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.5 }
.languages ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(120px, 1fr)); gap: 0 16px; margin: 8px 0 0; padding: 0; list-style: none }
.languages a { display: block; width: fit-content; padding: 6px 0 }
.languages a[aria-current] { color: var(--text); text-decoration: none }
code { font: var(--size-small) ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--text) }
[hidden] { display: none }
time { white-space: nowrap }
@media (prefers-reduced-motion: no-preference) { button { transition: background-color .12s } }
@media (max-width: 520px) {
  :root { --size-heading: 1.625rem }
  body { display: block; padding: 0; background: var(--card) }
  header { margin-bottom: 32px }
  .card { max-width: none; padding: 28px 24px 32px; border-radius: 0; box-shadow: none }
}
`;
