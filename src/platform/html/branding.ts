/**
 * How the pages of one request look: with the name, the logo, the colours and the links of an organization, or of the
 * instance.
 *
 * Guarantee: nothing but colours as `#rrggbb` and whole numbers gets into a style sheet; names and addresses are escaped
 * as all text. A page loads no picture unless it has a logo, and then from our own origin only.
 */
import { say } from '../messages/catalogue.ts';
import { type RequestContext, requestContext } from '../request-context.ts';
import { type Html, html } from '../text/html.ts';
import { type ChosenColors, type Palette, palettes } from './palette.ts';

/** What pages show of a branding. What is absent is ours. */
export interface PageBranding extends ChosenColors {
  name?: string | undefined;
  /** The path of the picture, on our own origin. */
  logoPath?: string | undefined;
  theme?: 'auto' | 'light' | 'dark' | undefined;
  cornerRadius?: number | undefined;
  links?: { help?: string | undefined; terms?: string | undefined; privacy?: string | undefined } | undefined;
  supportEmail?: string | undefined;
}

/** By the request that is answered. */
const brandings = new WeakMap<RequestContext, PageBranding>();

/** Gives the pages of the request in progress this branding. */
export function setBranding(branding: PageBranding): void {
  const context = requestContext();
  if (context) brandings.set(context, branding);
}

/** The branding of the request in progress; undefined if none was set. */
export function currentBranding(): PageBranding | undefined {
  const context = requestContext();
  return context && brandings.get(context);
}

/** The head of the card: the logo, or the name. @param otherwise without either */
export function brandHead(otherwise: Html): Html {
  const { name, logoPath } = currentBranding() ?? {};
  // Without a name, the picture says nothing to those who hear the page: the heading does.
  if (logoPath !== undefined) return html`<img src="${logoPath}" alt="${name ?? ''}">`;
  return name === undefined ? otherwise : html`<span>${name}</span>`;
}

/** Links at the foot of the card; they open beside the page, so that what was typed there stays. */
export function brandLinks(): Html | undefined {
  const { links = {}, supportEmail } = currentBranding() ?? {};
  const shown = [
    [links.help, say('brand.help')],
    [supportEmail && `mailto:${encodeURIComponent(supportEmail).replace('%40', '@')}`, say('brand.support')],
    [links.terms, say('brand.terms')],
    [links.privacy, say('brand.privacy')],
  ].filter(([address]) => address !== undefined);
  if (shown.length === 0) return undefined;
  return html`<ul class="about">
${shown.map(([address, text]) => html`<li><a href="${address}" target="_blank" rel="noopener noreferrer">${text}</a></li>\n`)}</ul>`;
}

/** What the policy of the page allows for pictures: a directive, or nothing. */
export function imageSources(): string {
  return currentBranding()?.logoPath === undefined ? '' : " img-src 'self';";
}

const DARK = '@media (prefers-color-scheme: dark)';

/** The style sheet in the colours, with the corners and in the theme of the branding. @param css that of all pages */
export function brandedStyle(css: string): string {
  const branding = currentBranding();
  if (!branding) return css;
  const { theme = 'auto' } = branding;
  const all = `${css}${PARTS}${theme === 'auto' ? PLATE : ''}${coloursOf(branding)}${cornersOf(branding)}`;
  if (theme === 'auto') return all;
  return all
    .replaceAll(DARK, theme === 'dark' ? '@media all' : '@media not all')
    .replaceAll('color-scheme: light dark', `color-scheme: ${theme}`);
}

const PARTS = `
header img { display: block; height: 48px; max-width: 100%; object-fit: contain; object-position: left }
[dir="rtl"] header img { object-position: right }
header span { overflow-wrap: anywhere }
.about { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 28px 0 0; padding: 0; font-size: var(--size-small); list-style: none }
.about a { display: inline-block; padding: 4px 0; font-weight: inherit }
`;

/** Most logos are made for paper: in the dark they need some. */
const PLATE = `${DARK} {
  header img { padding: 6px 10px; border-radius: 8px; background: #fff }
}
`;

function coloursOf(branding: PageBranding): string {
  if (branding.primaryColor === undefined && branding.backgroundColor === undefined) return '';
  const { light, dark } = palettes(branding);
  const background = branding.backgroundColor === undefined ? '' : ON_PHONES;
  return `:root { ${properties(light)} }\n${DARK} {\n  :root { ${properties(dark)} }\n}\n${background}`;
}

function properties({ page, accent, accentStrong, onAccent, tint }: Palette): string {
  return `--page: ${page}; --glow: ${page}; --accent: ${accent}; --accent-strong: ${accentStrong}; --on-accent: ${onAccent}; --tint: ${tint}`;
}

/** There, the card would hide the background. */
const ON_PHONES = `@media (max-width: 520px) {
  body { padding: 16px 12px; background: var(--page) }
  .card { padding: 24px 20px 28px; border-radius: 16px }
}
`;

function cornersOf({ cornerRadius }: PageBranding): string {
  if (cornerRadius === undefined || !Number.isSafeInteger(cornerRadius)) return '';
  return `button, input, .problem, .shown, .done, .codes { border-radius: ${cornerRadius}px }
.check input { border-radius: 0 }
@media (min-width: 521px) { .card { border-radius: ${cornerRadius * 2}px } }
`;
}
