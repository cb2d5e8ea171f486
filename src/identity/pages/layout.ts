/**
 * What every page looks like, and the headers it is sent with.
 *
 * Guarantee: a page loads nothing, runs no script, is kept in no cache, cannot be framed, and gives its own address,
 * which holds a code, to nobody.
 */
import { randomBytes } from 'node:crypto';
import type { Response } from 'express';
import { type Html, html } from '../../mail/html.ts';

export interface Page {
  title: string;
  body: Html;
}

/** Answers with a page. */
export function sendPage(res: Response, status: number, page: Page): void {
  const nonce = randomBytes(16).toString('base64');
  res.status(status).set({
    'Content-Security-Policy': `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  });
  res.type('html').send(document(page, nonce).markup);
}

function document({ title, body }: Page, nonce: string): Html {
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
<main>
${body}
</main>
</body>
</html>
`;
}

const STYLE = `
:root {
  --page: #f2f4f8; --card: #fff; --text: #1b1f27; --soft: #5b6270; --line: #8a92a3;
  --accent: #1f4fd8; --accent-strong: #173da8; --on-accent: #fff; --bad: #a3161f; --bad-page: #fdecee;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151c; --card: #1c212c; --text: #eceff5; --soft: #a9b1c1; --line: #7c8599;
    --accent: #8fb0ff; --accent-strong: #b4caff; --on-accent: #0e1424; --bad: #ffb3b8; --bad-page: #3b1a1e;
  }
}
* { box-sizing: border-box }
body {
  margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px 16px;
  background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif;
}
main {
  width: 100%; max-width: 440px; padding: 40px; border-radius: 16px; background: var(--card);
  box-shadow: 0 1px 2px rgb(0 0 0 / .06), 0 12px 32px rgb(0 0 0 / .08);
}
h1 { margin: 0 0 12px; font-size: 1.5rem; line-height: 1.25; outline: none }
p { margin: 0 0 24px; color: var(--soft) }
p:last-child { margin-bottom: 0 }
form { margin: 0 }
label { display: block; margin: 0 0 6px; font-weight: 600 }
input {
  width: 100%; margin: 0 0 20px; padding: 11px 12px; border: 1px solid var(--line); border-radius: 8px;
  background: transparent; color: inherit; font: inherit;
}
button {
  width: 100%; padding: 12px 20px; border: 0; border-radius: 8px; background: var(--accent);
  color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer;
}
button:hover { background: var(--accent-strong) }
input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.problem {
  margin: 0 0 24px; padding: 12px 14px; border-radius: 8px; background: var(--bad-page); color: var(--bad); font-weight: 600;
}
@media (max-width: 480px) { main { padding: 28px 20px } }
`;
