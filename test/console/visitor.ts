/** A person in the console without a browser: pages as text, forms as a browser sends them. */
import { addSession } from '../../src/console/session-store.ts';
import type { TestApi } from '../support/api.ts';

export interface Answered {
  status: number;
  headers: Headers;
  /** The body; of a stream, its first message. */
  text: string;
}

export interface Visitor {
  /** @param cookie another one, or none, instead of that of the session */
  get(path: string, cookie?: string): Promise<Answered>;
  post(path: string, form?: Record<string, string>, cookie?: string): Promise<Answered>;
  /** `name=value` of the session. */
  cookie: string;
}

/** @param token of the person, such as that of a machine user @param url of the service; default: that of `api` */
export async function visitor(api: TestApi, token: string, url = api.url): Promise<Visitor> {
  const session = await addSession(api.deps.pool, { accessToken: token, idToken: '', name: 'Vera Visitor' });
  const own = `muster_console=${session}`;

  async function send(path: string, cookie: string, init: RequestInit): Promise<Answered> {
    const response = await fetch(url + path, {
      redirect: 'manual',
      ...init,
      headers: { accept: 'text/html,*/*;q=0.8', cookie },
    });
    const { status, headers } = response;
    const isStream = headers.get('content-type')?.startsWith('text/event-stream');
    return { status, headers, text: isStream ? await firstPiece(response) : await response.text() };
  }

  return {
    cookie: own,
    get: (path, cookie = own) => send(path, cookie, {}),
    post: (path, form = {}, cookie = own) => send(path, cookie, { method: 'POST', body: new URLSearchParams(form) }),
  };
}

async function firstPiece({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const piece = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(piece?.value);
}
