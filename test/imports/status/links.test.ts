/** Predictions for users with accounts at providers: by today's providers, and never where two users hold an account. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { SignIn } from '../../../src/contract/sign-in.ts';
import { batchStore, specialStores } from '../../../src/imports/run/stores.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { findIdp, mayDecide } from '../../../src/signin/providers/store.ts';
import { addHuman } from '../../directory/users/people.ts';
import { startApi, type TestApi, unique } from '../../support/api.ts';
import { addLinkRow, addProvider, removeProviders } from '../../support/idp-rows.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { entry, openWriterPool } from '../../support/imports/imports.ts';

let api: TestApi;
let pool: Pool;
let writer: Pool;
let orgId: string;
before(async () => {
  api = await startApi();
  pool = api.deps.pool;
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
beforeEach(async () => {
  orgId = (await api.call('POST', '/management/v1/orgs', { name: unique('Links') })).body.id;
});
afterEach(() => removeProviders(pool));
after(async () => {
  await writer.end();
  await api.stop();
});

type Kind = 'fail' | 'skip' | 'update' | 'dry';
const ITEMS = 'items?pageSize=1000';
const call = (method: string, path: string, body?: unknown) => api.call(method, `/admin/v1/imports/${path}`, body);
const result = async (id: string) => (await call('GET', id)).body;

/** A user without a password, with a link for each `name:subject`. */
const by = (name: string, ...links: string[]) =>
  entry(name, {
    hashedPassword: undefined,
    idps: links.map((link) => {
      const [configId, externalUserId] = link.split(':');
      return { configId, externalUserId, displayName: name };
    }),
  });

async function accept(users: object[], kind: Kind): Promise<string> {
  const query = kind === 'dry' ? 'dryRun=true' : `onExisting=${kind}`;
  const answer = await api.call('POST', `/admin/v1/import?${query}`, bulk(orgId, users));
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.importId;
}

async function run(id: string, kind: Kind): Promise<void> {
  const { total } = (await result(id)).counts;
  const ordinals = Array.from({ length: total }, (_, n) => n);
  if (kind === 'fail') await batchStore(writer, SETTINGS).write(id, ordinals);
  else await specialStores(writer, SETTINGS)[kind].write(id, ordinals);
}

const spelled = ({ way, cause }: SignIn) => (cause ? `${way}/${cause}` : way);

/** The ways of the users in order; checks that counts and searches agree with them. */
async function waysOf(id: string): Promise<string[]> {
  const { items } = (await call('GET', `${id}/${ITEMS}`)).body;
  const predicted = items.filter((item: { signIn?: SignIn }) => item.signIn);
  const { signIn } = await result(id);
  for (const [way, users] of Object.entries(signIn.ways)) {
    const found = (await call('GET', `${id}/${ITEMS}&signIn=${way}`)).body.items;
    const expected = predicted.filter((item: { signIn: SignIn }) => item.signIn.way === way);
    assert.deepEqual([users, found], [expected.length, expected], way);
  }
  return items.map((item: { signIn?: SignIn }) => (item.signIn ? spelled(item.signIn) : '-'));
}

const LINKED_USERS = (prefix: string) => [
  by(`${prefix}-one`, `google-oauth2:${prefix}1`),
  by(`${prefix}-two`, `google-oauth2:${prefix}2`),
  by(`${prefix}-both`, `google-oauth2:${prefix}2`, `github:${prefix}2`),
  by(`${prefix}-alias`, `Google:${prefix}3`),
  by(`${prefix}-same`, `google-oauth2:${prefix}3`),
  by(`${prefix}-work`, `acme-saml:${prefix}3`),
  entry(`${prefix}-usual`),
];

for (const kind of ['fail', 'skip', 'update', 'dry'] as const) {
  test(`${kind}: links sign in as the providers of the organization say today`, async () => {
    const id = await accept(LINKED_USERS(orgId), kind);
    const MISSING = 'MAIL_CODE/PROVIDER_NOT_SET_UP';
    const TWICE = 'MAIL_CODE/LINK_HELD_TWICE';
    const without = [MISSING, TWICE, TWICE, TWICE, TWICE, MISSING, 'PASSWORD'];
    assert.deepEqual(await waysOf(id), without);
    assert.deepEqual((await result(id)).signIn.links, [
      { name: 'acme-saml', users: 1 },
      { name: 'github', users: 1, preset: 'github' },
      { name: 'google-oauth2', users: 1, preset: 'google' },
    ]);
    await addProvider(pool, { aliases: ['google-oauth2', 'google'] });
    const idpId = await addProvider(pool, { orgId, aliases: ['GitHub'] });
    const withProviders = ['PROVIDER', TWICE, 'PROVIDER', TWICE, TWICE, MISSING, 'PASSWORD'];
    assert.deepEqual(await waysOf(id), withProviders);
    assert.deepEqual((await result(id)).signIn.links, [{ name: 'acme-saml', users: 1 }]);
    await run(id, kind);
    assert.deepEqual(await waysOf(id), withProviders);
    await pool.query(`update idps set settings = settings || '{"isEnabled": false}' where id = $1`, [idpId]);
    assert.equal((await waysOf(id))[2], TWICE);
  });

  test(`${kind}: an account under two names of a provider is held twice`, async () => {
    await addProvider(pool, { aliases: ['google-oauth2', 'google'] });
    const id = await accept(LINKED_USERS(orgId), kind);
    const expected = ['PROVIDER', ...Array(4).fill('MAIL_CODE/LINK_HELD_TWICE')];
    assert.deepEqual((await waysOf(id)).slice(0, 5), expected);
    await run(id, kind);
    assert.deepEqual((await waysOf(id)).slice(0, 5), expected);
  });

  test(`${kind}: an account that an existing user has is held twice, in the same organization only`, async () => {
    await addProvider(pool, { aliases: ['google'] });
    const other = (await api.call('POST', '/management/v1/orgs', { name: unique('Other') })).body.id;
    await addLinkRow(pool, await addHuman(api, orgId), 'Google', `${orgId}-a`);
    await addLinkRow(pool, await addHuman(api, other), 'google', `${orgId}-b`);
    const id = await accept([by(unique('a'), `google:${orgId}-a`), by(unique('b'), `google:${orgId}-b`)], kind);
    const expected = ['MAIL_CODE/LINK_HELD_TWICE', 'PROVIDER'];
    assert.deepEqual(await waysOf(id), expected);
    await run(id, kind);
    assert.deepEqual(await waysOf(id), expected);
  });
}

test('of two users with an account, the one who is imported alone signs in with it', async () => {
  await addProvider(pool, { aliases: ['google'] });
  const name = unique('taken');
  const first = await accept([entry(name)], 'fail');
  await run(first, 'fail');
  const id = await accept([by(name, `google:${orgId}`), by(unique('new'), `google:${orgId}`)], 'fail');
  await run(id, 'fail');
  await result(id); // counts, now that the import has ended
  assert.deepEqual(await waysOf(id), ['-', 'PROVIDER']);
});

for (const kind of ['update', 'dry'] as const) {
  test(`${kind}: an updated user keeps their links, and gets those of the entry`, async () => {
    await addProvider(pool, { aliases: ['google'] });
    const [old, added] = [unique('old'), unique('added')];
    await run(await accept([by(old, `google:${old}`), by(added)], 'fail'), 'fail');
    const changed = (user: object) =>
      Object.assign(user, {
        user: { ...(user as { user: object }).user, profile: { firstName: 'Bea', lastName: 'B' } },
      });
    const users = [changed(by(old)), changed(by(added, `google:${added}`))];
    const query = kind === 'dry' ? 'dryRun=true&onExisting=update' : 'onExisting=update';
    const answer = await api.call('POST', `/admin/v1/import?${query}`, bulk(orgId, users));
    await run(answer.body.importId, kind);
    assert.deepEqual(await waysOf(answer.body.importId), ['PROVIDER', 'PROVIDER']);
  });
}

test('users with a working link get no mail where the policy says unlessWayIn, as predicted', async () => {
  await addProvider(pool, { aliases: ['google'] });
  const policy = { initMail: 'unlessWayIn', mailCode: 'off' };
  await api.call('POST', '/management/v1/policies/login', policy, { orgId });
  const users = (prefix: string) => [
    by(`${prefix}works`, `google:${prefix}1`),
    by(`${prefix}none`, `github:${prefix}2`),
    by(`${prefix}held`, `google:${prefix}3`),
    by(`${prefix}too`, `google:${prefix}3`),
  ];
  const expected = ['PROVIDER', 'INIT_MAIL/PROVIDER_NOT_SET_UP', ...Array(2).fill('INIT_MAIL/LINK_HELD_TWICE')];
  for (const kind of ['dry', 'fail', 'skip', 'update'] as const) {
    const id = await accept(users(unique('u')), kind);
    await run(id, kind);
    assert.deepEqual(await waysOf(id), expected);
    const { mails } = await result(id);
    assert.equal(mails.pending, 3, kind);
    if (kind === 'dry') continue;
    const { rows } = await pool.query(
      `select right(u.user_name, 5) as name from mail_outbox m join users u on u.id = m.user_id where m.import_id = $1`,
      [id],
    );
    assert.equal(
      rows.some(({ name }) => name === 'works'),
      false,
    );
  }
});

test('names of providers are counted up to a limit, whatever an import contains', async () => {
  const users = Array.from({ length: 60 }, (_, n) => by(unique('many'), `sso-${String(n).padStart(2, '0')}:1`));
  const { signIn } = await result(await accept(users, 'dry'));
  assert.deepEqual([signIn.links.length, signIn.moreLinks], [50, 10]);
  assert.deepEqual(signIn.links[0], { name: 'sso-00', users: 1 });
  const odd = by(unique('odd'), 'a "quoted", {name}\\:1');
  assert.deepEqual((await result(await accept([odd], 'fail'))).signIn.links, [
    { name: 'a "quoted", {name}\\', users: 1 },
  ]);
});

for (const kind of ['update', 'dry update'] as const) {
  test(`${kind}: a user with roles signs in by a provider of the organization as far as who set it up may`, async () => {
    const policy = { mailCode: 'off', initMail: 'unlessWayIn' };
    assert.equal((await api.call('PUT', '/management/v1/policies/login', policy, { orgId })).status, 200);
    const [setter, iamOwner] = [await api.machine(orgId, ['ORG_OWNER']), await api.machine(orgId)];
    await api.call('POST', '/admin/v1/members', { userId: iamOwner.userId, roles: ['IAM_OWNER'] });
    const users = await usersWithRoles();
    const own = await addProvider(pool, { orgId, aliases: ['google'], setBy: setter.userId });
    const body = bulk(
      orgId,
      users.map((userId, n) => ({ ...by(unique('role'), `google:${orgId}-${n}`), userId })),
    );
    const query = `onExisting=update${kind === 'update' ? '' : '&dryRun=true'}`;
    const id = (await api.call('POST', `/admin/v1/import?${query}`, body)).body.importId;
    await run(id, kind === 'update' ? 'update' : 'dry');

    const comes = async () => {
      const idp = await findIdp(pool, own);
      const decided = await Promise.all(users.map((userId) => idp && mayDecide(pool, idp, userId)));
      assert.deepEqual(
        (await waysOf(id)).map((way) => way === 'PROVIDER'),
        decided,
      );
      const { items } = (await call('GET', `${id}/${ITEMS}`)).body;
      assert.deepEqual(
        items.map(({ signIn }: { signIn: SignIn }) => signIn.cause),
        decided.map((may) => (may ? undefined : 'PROVIDER_NOT_ALLOWED')),
        'the provider is set up',
      );
      const { causes } = (await result(id)).signIn;
      const refused = decided.filter((may) => !may).length;
      assert.deepEqual(causes, refused > 0 ? { PROVIDER_NOT_ALLOWED: refused } : {});
      return decided;
    };
    const { items } = (await call('GET', `${id}/${ITEMS}`)).body;
    const getsMail = items.map(({ signIn }: { signIn: SignIn }) => signIn.changes.includes('GETS_MAIL'));
    assert.deepEqual(await comes(), [true, true, false, false]);
    assert.deepEqual(getsMail, [false, false, true, true], 'and those without a way in get a mail');
    const mailed = await pool.query('select user_id as id from mail_outbox where user_id = any($1)', [users]);
    assert.deepEqual(mailed.rows.map((row) => row.id).sort(), kind === 'update' ? users.slice(2).sort() : []);

    const setBy = async (userId: string | null) => pool.query('update idps set set_by = $1', [userId]);
    await setBy(iamOwner.userId);
    assert.deepEqual(await comes(), [true, true, true, false]);
    await pool.query(`update users set state = 'inactive' where id = $1`, [iamOwner.userId]);
    assert.deepEqual(await comes(), [true, false, false, false]);
    await setBy(null);
    assert.deepEqual(await comes(), [true, false, false, false]);
    await pool.query('update idps set org_id = null');
    assert.deepEqual(await comes(), [true, true, true, true]);
  });
}

/** A user without roles, one with a role in their organization, one with a role in another, and an IAM_OWNER. */
async function usersWithRoles(): Promise<string[]> {
  const users = await Promise.all([1, 2, 3, 4].map(() => addHuman(api, orgId)));
  const [, manager, elsewhere, iamOwner] = users;
  const other = (await api.call('POST', '/management/v1/orgs', { name: unique('Other') })).body.id;
  const member = (userId: string | undefined, to: string) =>
    api.call('POST', '/management/v1/orgs/me/members', { userId, roles: ['ORG_USER_MANAGER'] }, { orgId: to });
  const answers = [await member(manager, orgId), await member(elsewhere, other)];
  answers.push(await api.call('POST', '/admin/v1/members', { userId: iamOwner, roles: ['IAM_OWNER'] }));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  return users;
}
