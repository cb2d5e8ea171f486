/** The page that the browser shows when it returns to the command line: a sentence, and nothing to load. */
import type { ServerResponse } from 'node:http';

export interface Said {
  title: string;
  text: string;
}

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  // The URL contains a code.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  // An open connection would keep the command from ending.
  Connection: 'close',
};

/** @param said trusted text, without markup */
export function sendPage(res: ServerResponse, status: number, { title, text }: Said): void {
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Muster</title>
</head>
<body>
<main>
<h1>${title}</h1>
<p role="status">${text}</p>
</main>
</body>
</html>
`;
  res.writeHead(status, HEADERS).end(page);
}
