/** A browser in which somebody is signed in to their account, over plain HTTP. */
import assert from 'node:assert/strict';
import type { TestApi } from '../../support/api.ts';
import { hiddenOf, type Shown, visitor } from '../pages/visitor.ts';
import { type Arrived, alertOf } from '../providers/traveller.ts';

export interface AtAccount {
  /** Opens a page below `/account`, and follows redirects of ours. */
  open(section?: string): Promise<Arrived>;
  /** Sends the form of a page with this step, and follows redirects. */
  send(page: Shown, section: string, step: string, fields?: Record<string, string>): Promise<Arrived>;
  /** As a browser sends it. @param headers such as `origin` */
  post(section: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Shown>;
  /** Makes the sign-in this old. */
  age(seconds: number): Promise<void>;
  /** Signs in on the page that a request led to, and goes on to where that leads. */
  signIn(page: Arrived, password: string): Promise<Arrived>;
}

/** A browser in which the user has just signed in. */
export async function atAccount(api: TestApi, userId: string, password: string): Promise<AtAccount> {
  const by = visitor(api);

  async function follow(shown: Shown, from: string): Promise<Arrived> {
    const way: string[] = [];
    let [now, at] = [shown, from];
    for (let hops = 0; hops < 20; hops++) {
      const location = now.headers.get('location');
      if (now.status < 300 || now.status > 399 || location === null) return { ...now, at, way };
      at = new URL(location, api.url + at).href.slice(api.url.length);
      way.push(at);
      now = await by.get(at);
    }
    throw new Error(`The way does not end: ${way.join('\n')}`);
  }
  const pathOf = (section: string) => (section === '' ? '/account' : `/account/${section}`);

  const browser: AtAccount = {
    open: async (section = '') => follow(await by.get(pathOf(section)), pathOf(section)),
    send: async (page, section, step, fields = {}) =>
      follow(await by.post(pathOf(section), { ...hiddenOf(page, step), ...fields }), pathOf(section)),
    post: (section, fields, headers) => by.post(pathOf(section), fields, headers),
    async age(seconds) {
      await api.deps.pool.query(
        `update oauth_models set payload = jsonb_set(payload::jsonb, '{loginTs}',
           to_jsonb(floor(extract(epoch from now()))::int - $2::int))::json
         where user_id = $1 and kind = 'Session'`,
        [userId, seconds],
      );
    },
    async signIn(page, secret) {
      const path = page.at;
      const named = await follow(await by.post(path, { ...hiddenOf(page, 'password'), loginName: userId }), path);
      const fields = { ...hiddenOf(named, 'password'), loginName: userId, password: secret };
      return follow(await by.post(path, fields), path);
    },
  };
  const arrived = await browser.signIn(await browser.open(), password);
  assert.equal(arrived.at, '/account', `${arrived.status} ${alertOf(arrived)}`);
  return browser;
}

/** What the page says was done; empty if it says nothing. */
export function doneOf({ text }: Shown): string {
  return /<p class="done" role="status">([^<]*)</.exec(text)?.[1] ?? '';
}
