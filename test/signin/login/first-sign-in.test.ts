/** What is kept of the first sign-in of an imported user, and passwords that their users may not know. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { digitsOf } from '../../../src/messages/mail/sign-in-codes.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { bulk, OLD_PASSWORD } from '../../support/imports/bodies.ts';
import { type Entry, entry, openWriterPool } from '../../support/imports/imports.ts';

describe('an imported user', () => {
  let api: TestApi;
  let writer: Pool;
  let org: SetUp;
  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0' } });
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    org = await api.setupOrg();
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  let names = 0;
  const person = (user: Record<string, unknown> = {}, oldSignIn?: unknown): Entry => ({
    ...entry(`p${++names}-${org.orgId}`, user),
    ...(oldSignIn ? { oldSignIn } : {}),
  });

  async function imported(...people: Entry[]): Promise<{ importId: string; ids: string[] }> {
    const { status, body } = await api.call('POST', '/admin/v1/import', bulk(org.orgId, people));
    assert.equal(status, 202, JSON.stringify(body));
    await writeBatch(writer, body.importId, [...people.keys()], { codeTtlMs: 100_000 });
    return { importId: body.importId, ids: people.map(({ userId }) => userId as string) };
  }

  const session = (userId: string, more: object) =>
    api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, ...more } });
  const signIn = (userId: string, password = OLD_PASSWORD) => session(userId, { password: { password } });

  async function codeSignIn(userId: string) {
    const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
    const body = { checks: { user: { userId } }, challenges: { otpEmail: { sendCode: {} } } };
    const asked = await api.call('POST', '/v2beta/sessions', body, { token });
    if (asked.status !== 201) return asked;
    const { rows } = await api.deps.pool.query(
      `select code_id from mail_outbox where user_id = $1 and kind = 'sign_in' order by id desc limit 1`,
      [userId],
    );
    const code = digitsOf(api.deps.secrets.code(rows[0].code_id, 0));
    const checks = { otpEmail: { code } };
    return api.call('PATCH', `/v2beta/sessions/${asked.body.sessionId}`, { checks }, { token });
  }

  async function kept(importId: string): Promise<unknown[]> {
    const { rows } = await api.deps.pool.query(
      'select user_id as id, way from first_sign_ins where import_id = $1 order by at',
      [importId],
    );
    return rows;
  }

  const hashOf = async (userId: string): Promise<string> =>
    (await api.deps.pool.query('select password_hash from users where id = $1', [userId])).rows[0].password_hash;

  it('is listed once, when they have signed in, with the way', async () => {
    const { importId, ids } = await imported(person(), person({ hashedPassword: undefined }), person());
    const [ann, bob, cleo] = ids as [string, string, string];
    assert.equal((await signIn(ann, 'wrong')).status, 400);
    assert.deepEqual(await kept(importId), []);
    assert.equal((await signIn(ann)).status, 201);
    assert.equal((await signIn(ann)).status, 201);
    assert.equal((await codeSignIn(bob)).status, 200);
    assert.deepEqual(await kept(importId), [
      { id: ann, way: 'password' },
      { id: bob, way: 'mail_code' },
    ]);
    const signIns = async () => (await api.call('GET', `/admin/v1/imports/${importId}/sign_ins`)).body;
    const { days, ...counts } = await signIns();
    assert.deepEqual(counts, { signedIn: 2, notYet: 1, ways: { PASSWORD: 1, MAIL_CODE: 1 } });
    assert.deepEqual(days, [{ day: days[0]?.day, ways: counts.ways }]);
    assert.match(days[0]?.day ?? '', /^\d{4}-\d\d-\d\d$/);
    const items = async (query: string): Promise<string[]> => {
      const { body } = await api.call('GET', `/admin/v1/imports/${importId}/items?${query}`);
      return body.items.map(({ userId }: { userId: string }) => userId);
    };
    assert.deepEqual(await items('signedIn=true'), [ann, bob]);
    assert.deepEqual(await items('signedIn=false'), [cleo]);
    assert.deepEqual(await items('signedIn=true&signIn=MAIL_CODE'), [bob]);
    assert.deepEqual(await items('signedIn=false&state=ITEM_STATE_FAILED'), []);
    assert.equal((await api.call('GET', `/admin/v1/imports/${importId}/items?signedIn=yes`)).status, 400);
    await api.deps.pool.query('delete from users where id = any($1)', [[ann, cleo]]);
    assert.deepEqual((await signIns()).ways, { MAIL_CODE: 1 });
    assert.deepEqual(await kept(importId), [{ id: bob, way: 'mail_code' }]);
  });

  it('who may not know the password signs in with it, which makes it theirs', async () => {
    const { ids } = await imported(person({}, { password: 'perhaps' }));
    const [ann] = ids as [string];
    assert.match(await hashOf(ann), /^\$form\$perhaps\$\$2b\$/);
    assert.equal((await signIn(ann, 'wrong')).status, 400);
    assert.equal((await signIn(ann)).status, 201);
    assert.doesNotMatch(await hashOf(ann), /perhaps/);
    assert.equal(errorId(await codeSignIn(ann)), 'SESSION-OTP-EMAIL-UNAVAILABLE', 'the user has a password');
    assert.equal((await signIn(ann)).status, 201);
  });

  it('who may not know the password signs in with a code, also at an address that is not verified', async () => {
    const unverified = { email: { email: 'perhaps@example.com', isEmailVerified: false } };
    const { ids } = await imported(person({}, { password: 'perhaps' }), person(unverified, { password: 'perhaps' }));
    for (const id of ids) assert.equal((await codeSignIn(id)).status, 200);
  });

  it('whose password a program made up has none', async () => {
    const plain = { hashedPassword: undefined, password: OLD_PASSWORD };
    const { importId, ids } = await imported(
      person({}, { password: 'unknown' }),
      person(plain, { password: 'unknown' }),
    );
    const [ann] = ids as [string, string];
    const { body } = await api.call('GET', `/admin/v1/imports/${importId}`);
    assert.deepEqual(body.counts.succeeded, 2, 'no password is left to be hashed');
    assert.equal(body.signIn.ways.MAIL_CODE, 2);
    assert.equal(await hashOf(ann), null);
    assert.equal((await signIn(ann)).status, 400);
    assert.equal((await codeSignIn(ann)).status, 200);
  });

  it('is refused if the hash cannot be verified, whether or not they know the password', async () => {
    for (const password of ['perhaps', 'unknown']) {
      const bad = person({ hashedPassword: { value: '$9$nothing' } }, { password });
      const { body } = await api.call('POST', '/admin/v1/import', bulk(org.orgId, [bad]));
      const items = await api.call('GET', `/admin/v1/imports/${body.importId}/items?state=ITEM_STATE_FAILED`);
      assert.equal(items.body.items.length, 1, password);
    }
  });
});
