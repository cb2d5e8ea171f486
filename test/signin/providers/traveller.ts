/**
 * A browser that signs in at external providers over plain HTTP: it follows redirects from us to the provider and back,
 * with cookies for each of them, and stops at our pages and at the application.
 */
import type { TestApi } from '../../support/api.ts';
import type { TestProvider } from '../../support/providers.ts';
import { hiddenOf, REDIRECT_URI, type Shown, type Visitor, visitor } from '../pages/visitor.ts';

export interface Arrived extends Shown {
  /** The address of the last answer, or where the application is. */
  at: string;
  /** All addresses on the way. */
  way: string[];
}

export interface Traveller {
  by: Visitor;
  /** The path of the sign-in. */
  path: string;
  /** Follows redirects from an answer of ours. @param from its address; absent: the page of the sign-in */
  follow(shown: Shown, from?: string): Promise<Arrived>;
  /** Opens a page of ours. */
  get(path: string): Promise<Arrived>;
  /** Sends a step of the sign-in, with the hidden fields of the page. */
  send(page: Shown, step: string, fields?: Record<string, string>): Promise<Arrived>;
}

export interface Journey {
  clientId: string;
  /** Parameters of the authorization request. */
  more?: Record<string, string>;
}

/** A new browser, at the beginning of a sign-in. */
export async function traveller(api: TestApi, { clientId, more = {} }: Journey): Promise<Traveller> {
  const by = visitor(api);
  const path = await by.begin(clientId, more);
  const cookies = new Map<string, string>();

  async function outside(address: string): Promise<Shown> {
    const { origin } = new URL(address);
    const cookie = [...cookies].filter(([key]) => key.startsWith(origin)).map(([, value]) => value);
    const response = await fetch(address, { redirect: 'manual', headers: { cookie: cookie.join('; ') } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(`${origin} ${pair.slice(0, pair.indexOf('='))}`, pair);
    }
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  async function follow(shown: Shown, from = `${api.url}${path}`): Promise<Arrived> {
    const way: string[] = [];
    let [now, at] = [shown, from];
    for (let hops = 0; hops < 20; hops++) {
      const location = now.headers.get('location');
      if (now.status < 300 || now.status > 399 || location === null) return { ...now, at, way };
      at = new URL(location, at).href;
      way.push(at);
      if (at.startsWith(REDIRECT_URI)) return { ...now, at, way };
      now = at.startsWith(api.url) ? await by.get(at.slice(api.url.length)) : await outside(at);
    }
    throw new Error(`The way does not end: ${way.join('\n')}`);
  }

  return {
    by,
    path,
    follow,
    get: async (next) => follow(await by.get(next), api.url + next),
    send: async (page, step, fields = {}) => follow(await by.post(path, { ...hiddenOf(page, step), ...fields })),
  };
}

/** Whether the browser has arrived at the application with a code. */
export const hasCode = ({ at }: Arrived): boolean =>
  at.startsWith(REDIRECT_URI) && new URL(at).searchParams.has('code');

/** The alert of a page; empty without one. */
export function alertOf({ text }: Shown): string {
  const [, message = ''] = /id="problem">([^<]*)</.exec(text) ?? [];
  return message.replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** Adds the provider to the instance, or to the organization; returns its id. */
export async function addProvider(
  api: TestApi,
  provider: TestProvider,
  { orgId, token, ...fields }: { orgId?: string; token?: string } & Record<string, unknown> = {},
): Promise<string> {
  const path = orgId === undefined ? '/admin/v1/idps' : '/management/v1/idps';
  const options = { ...(orgId === undefined ? {} : { orgId }), ...(token === undefined ? {} : { token }) };
  const made = await api.call('POST', path, provider.settings(fields), options);
  if (made.status !== 200) throw new Error(JSON.stringify(made.body));
  return made.body.idpId;
}

/** Links the user to an account, as an import does. @param idpId the id of the provider or an alias */
export async function addLink(api: TestApi, userId: string, idpId: string, subject: string): Promise<void> {
  await api.deps.pool.query(
    `insert into user_idp_links (user_id, idp_id, external_user_id, display_name) values ($1, $2, $3, '')`,
    [userId, idpId, subject],
  );
}

/** Whom sign-ins since then signed in, oldest first. */
export async function signedIn(
  api: TestApi,
  since = '0',
): Promise<{ userId: string; amr: string[]; idpId?: string }[]> {
  const { rows } = await api.deps.pool.query(
    `select user_id as "userId", payload from audit_events
     where type = 'user.signin.succeeded' and sequence > $1::bigint order by sequence`,
    [since],
  );
  return rows.map(({ userId, payload }) => ({ userId, ...payload }));
}

/** The newest audit event. */
export async function newestEvent(api: TestApi): Promise<string> {
  return (await api.deps.pool.query('select coalesce(max(sequence), 0)::text as n from audit_events')).rows[0].n;
}
