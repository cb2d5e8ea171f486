/** The networks from which a user has logged in lately. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deleteUser } from '../../../src/directory/users/store.ts';
import { recordLogin } from '../../../src/signin/login/attempts.ts';
import { networkOf } from '../../../src/signin/login/origin.ts';
import { unique } from '../../support/answers.ts';
import { addOrgs } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'networks' });
  await addOrgs(db.pool, 'org');
});
after(() => db.drop());

/** A login that was not counted before. */
async function rememberNetwork(id: string, network: string): Promise<void> {
  const count = { waitMs: 0, here: null, everywhere: null };
  const counted = { keys: { here: 1, everywhere: 2 }, count, user: { id, user: '1', network } };
  await recordLogin(db.pool, { id, passwordSetAt: null }, { hasCode: true }, counted);
}

async function addUser(): Promise<string> {
  const id = unique('u');
  await db.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, email, sequence)
     values ($1, 'org', 'human', 'active', $1, $1, 'a@b', 1)`,
    [id],
  );
  return id;
}

const networksOf = async (id: string) =>
  (
    await db.pool.query<{ network: string; day: number; xmin: string }>(
      `select network, extract(day from now() - last_login_at)::int as day, xmin from login_networks
     where user_id = $1 order by last_login_at desc`,
      [id],
    )
  ).rows;

test('a user has the ten latest networks', async () => {
  const [id, other] = [await addUser(), await addUser()];
  await rememberNetwork(other, '-9223372036854775808');
  for (let n = 1; n <= 14; n++) await rememberNetwork(id, String(n));
  await rememberNetwork(id, '14');
  assert.deepEqual(
    (await networksOf(id)).map((row) => Number(row.network)),
    [14, 13, 12, 11, 10, 9, 8, 7, 6, 5],
  );
  assert.equal((await networksOf(other)).length, 1);
});

test('a network is written once a day, and stays while it is used', async () => {
  const id = await addUser();
  await rememberNetwork(id, '1');
  const [first] = await networksOf(id);
  await rememberNetwork(id, '1');
  assert.deepEqual(await networksOf(id), [first], 'no new version of the row');
  await db.pool.query(`update login_networks set last_login_at = now() - interval '2 days' where user_id = $1`, [id]);
  await rememberNetwork(id, '1');
  assert.deepEqual(
    (await networksOf(id)).map((row) => row.day),
    [0],
  );
});

test('nothing is remembered of a user who was deleted', async () => {
  const id = await addUser();
  await rememberNetwork(id, '1');
  await deleteUser(db.pool, { id, orgId: 'org' }, 'system');
  assert.deepEqual(await networksOf(id), []);
  await rememberNetwork('gone', '1');
  assert.deepEqual(await networksOf('gone'), []);
});

test('a network is an IPv4 address, or the /56 of an IPv6 address', () => {
  assert.equal(networkOf('203.0.113.7'), '203.0.113.7');
  assert.equal(networkOf('::ffff:203.0.113.7'), '203.0.113.7');
  assert.equal(networkOf('2001:db8:1:ff01::1'), networkOf('2001:db8:1:ffaa:2::2'));
  assert.notEqual(networkOf('2001:db8:1:ff01::1'), networkOf('2001:db8:1:fe01::1'));
  assert.equal(networkOf(undefined), '');
});
