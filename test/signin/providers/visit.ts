/** Sends a browser to an external provider and back, without the pages that begin a visit and take its result. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Response as ExpressResponse, Request } from 'express';
import { beginTrip, type NewTrip, type TripResult, takeResult } from '../../../src/signin/providers/round-trip.ts';
import { findIdp, type Idp } from '../../../src/signin/providers/store.ts';
import type { TestApi } from '../../support/api.ts';
import { Browser } from '../../support/oauth.ts';
import type { TestProvider } from '../../support/providers.ts';

/** Adds a provider of the instance, and registers our redirect URI there. */
export async function addIdp(api: TestApi, provider: TestProvider, fields: Record<string, unknown> = {}): Promise<Idp> {
  const { orgId, token, ...settings } = fields as { orgId?: string; token?: string };
  const headers = orgId ? { 'x-service-orgid': orgId } : {};
  const path = orgId ? '/management/v1/idps' : '/admin/v1/idps';
  const answer = await api.call('POST', path, provider.settings(settings), { headers, ...(token ? { token } : {}) });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const idp = await findIdp(api.deps.pool, answer.body.idpId);
  assert(idp);
  return idp;
}

export interface Visit {
  uid: string;
  /** Where the browser is sent. */
  url: URL;
  /** The cookie that binds it. */
  cookie: string;
}

/** Begins a visit for a login. @param from cookie of the same browser, from another visit; address of the browser */
export async function begin(
  api: TestApi,
  idp: Idp,
  trip: Partial<NewTrip> = {},
  { cookie = '', ip = '127.0.0.1' } = {},
): Promise<Visit> {
  const uid = randomUUID();
  let set = cookie;
  const res = { cookie: (name: string, value: string) => (set = `${name}=${value}`) } as unknown as ExpressResponse;
  const req = requestOf(cookie, ip);
  const url = await beginTrip(api.deps, req, res, { idp, purpose: 'sign_in', uid, ask: {}, ...trip });
  return { uid, url, cookie: set };
}

function requestOf(cookie: string, ip = '127.0.0.1'): Request {
  return { ip, get: () => cookie } as unknown as Request;
}

/** The provider signs the person in; returns the address that it sends the browser to. */
export async function atProvider(provider: TestProvider, { url }: Pick<Visit, 'url'>, login: string): Promise<URL> {
  const browser = new Browser();
  const first = new URL(url);
  first.searchParams.set('login_hint', login);
  for (let next = first, hops = 0; hops < 10; hops++) {
    if (next.origin !== new URL(provider.issuer).origin) return next;
    const response = await browser.fetch(next.href);
    const location = response.headers.get('location');
    assert(location, `${response.status} ${await response.text()}`);
    next = new URL(location, next);
  }
  throw new Error('The provider did not send the browser back.');
}

/** Opens the callback in the browser. */
export function open(url: URL | string, cookie: string): Promise<Response> {
  return fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} });
}

/** What came of the visit, taken in its browser. */
export async function resultOf(api: TestApi, visit: Visit, response: Response): Promise<TripResult | undefined> {
  const location = response.headers.get('location') ?? '';
  assert.equal(response.status, 303, await response.text());
  const [, uid, tripId = ''] = /\/ui\/login\/([\w-]+)\/idps\/([\w-]+)$/.exec(location) ?? [];
  assert.equal(uid, visit.uid, location);
  return takeResult(api.deps, requestOf(visit.cookie), { tripId, uid: visit.uid });
}

/** A whole visit. */
export async function visit(
  api: TestApi,
  provider: TestProvider,
  idp: Idp,
  login: string,
  trip: Partial<NewTrip> = {},
): Promise<TripResult | undefined> {
  const begun = await begin(api, idp, trip);
  return resultOf(api, begun, await open(await atProvider(provider, begun, login), begun.cookie));
}

export { requestOf };
