/**
 * Imports three users with the types that openapi-typescript made of `/openapi.json`, and signs one of them in.
 * Arguments: address, token and a hash of the password `password`. Prints what the service answered.
 */
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

declare const process: { argv: string[] };

const [, , baseUrl = '', token = '', hash = ''] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });

type Called<T> = { data?: T; error?: unknown; response: Response };

/** The body of an answer. */
async function must<T>(call: Promise<Called<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (data === undefined) throw new Error(`${response.status}: ${JSON.stringify(error)}`);
  return data;
}

function person(name: string, email: string): components['schemas']['ImportUser'] {
  return {
    userName: name,
    profile: { firstName: name, lastName: 'TypeScript', gender: 'GENDER_UNSPECIFIED' },
    email: { email, isEmailVerified: true },
    hashedPassword: { value: hash },
    requestPasswordlessRegistration: false,
  };
}

async function ended(importId: string): Promise<components['schemas']['ImportResult']> {
  for (;;) {
    const result = await must(client.GET('/admin/v1/imports/{importId}', { params: { path: { importId } } }));
    if (result.state !== 'IMPORT_STATE_RUNNING') return result;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const { id: orgId } = await must(client.POST('/management/v1/orgs', { body: { name: 'TypeScript' } }));
const humanUsers = [
  { userId: 'ts1', user: person('ts-ann', 'ann@ts.example') },
  { userId: 'ts2', state: 'USER_STATE_INACTIVE' as const, user: person('ts-bob', 'bob@ts.example') },
  { userId: 'ts3', user: person('ts-cleo', 'no address') },
];
const accepted = await must(
  client.POST('/admin/v1/import', { body: { timeout: '10m0s', dataOrgs: { orgs: [{ orgId, humanUsers }] } } }),
);
const { state, counts, eta, errors } = await ended(accepted.importId);
const { items } = await must(
  client.GET('/admin/v1/imports/{importId}/items', { params: { path: { importId: accepted.importId } } }),
);
const session = await must(
  client.POST('/v2beta/sessions', {
    body: { checks: { user: { loginName: 'ts-ann' }, password: { password: 'password' } } },
  }),
);
console.log(
  JSON.stringify({
    state,
    counts,
    eta,
    errors: errors.map(({ id }) => id),
    items: items.map(({ userId, state, error }) => [userId, state, error?.code ?? null]),
    signedIn: session.sessionToken.length > 0,
  }),
);
