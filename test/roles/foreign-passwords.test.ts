/** A password that somebody types for one organization reaches no password source of another one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { writeBatch } from '../../src/imports/run/write-batch.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { startApi, type TestApi, unique } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { SETTINGS } from '../support/imports/existing.ts';
import { type Entry, entry, openWriterPool } from '../support/imports/imports.ts';
import { must } from './rows.ts';

const PASSWORD = 'typed for the first';

/** What reaches the attacker. */
const stolen: string[] = [];
const attacker = createServer(async (req, res) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  stolen.push(JSON.parse(Buffer.concat(chunks).toString()).password);
  res.writeHead(200, { 'content-type': 'application/json' }).end('{"valid":false}');
});

let api: TestApi;
let writer: Pool;
let url: string;
before(async () => {
  attacker.listen(0, '127.0.0.1');
  await once(attacker, 'listening');
  url = `http://127.0.0.1:${(attacker.address() as AddressInfo).port}/`;
  api = await startApi({
    env: { PASSWORD_SOURCE_ALLOW_PRIVATE: 'true', RATE_LIMIT_LOGINS: '1000000', LOGIN_DELAY_MS: '0' },
  });
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
beforeEach(() => {
  stolen.length = 0;
});
after(async () => {
  await writer.end();
  await api.stop();
  attacker.close();
  attacker.closeAllConnections();
});

interface Org {
  orgId: string;
  domain: string;
  owner: { userId: string; token: string };
}

async function newOrg(): Promise<Org> {
  const { orgId } = await api.setupOrg();
  const { rows } = await api.deps.pool.query('select primary_domain as domain from organizations where id = $1', [
    orgId,
  ]);
  return { orgId, domain: rows[0].domain, owner: await api.machine(orgId, ['ORG_OWNER']) };
}

async function add({ orgId }: Org, person: Entry): Promise<void> {
  const { importId } = await must(api, 'POST', '/admin/v1/import', bulk(orgId, [person]));
  await writeBatch(writer, importId, [0], SETTINGS);
}

/** The attacker, who owns the organization, gives it a user at a source of their own. */
async function addAtSource({ orgId, owner }: Org, person: Entry): Promise<void> {
  const source = { name: 'Old', kind: 'http', settings: { url } };
  const { sourceId } = (await api.call('POST', '/management/v1/password_sources', source, owner)).body;
  const path = `/admin/v1/import?passwordSource=${sourceId}`;
  const answer = await api.call('POST', path, bulk(orgId, [person]), owner);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  await writeBatch(writer, answer.body.importId, [0], SETTINGS);
}

function signIn(loginName: string, orgId?: string) {
  const checks = { user: { loginName }, password: { password: PASSWORD } };
  return api.call('POST', '/v2beta/sessions', { checks }, orgId === undefined ? {} : { orgId });
}

const bare = (name: string, user: Record<string, unknown> = {}) => entry(name, { hashedPassword: undefined, ...user });

for (const isEmailVerified of [true, false]) {
  test(`an address that somebody has at the first, verified ${isEmailVerified}, and verified at the other`, async () => {
    const [first, other] = [await newOrg(), await newOrg()];
    const email = `${unique('ann')}@example.com`;
    await add(first, entry(unique('ann'), { email: { email, isEmailVerified } }));
    await addAtSource(other, bare(unique('trap'), { email: { email, isEmailVerified: true } }));
    for (const orgId of [undefined, first.orgId]) await signIn(email, orgId);
    assert.deepEqual(stolen, []);
    await signIn(email, other.orgId);
    assert.deepEqual(stolen, [PASSWORD], 'where the application names the organization of the source');
  });
}

test('an address at the first that is the full login name at the other', async () => {
  const [first, other] = [await newOrg(), await newOrg()];
  const name = unique('ann');
  const email = `${name}@${other.domain}`;
  await add(first, entry(unique('ann'), { email: { email, isEmailVerified: false } }));
  await addAtSource(other, bare(name));
  for (const orgId of [undefined, first.orgId]) await signIn(email, orgId);
  assert.deepEqual(stolen, []);
});

test('a user name at the first that is the full login name at the other', async () => {
  const [first, other] = [await newOrg(), await newOrg()];
  const name = unique('ann');
  await add(first, entry(unique('ann'), { userName: `${name}@${other.domain}` }));
  await addAtSource(other, bare(name));
  for (const orgId of [undefined, first.orgId]) await signIn(`${name}@${other.domain}`, orgId);
  assert.deepEqual(stolen, []);
});

test('a name that only the other organization has, typed where the application names the first', async () => {
  const [first, other] = [await newOrg(), await newOrg()];
  const name = unique('ann');
  await addAtSource(other, bare(name));
  await signIn(name, first.orgId);
  assert.deepEqual(stolen, []);
  await signIn(name);
  await signIn(`${name}@${other.domain}`, first.orgId);
  assert.deepEqual(stolen, [PASSWORD, PASSWORD], 'an unambiguous name, and an unambiguous full login name');
});
