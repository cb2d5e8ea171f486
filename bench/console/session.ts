/** A person in the console: a session with the administrator's token, as the sign-in stores it. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { addSession } from '../../src/console/session-store.ts';
import type { Scope } from '../scope.ts';
import type { Service, Stores } from '../testbed/testbed.ts';

export interface Session {
  /** Of a browser without https. */
  cookie: { name: string; value: string };
  /** Loads a page. @throws Error unless the answer is 200 */
  page(path: string): Promise<string>;
  /** Opens a stream of live updates, which ends with the scope. @param onText called for what arrives */
  stream(path: string, onText: (text: string) => void): Promise<void>;
}

export async function openSession(scope: Scope, { baseUrl }: Service, { pool, keys }: Stores): Promise<Session> {
  const value = await addSession(pool, { accessToken: keys.token, idToken: '', name: 'Bench' });
  const cookie = { name: 'muster_console', value };
  const agent = await scope.start(
    async () => new Agent({ keepAlive: true }),
    async (opened) => opened.destroy(),
  );
  const get = async (path: string): Promise<IncomingMessage> => {
    const headers = { accept: 'text/html,*/*', cookie: `${cookie.name}=${cookie.value}` };
    const req = request(baseUrl + path, { agent, headers }).end();
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    if (res.statusCode !== 200) throw new Error(`The console answered ${res.statusCode} to ${path}.`);
    return res;
  };
  return {
    cookie,
    page: async (path) => text(await get(path)),
    async stream(path, onText) {
      const res = await get(path);
      res.setEncoding('utf8').on('data', onText);
      res.on('error', () => {}); // the scope ends it
    },
  };
}
