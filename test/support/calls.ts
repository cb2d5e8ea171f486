/** Calls to a service over HTTP, and the organizations and callers that tests start with. */
import { type Answer, type CallOptions, unique } from './answers.ts';

export interface ServiceCall extends CallOptions {
  /** Which API process; default: the one that was started last. */
  url?: string;
}

export interface Calls {
  /** Sends a JSON body; a string or bytes are sent unchanged. A response that is not JSON is returned as text. */
  call(method: string, path: string, body?: unknown, options?: ServiceCall): Promise<Answer>;
  /** Sends a bulk import. */
  importBody(body: unknown, options?: ServiceCall & { query?: string }): Promise<Answer>;
  /** A password check: 201 with a session, or 400. */
  login(user: string | { userId: string }, password: string, options?: ServiceCall): Promise<Answer>;
  /** An organization, and a machine user that owns it. */
  newOrg(): Promise<TestOrg>;
  /** A machine user of the organization with a token. */
  machine(orgId: string, roles: string[]): Promise<{ userId: string; token: string }>;
}

export interface TestOrg {
  orgId: string;
  domain: string;
  ownerToken: string;
}

/**
 * @param urlNow address of the API at the time of a call
 * @param admin the token for calls without their own
 */
export function openCalls(urlNow: () => string, admin: string): Calls {
  const calls: Calls = {
    call: (method, path, body, options) => send(method, path, body, { url: urlNow(), token: admin, ...options }),
    importBody: (body, { query = '', ...options } = {}) =>
      calls.call('POST', `/admin/v1/import${query}`, body, options),
    login(user, password, options) {
      const checks = { user: typeof user === 'string' ? { loginName: user } : user, password: { password } };
      return calls.call('POST', '/v2beta/sessions', { checks }, options);
    },
    newOrg: () => newOrg(calls),
    machine: (orgId, roles) => machine(calls, orgId, roles),
  };
  return calls;
}

async function send(method: string, path: string, body: unknown, options: ServiceCall): Promise<Answer> {
  const { url, token, orgId, headers } = options;
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(orgId === undefined ? {} : { 'x-service-orgid': orgId }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.match(/[/+]json\b/);
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** @throws Error when the call fails */
export async function must(answer: Promise<Answer>): Promise<Answer> {
  const given = await answer;
  if (given.status >= 300) throw new Error(`answered ${given.status}: ${JSON.stringify(given.body)}`);
  return given;
}

async function newOrg({ call, machine }: Calls): Promise<TestOrg> {
  const { id: orgId } = (await must(call('POST', '/management/v1/orgs', { name: unique('Acme') }))).body;
  const { org } = (await must(call('GET', '/management/v1/orgs/me', undefined, { orgId }))).body;
  const { token } = await machine(orgId, ['ORG_OWNER']);
  return { orgId, domain: org.primaryDomain, ownerToken: token };
}

async function machine({ call }: Calls, orgId: string, roles: string[]): Promise<{ userId: string; token: string }> {
  const name = unique('machine');
  const made = await must(call('POST', '/management/v1/users/machine', { userName: name, name }, { orgId }));
  const { userId } = made.body;
  await must(call('POST', '/management/v1/orgs/me/members', { userId, roles }, { orgId }));
  const { token } = (await must(call('POST', `/management/v1/users/${userId}/pats`, {}, { orgId }))).body;
  return { userId, token };
}
