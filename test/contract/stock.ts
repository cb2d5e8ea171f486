/**
 * The resources that a fuzzer's requests use, created again when requests delete or change them; and callers of every
 * kind, which no request can affect.
 */
import type { Json } from './judge.ts';
import type { SENDERS } from './requests.ts';
import { examplesOf, fill, type World } from './world.ts';

export interface Stock {
  /** Ids by the name of their parameter. */
  ids: Record<string, string[]>;
  /** The `Authorization` header of each kind of caller. */
  callers: Record<(typeof SENDERS)[number], string | undefined>;
  /** Creates the missing resources. */
  fill(): Promise<void>;
}

const API_SCOPE = 'openid urn:service:iam:org:project:id:service:aud';
const MACHINE = { userId: 'importer' };
/** Resources that the examples name, created again whenever they are missing. */
const ALWAYS = { orgId: ['acme', 'globex'], userId: ['bob', 'bob', 'importer', 'importer'] };
/** Of every other kind, the newest ids are kept. */
const KEPT = 4;

export async function openStock(world: World): Promise<Stock> {
  const { api } = world;
  const ids: Stock['ids'] = { ...ALWAYS };
  let fills = 0;
  const fillAll = async () => {
    await fillUsers(world);
    if (fills++ % 4 === 0) await fillRest(world, ids);
  };
  await fillAll();
  const bearer = async (orgId: string, ...roles: string[]) => `Bearer ${(await api.machine(orgId, roles)).token}`;
  const client = await clientHeader(world);
  return {
    ids,
    callers: {
      admin: `Bearer ${api.token}`,
      owner: await bearer('acme', 'ORG_OWNER'),
      viewer: await bearer('acme', 'ORG_OWNER_VIEWER'),
      stranger: await bearer('globex'),
      client,
      oauth: `Bearer ${await accessToken(world, client)}`,
      junk: 'Bearer x',
      none: undefined,
    },
    fill: fillAll,
  };
}

/** Calls an operation with the last of its examples. */
async function make(world: World, id: string, at: Record<string, string> = {}): Promise<Json> {
  const operation = world.operation(id);
  const [, body] = examplesOf(operation).at(-1) ?? [];
  return (await world.api.call(operation.method, fill(operation.path, at), body, { orgId: 'acme' })).body;
}

/** Existing resources stay unchanged. */
async function fillUsers(world: World): Promise<void> {
  await make(world, 'setUpOrg');
  await make(world, 'createOrg');
  for (const action of ['_undelete', '_reactivate']) {
    await world.api.call('POST', `/management/v1/orgs/me/${action}`, undefined, { orgId: 'globex' });
  }
  await world.api.call('POST', '/v2beta/users/human', BOB);
  await make(world, 'createMachineUser');
  await make(world, 'reactivateUser', { userId: 'bob' });
  await make(world, 'unlockUser', { userId: 'bob' });
}

const BOB = {
  userId: 'bob',
  username: 'bob',
  organization: { orgId: 'acme' },
  profile: { givenName: 'Bob', familyName: 'Burns' },
  email: { email: 'bob@acme.example', isVerified: true },
  password: { password: 'correct horse battery staple' },
};

async function fillRest(world: World, ids: Stock['ids']): Promise<void> {
  const keep = (name: string, id: string | undefined) => {
    const made = (ids[name] ?? []).filter((known) => !ALWAYS.userId.includes(known));
    const always = name === 'userId' ? ALWAYS.userId : [];
    if (id) ids[name] = [...always, ...made.slice(1 - KEPT), id];
  };
  keep('userId', (await make(world, 'createHumanUser')).userId);
  keep('tokenId', (await make(world, 'addPat', MACHINE)).tokenId);
  keep('keyId', (await make(world, 'addKey', MACHINE)).keyId);
  keep('sessionId', (await make(world, 'createSession')).sessionId);
  keep('clientId', (await make(world, 'addClient')).clientId);
  keep('importId', (await make(world, 'importUsers')).importId);
  await make(world, 'addPasswordAgePolicy');
  await make(world, 'addPasswordComplexityPolicy');
  await make(world, 'addLoginPolicy');
}

/** Basic authentication of a machine user with a secret. */
async function clientHeader({ api }: World): Promise<string> {
  const { userId } = await api.machine('acme', ['ORG_OWNER']);
  const { body } = await api.call('PUT', `/management/v1/users/${userId}/secret`);
  return `Basic ${Buffer.from(`${userId}:${body.clientSecret}`).toString('base64')}`;
}

async function accessToken({ api }: World, authorization: string): Promise<string> {
  const form = String(new URLSearchParams({ grant_type: 'client_credentials', scope: API_SCOPE }));
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  const { body } = await api.call('POST', '/oauth/v2/token', form, { token: null, headers });
  return body.access_token;
}
