/** What the small providers of the tests share: the page on which a person signs in, and the bodies of requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A page without JavaScript that asks who signs in. @param action where the form is sent */
export function signInPage(res: ServerResponse, action: string, values: Readonly<Record<string, string>> = {}): void {
  const hidden = Object.entries(values)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${value.replaceAll('"', '&quot;')}">`)
    .join('');
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(
    `<!doctype html><html lang="en"><title>Sign in at the provider</title><form method="post" action="${action}">
${hidden}<label for="login">Account</label> <input id="login" name="login"><button type="submit">Sign in</button></form>`,
  );
}

/** The fields of a form. */
export async function formOf(req: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
