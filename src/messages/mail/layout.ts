/**
 * The one layout of all emails: text and HTML of the same parts, in the language of the work in progress, with the
 * branding of an organization.
 *
 * Guarantee: every mail can be read in light and dark, from 320 pixels on, without pictures, and by programs that ignore
 * style sheets: what a style sheet says for light is on the elements too. Nothing remote is loaded but the logo. Below
 * a button is its address.
 */

import { currentLanguage, directionOf, type Language, say } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';

/** An email without its addresses. */
export interface MailContent {
  language: Language;
  subject: string;
  text: string;
  html: string;
}

/** The parts of an email, in this order. */
export interface Letter {
  subject: string;
  greeting: string;
  /** The first one is also what a mail program shows beside the subject, unless the organization says something. */
  lines: readonly string[];
  /** For people to type. */
  code?: string;
  button?: { text: string; href: string } | undefined;
  after?: readonly string[];
  /** In small letters. */
  small: readonly string[];
}

/** How an organization wants its mails to look. What it leaves out looks as it does without branding. */
export interface MailBranding {
  /** Above the text, and in place of the logo where pictures are not shown. */
  name?: string | undefined;
  /** Its address on our origin, and its size in CSS pixels. */
  logo?: { url: string; width: number; height: number } | undefined;
  /** Default: both, as the reader's device has it. */
  theme?: 'light' | 'dark' | 'both' | undefined;
  light?: Partial<MailColors> | undefined;
  dark?: Partial<MailColors> | undefined;
  /** Of the card and of buttons, in CSS pixels. */
  radius?: number | undefined;
  helpUrl?: string | undefined;
  termsUrl?: string | undefined;
  privacyUrl?: string | undefined;
  supportAddress?: string | undefined;
  own?: OwnWords | undefined;
}

/** What an organization says itself, before what we say. */
export interface OwnWords {
  /** Plain text, with its variables filled in. */
  paragraphs: readonly string[];
  /** The first one names the person: it stands in place of our greeting. */
  greets: boolean;
  /** They say the user name, so that we do not. */
  namesUser: boolean;
}

/** Colours as `#rrggbb`. The branding sets those of links and buttons; they have the contrast that texts need. */
export interface MailColors {
  page: string;
  card: string;
  text: string;
  soft: string;
  link: string;
  button: string;
  onButton: string;
}

// The colours of our pages (platform/html/look.css).
const LIGHT: MailColors = {
  page: '#f3f5f9',
  card: '#ffffff',
  text: '#171b26',
  soft: '#535b6c',
  link: '#1f4fd8',
  button: '#1f4fd8',
  onButton: '#ffffff',
};
const DARK: MailColors = {
  page: '#0f1218',
  card: '#171c25',
  text: '#eceff6',
  soft: '#aab3c4',
  link: '#8fb0ff',
  button: '#8fb0ff',
  onButton: '#0d1325',
};
const RADIUS = 10;

/** Lays a letter out as text and as HTML. */
export function layOut(letter: Letter, branding: MailBranding = {}): MailContent {
  const language = currentLanguage();
  return {
    language,
    subject: letter.subject,
    text: textOf(letter, branding),
    html: page(letter, branding, language).markup,
  };
}

function textOf(letter: Letter, branding: MailBranding): string {
  const { code, button, after = [], small } = letter;
  const { supportAddress } = branding;
  return [
    ...opening(letter, branding),
    ...(code === undefined ? [] : [code]),
    ...(button ? [say('mail.labelled', { label: button.text }), button.href] : []),
    ...after,
    ...small,
    ...(supportAddress ? [say('mail.support', { address: supportAddress })] : []),
    ...linksOf(branding).map(({ label, url }) => `${say('mail.labelled', { label })} ${url}`),
  ]
    .join('\n\n')
    .concat('\n');
}

/** What is read first: the greeting, the organization's own words, and what we say. */
function opening({ greeting, lines }: Letter, { own }: MailBranding): string[] {
  return [...(own?.greets ? [] : [greeting]), ...(own?.paragraphs ?? []), ...lines];
}

/** What a mail program shows beside the subject: the first sentences behind the greeting. */
function preheader({ lines }: Letter, { own }: MailBranding): string | undefined {
  const { paragraphs: [first, second] = [], greets } = own ?? {};
  return (greets ? (second ?? lines[0]) : undefined) ?? first ?? lines[0];
}

function linksOf({ helpUrl, termsUrl, privacyUrl }: MailBranding): { label: string; url: string }[] {
  return [
    ...(helpUrl ? [{ label: say('mail.help'), url: helpUrl }] : []),
    ...(termsUrl ? [{ label: say('mail.terms'), url: termsUrl }] : []),
    ...(privacyUrl ? [{ label: say('mail.privacy'), url: privacyUrl }] : []),
  ];
}

/** A theme as its branding has it. A value that is no colour is left out: it would be part of a style sheet. */
function colors(own: Partial<MailColors> = {}, theme: MailColors): MailColors {
  const valid = Object.entries(own).filter(([, value]) => /^#[0-9a-f]{6}$/i.test(value ?? ''));
  return { ...theme, ...Object.fromEntries(valid) };
}

const FONT = 'font-family:-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5';
const HIDDEN = 'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all';
const DIGITS = 'margin:0 0 24px;font-weight:700;line-height:1.3;word-break:break-all';
/** Codes of letters are longer than those of digits, and are as easily typed from one line. */
const sizeOf = (code: string) =>
  code.length > 8 ? 'font-size:20px;letter-spacing:1px' : 'font-size:24px;letter-spacing:2px';
const P = 'margin:0 0 16px';
/** Where lines may end, in programs that know phrases: Japanese has no spaces. */
const BREAKS: { [language in Language]?: string } = { ja: ';word-break:auto-phrase' };

function page(letter: Letter, branding: MailBranding, language: Language): Html {
  const { theme = 'both' } = branding;
  const [light, dark] = [colors(branding.light, LIGHT), colors(branding.dark, DARK)];
  const shown = theme === 'dark' ? dark : light;
  const schemes = theme === 'both' ? 'light dark' : theme;
  const radius = Math.round(branding.radius ?? RADIUS);
  const direction = directionOf(language);
  return html`<!doctype html>
<html lang="${language}" dir="${direction}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="${schemes}"><meta name="supported-color-schemes" content="${schemes}">
<title>${letter.subject}</title>
<style>${{ markup: styles(schemes, theme === 'both' ? dark : undefined) }}</style></head>
<body class="page" style="margin:0;padding:0;background:${shown.page};color:${shown.text};${FONT}">
<div style="${HIDDEN}">${preheader(letter, branding)}</div>
<table role="presentation" class="page" width="100%" cellspacing="0" cellpadding="0" border="0" style="background:${shown.page}">
<tr><td align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="100%" cellspacing="0" cellpadding="0" border="0" style="max-width:520px;background:${shown.card};border-radius:${radius}px">
<tr><td class="text" dir="${direction}" align="${direction === 'rtl' ? 'right' : 'left'}" style="padding:28px 24px;color:${shown.text};${FONT}${BREAKS[language]}">
${head(branding)}${greeted(letter, branding)}${paragraphs(letter.lines)}${
  letter.code === undefined
    ? undefined
    : html`<p dir="ltr" style="${DIGITS};${sizeOf(letter.code)}">${letter.code}</p>\n`
}${button(letter.button, shown, radius)}${paragraphs(letter.after ?? [])}${small(letter.small, shown)}${foot(branding, shown)}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`;
}

/** For programs that read style sheets: the colours of the dark theme, and less space on narrow screens. */
function styles(schemes: string, dark: MailColors | undefined): string {
  const inDark = dark
    ? `@media (prefers-color-scheme:dark){
.page{background:${dark.page}!important}
.card{background:${dark.card}!important}
.text{color:${dark.text}!important}
.soft{color:${dark.soft}!important}
.link{color:${dark.link}!important}
.button{background:${dark.button}!important;color:${dark.onButton}!important}}
`
    : '';
  return `
:root{color-scheme:${schemes};supported-color-schemes:${schemes}}
${inDark}@media (min-width:560px){.text{padding:36px!important}}
`;
}

/** The size of a logo that is shown smaller than it is, in pixels. */
export const LARGEST_LOGO = { width: 240, height: 48 };

/** The name is the text of the logo, in the type of a heading where pictures are not shown. */
function head({ name, logo }: MailBranding): Html | undefined {
  const said = harmless(name ?? '');
  const style = 'margin:0 0 24px;font-size:18px;font-weight:700';
  if (logo === undefined) return said === '' ? undefined : html`<p style="${style}">${said}</p>\n`;
  const { url, width, height } = logo;
  // The attributes are for programs that know no style sheets. As sizes of the style, they would cut off the name where
  // pictures are not shown; the limits give the picture the same size.
  const size = `display:block;border:0;width:auto;height:auto;aspect-ratio:auto;max-width:100%;max-height:${LARGEST_LOGO.height}px`;
  const alt = 'font-size:18px;font-weight:700;line-height:24px';
  return html`<p style="${style};max-width:${LARGEST_LOGO.width}px"><img src="${url}" alt="${said}" width="${width}" height="${height}" style="${size};${alt}"></p>\n`;
}

/** The greeting and the organization's own words, which may be of a language that runs in the other direction. */
function greeted({ greeting }: Letter, { own }: MailBranding): Html {
  const { paragraphs: words = [], greets } = own ?? {};
  const ownWords = words.map((text) => html`<p dir="auto" style="${P};text-align:start">${linesOf(text)}</p>\n`);
  return html`${greets ? undefined : paragraphs([greeting])}${ownWords}`;
}

function paragraphs(texts: readonly string[]): Html {
  return html`${texts.map((text) => html`<p style="${P}">${linesOf(text)}</p>\n`)}`;
}

function linesOf(text: string): Html[] {
  return text.split('\n').map((line, n) => html`${n > 0 ? html`<br>` : undefined}${line}`);
}

/** The cell has the colour too, for programs that ignore the padding of links. */
function button(button: Letter['button'], { button: color, onButton, soft, link }: MailColors, radius: number) {
  if (!button) return undefined;
  const { text, href } = button;
  return html`<table role="presentation" cellspacing="0" cellpadding="0" border="0" style="margin:8px 0 24px">
<tr><td class="button" style="border-radius:${radius}px;background:${color}"><a class="button" href="${href}" style="display:inline-block;padding:12px 22px;text-align:center;border-radius:${radius}px;background:${color};color:${onButton};font-weight:600;text-decoration:none">${text}</a></td></tr>
</table>
<p class="soft" style="${P};${SMALL};color:${soft}">${say('mail.copyLink')}<br>
<a class="link" dir="ltr" href="${href}" style="color:${link};word-break:break-all">${href}</a></p>
`;
}

const SMALL = 'font-size:13px;line-height:1.5';

function small(lines: readonly string[], { soft }: MailColors): Html {
  return html`${lines.map((line) => html`<p class="soft" style="${P};${SMALL};color:${soft}">${line}</p>\n`)}`;
}

/** Whom to ask, and what an organization must link to. */
function foot(branding: MailBranding, { soft, link }: MailColors): Html | undefined {
  const { supportAddress } = branding;
  const links = linksOf(branding);
  if (!supportAddress && links.length === 0) return undefined;
  const all = links.map(({ label, url }, n) => {
    const before = n > 0 ? html` · ` : undefined;
    return html`${before}<a class="link" href="${url}" style="color:${link}">${label}</a>`;
  });
  return html`${supportAddress ? small([say('mail.support', { address: supportAddress })], { ...LIGHT, soft }) : undefined}${
    links.length > 0 ? html`<p class="soft" style="margin:0;${SMALL};color:${soft}">${all}</p>\n` : undefined
  }`;
}

/** The name as one line of text; empty when it holds a link. */
export function harmless(name: string): string {
  const line = name
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .trim();
  return /:\/\/|\bwww\./i.test(line) ? '' : line;
}
