/** `muster users` against a real API: which users it finds, how it changes them, and how it asks. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { runMuster } from '../../support/processes/muster.ts';
import { openTerminal } from '../../support/processes/terminal.ts';

let api: TestApi;
let org: SetUp;
let env: Record<string, string>;
before(async () => {
  api = await startApi();
  org = await api.setupOrg({ org: { name: 'Acme Ltd', domain: 'acme.example' } });
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  env = { MUSTER_URL: api.url, MUSTER_TOKEN: token };
});
after(() => api.stop());

const muster = (...args: string[]) => runMuster(['users', ...args], { env });
const json = async (...args: string[]) => {
  const { stdout, stderr } = await muster(...args, '--json');
  assert.equal(stderr, '');
  return JSON.parse(stdout);
};

/** A human of the organization. */
async function human(fields: Record<string, unknown> = {}): Promise<{ userId: string; username: string }> {
  const username = unique('bob');
  const body = {
    userId: `auth0|${username}`,
    username,
    organization: { orgId: org.orgId },
    profile: { givenName: 'Bob', familyName: 'Burns' },
    email: { email: `${username}@example.com`, isVerified: true },
    password: { password: 'correct horse' },
    ...fields,
  };
  const answer = await api.call('POST', '/v2beta/users/human', body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { userId: answer.body.userId, username };
}

const stateOf = async (userId: string) =>
  (await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`)).body.user?.state;

test('list shows the users of an organization ordered by name, in pages', async () => {
  const { orgId } = await api.setupOrg({ human: { userName: 'zoe' } });
  const { token } = await api.machine(orgId, ['ORG_OWNER_VIEWER']);
  const list = (...args: string[]) => runMuster(['users', 'list', ...args], { env: { ...env, MUSTER_TOKEN: token } });
  const all = await list();
  assert.equal(all.code, 0);
  const [head, machine, zoe, ...rest] = all.stdout.trimEnd().split('\n');
  assert.match(head as string, /^USER ID +LOGIN NAME +NAME +EMAIL +STATE +ORGANIZATION$/);
  assert.match(machine as string, / machine-.* active +\S+$/);
  assert.match(zoe as string, new RegExp(` zoe@\\S+ +Ann Arbor +ann@example.com +active +${orgId}$`));
  assert.deepEqual(rest, []);

  const first = await list('--limit', '1');
  assert.match(first.stderr, /^1 more: .*--offset 1\./);
  const second = await list('--limit', '1', '--offset', '1', '--json');
  const { details, result } = JSON.parse(second.stdout);
  assert.deepEqual([details.totalResult, result[0].username], ['2', 'zoe']);
  assert.match((await list('--state', 'locked')).stdout, /^None\.$/m);
  for (const [option, value] of [
    ['--limit', '0'],
    ['--limit', 'many'],
    ['--offset', '-1'],
    ['--state', 'odd'],
  ]) {
    assert.equal((await list(option as string, value as string)).code, 2, `${option} ${value}`);
  }
});

test('list accepts an organization by id, name or domain', async () => {
  for (const name of [org.orgId, 'Acme Ltd', 'ACME.example']) {
    assert.ok((await json('list', '--org', name)).result.length >= 2, name);
  }
  const { code, stderr } = await muster('list', '--org', 'Globex');
  assert.equal(code, 2);
  assert.match(stderr, /no organization with the id, name or domain "Globex"[\s\S]*You have a role on .*Acme Ltd/);
});

test('find searches login names, user names, email addresses and ids', async () => {
  const { userId, username } = await human();
  for (const text of [
    userId,
    username,
    username.toUpperCase(),
    `${username}@acme.example`,
    `${username}@example.com`,
  ]) {
    const { result } = await json('find', text);
    assert.deepEqual(
      result.map((user: { userId: string }) => user.userId),
      [userId],
      text,
    );
  }
  const twin = await human({ email: { email: `${username}@example.com`, isVerified: true } });
  const { stdout } = await muster('find', `${username}@example.com`);
  assert.ok(stdout.includes(userId) && stdout.includes(twin.userId));
  assert.deepEqual([(await muster('find', 'nobody')).stdout, (await json('find', 'nobody')).result], ['None.\n', []]);
});

test('get shows all data of a user, by id or login name', async () => {
  const { userId, username } = await human({
    phone: { phone: '+41791234567', isVerified: false },
    metadata: [
      { key: 'plan', value: Buffer.from('gold').toString('base64') },
      { key: 'raw', value: Buffer.from([0xff, 0xfe]).toString('base64') },
    ],
    idpLinks: [{ idpId: 'google', userId: 'g-1', userName: 'bob@gmail.com' }],
  });
  for (const text of [userId, `${username}@acme.example`]) {
    const { code, stdout } = await muster('get', text);
    assert.equal(code, 0);
    for (const line of [
      new RegExp(`^id +${userId.replace('|', '\\|')}$`, 'm'),
      /^state +active$/m,
      /^name +Bob Burns$/m,
      new RegExp(`^email +${username}@example.com \\(verified\\)$`, 'm'),
      /^phone +\+41791234567 \(not verified\)$/m,
      /^metadata plan +gold$/m,
      /^metadata raw +base64 \/\/4=$/m,
      /^link google +g-1 bob@gmail.com \(its provider is not set up\)$/m,
    ]) {
      assert.match(stdout, line);
    }
  }
  const whole = await json('get', userId);
  assert.deepEqual([whole.user.userId, whole.metadata.length, whole.links[0].idpId], [userId, 2, 'google']);
});

test('an unknown and an ambiguous name are reported', async () => {
  const nobody = await muster('get', 'nobody');
  assert.equal(nobody.code, 2);
  assert.match(nobody.stderr, /no user with the id or login name "nobody"[\s\S]*muster users find/);

  const userName = unique('twin');
  const [one, two] = [await api.setupOrg({ human: { userName } }), await api.setupOrg({ human: { userName } })];
  const twice = await runMuster(['users', 'lock', userName], { env: { ...env, MUSTER_TOKEN: api.token } });
  assert.equal(twice.code, 2);
  assert.match(twice.stderr, /Several users match/);
  assert.deepEqual([await stateOf(one.userId), await stateOf(two.userId)], ['USER_STATE_ACTIVE', 'USER_STATE_ACTIVE']);
});

test('states change, and an impossible change is refused by the service', async () => {
  const { userId } = await human();
  for (const [change, state, words] of [
    ['deactivate', 'USER_STATE_INACTIVE', /is now inactive/],
    ['reactivate', 'USER_STATE_ACTIVE', /is active again/],
    ['lock', 'USER_STATE_LOCKED', /is now locked/],
    ['unlock', 'USER_STATE_ACTIVE', /is unlocked/],
  ] as const) {
    const { code, stdout } = await muster(change, userId);
    assert.equal(code, 0);
    assert.match(stdout, words);
    assert.equal(await stateOf(userId), state);
  }
  const { code, stderr } = await muster('unlock', userId);
  assert.equal(code, 1);
  assert.match(stderr, /\(USER-STATE/);
});

test('delete asks, and deletes only on yes', async (t) => {
  const { userId, username } = await human();
  const unasked = await muster('delete', userId);
  assert.equal(unasked.code, 2);
  assert.match(unasked.stderr, /--yes/);
  for (const [keys, code] of [
    ['n\r', 1],
    ['\x03', 130],
  ] as const) {
    const terminal = openTerminal(t, ['users', 'delete', userId], { env });
    await terminal.shows(/Delete user auth0\|.*\? This cannot be undone\. \[y\/N\]/);
    terminal.type(keys);
    assert.equal(await terminal.ended, code);
    assert.equal(await stateOf(userId), 'USER_STATE_ACTIVE');
  }
  const terminal = openTerminal(t, ['users', 'delete', `${username}@acme.example`], { env });
  await terminal.shows(/\[y\/N\]/);
  terminal.type('y\r');
  assert.equal(await terminal.ended, 0);
  assert.equal(await stateOf(userId), undefined);

  const other = await human();
  assert.equal((await muster('delete', other.userId, '-y')).code, 0);
  assert.equal(await stateOf(other.userId), undefined);
});

test('reset-password sends a mail, or prints a code that works', async () => {
  const { userId } = await human();
  const mailed = await muster('reset-password', userId);
  assert.match(mailed.stdout, /A mail with a link is on its way/);
  const { rows } = await api.deps.pool.query('select kind from mail_outbox where user_id = $1', [userId]);
  assert.deepEqual(rows, [{ kind: 'reset_password' }]);

  const { stdout, stderr } = await muster('reset-password', userId, '--code');
  assert.match(stderr, /Anyone with this code/);
  const body = { newPassword: { password: 'another horse' }, verificationCode: stdout.trim() };
  const set = await api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/password`, body, { token: null });
  assert.equal(set.status, 200, JSON.stringify(set.body));
});

test('a user without permission is refused', async () => {
  const { token } = await api.machine(org.orgId);
  const { code, stderr } = await runMuster(['users', 'list'], { env: { ...env, MUSTER_TOKEN: token } });
  assert.equal(code, 4);
  assert.match(stderr, /who has the role/);
});
