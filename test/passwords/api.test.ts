/** Imported hashes in the API: rejected with a message, stored unchanged, and valid for a login. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hashProblem } from '../../src/passwords/registry.ts';
import { badFieldsOf, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { entry } from '../support/imports/imports.ts';
import { REFUSED, TAKEN } from './bounds.ts';
import { oneOfEach } from './known-answers.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

const importOne = (value: string) => {
  const user = { ...entry('ann').user, hashedPassword: { value } };
  return api.call('POST', '/management/v1/users/human/_import', user, { orgId: org.orgId });
};
const create = (username: string, hash: string) =>
  api.call('POST', '/v2beta/users/human', {
    username,
    organization: { orgId: org.orgId },
    profile: { givenName: 'Ann', familyName: 'Arbor' },
    email: { email: 'ann@example.com', isVerified: true },
    hashedPassword: { hash },
  });

test('the error of a single import names the field, the scheme and the problem', async () => {
  for (const value of REFUSED) {
    const answer = await importOne(value);
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['hashedPassword.value']], value);
    const [{ description }] = answer.body.details[1].fieldViolations;
    assert.equal(description, hashProblem(value));
  }
});

test('so does the error of creating a user', async () => {
  for (const hash of REFUSED) {
    const answer = await create('refused', hash);
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['hashedPassword.hash']], hash);
    assert.equal(answer.body.details[1].fieldViolations[0].description, hashProblem(hash));
  }
});

test('hashes at a bound are accepted and stored unchanged', async () => {
  for (const [n, hash] of TAKEN.entries()) assert.equal((await create(`bound${n}`, hash)).status, 200, hash);
  const { rows } = await api.deps.pool.query(
    `select password_hash from users where user_name like 'bound%' order by substring(user_name, 6)::int`,
  );
  assert.deepEqual(
    rows.map((r) => r.password_hash),
    TAKEN,
  );
});

test('a user with a hash of any scheme can log in, which replaces it by a current hash', async () => {
  // All at once, because a wrong password has to wait.
  const all = oneOfEach().map(async ({ scheme, encoded, password }, n) => {
    const { status, body } = await create(`scheme${n}`, encoded);
    assert.equal(status, 200, scheme);
    const login = (plain: string) =>
      api.call('POST', '/v2beta/sessions', {
        checks: { user: { userId: body.userId }, password: { password: plain } },
      });
    assert.equal((await login(`${password}!`)).status, 400, scheme);
    for (const turn of ['first', 'second']) assert.equal((await login(password)).status, 201, `${scheme}, ${turn}`);
    const { rows } = await api.deps.pool.query('select password_hash from users where id = $1', [body.userId]);
    assert.match(rows[0].password_hash, /^\$2b\$04\$/, scheme);
  });
  await Promise.all(all);
});
