/** Which provider a link belongs to, who holds an account, and which accounts are held twice. */
import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import { holdersOf, linkClashes, linksOf } from '../../src/directory/idp-links.ts';
import { type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { addLinkRow, addProvider, removeProviders } from '../support/idp-rows.ts';
import { addHuman } from './users/people.ts';

let api: TestApi;
let one: SetUp;
let two: SetUp;
before(async () => {
  api = await startApi();
  [one, two] = [await api.setupOrg(), await api.setupOrg()];
});
after(() => api.stop());
afterEach(async () => {
  await removeProviders(api.deps.pool);
  await api.deps.pool.query('delete from user_idp_links');
});

const idsOf = async (id: string, subjects: string[], orgId?: string) =>
  (await holdersOf(api.deps.pool, { id }, subjects, orgId)).map(({ userId }) => userId);

async function linked(orgId: string, idpId: string, subject: string): Promise<string> {
  const userId = await addHuman(api, orgId);
  await addLinkRow(api.deps.pool, userId, idpId, subject);
  return userId;
}

it('a link belongs to the provider with this id or alias, in any case of letters', async () => {
  const { pool } = api.deps;
  const id = await addProvider(pool, { id: unique('Acme-SSO'), aliases: ['google-oauth2', 'Google'] });
  const names = [id, id.toLowerCase(), 'google-oauth2', 'GOOGLE', 'google'];
  const users = [];
  for (const [n, name] of names.entries()) users.push(await linked(one.orgId, name, `s${n}`));
  await linked(one.orgId, 'google.com', 's0');
  for (const [n, user] of users.entries()) assert.deepEqual(await idsOf(id, [`s${n}`]), [user]);
  assert.deepEqual((await idsOf(id, ['s0', 's3'])).sort(), [users[0], users[3]].sort());
  assert.deepEqual(await idsOf(id, ['S0', 's', 's%', '']), []);
});

it('a provider of the organization comes before one of the instance, also while it is disabled', async () => {
  const { pool } = api.deps;
  const instance = await addProvider(pool, { aliases: ['google'] });
  const [mine, theirs] = [await linked(one.orgId, 'google', '1'), await linked(two.orgId, 'google', '1')];
  assert.deepEqual((await idsOf(instance, ['1'])).sort(), [mine, theirs].sort());
  assert.deepEqual(await idsOf(instance, ['1'], two.orgId), [theirs]);
  const own = await addProvider(pool, { orgId: one.orgId, aliases: ['Google'], isEnabled: false });
  assert.deepEqual([await idsOf(own, ['1']), await idsOf(instance, ['1'])], [[mine], [theirs]]);
  assert.deepEqual(
    (await linksOf(pool, mine)).map(({ provider }) => provider),
    [undefined],
  );
});

it('a provider of an organization has no users elsewhere, whatever their links are called', async () => {
  const own = await addProvider(api.deps.pool, { orgId: one.orgId, aliases: ['google'] });
  for (const name of ['google', own]) await linked(two.orgId, name, '1');
  assert.deepEqual(await idsOf(own, ['1']), []);
});

it('an account of two users of an organization is found twice, marked at both, and counted', async () => {
  const { pool } = api.deps;
  const id = await addProvider(pool, { aliases: ['google', 'google.com'] });
  const users = [await linked(one.orgId, 'google', '1'), await linked(one.orgId, 'Google.com', '1')];
  await linked(two.orgId, 'google', '1');
  await linked(one.orgId, 'github', '1');
  assert.deepEqual((await idsOf(id, ['1'], one.orgId)).sort(), [...users].sort());
  for (const user of users) assert.deepEqual((await linksOf(pool, user))[0]?.isHeldTwice, true);
  assert.deepEqual(await linkClashes(pool), {
    clashes: [{ orgId: one.orgId, idpId: id, accounts: 1, users: 2 }],
    total: 1,
  });
});

it('nobody is inactive by accident: states and the state of the organization are told', async () => {
  const { pool } = api.deps;
  const id = await addProvider(pool, { aliases: ['google'] });
  const userId = await linked(one.orgId, 'google', '1');
  await pool.query(`update users set state = 'locked' where id = $1`, [userId]);
  assert.deepEqual(await holdersOf(pool, { id }, ['1']), [
    { userId, orgId: one.orgId, state: 'locked', orgIsActive: true },
  ]);
});
