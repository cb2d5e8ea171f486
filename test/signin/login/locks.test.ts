/** Locks over HTTP: nobody locks a person out from another network, and a lock reveals nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { limitRepeats } from '../../../src/platform/logger.ts';
import { attemptKeys } from '../../../src/signin/login/delays.ts';
import { type Answer, badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { addClient, hiddenOf, visitor } from '../pages/visitor.ts';

const RIGHT = 'correct horse';
const LOCKED = [429, 8, 'SESSION-FAILURES'];
const WRONG = [400, 3, 'SESSION-CREDENTIALS'];

describe('ten anonymous attempts', () => {
  let api: TestApi;
  let org: SetUp;
  let clientId: string;
  const lines: string[] = [];
  before(async () => {
    const hooks = { logMethod: limitRepeats({ everyMs: 3_600_000 }) };
    const logger = pino({ hooks }, { write: (line) => void lines.push(line) });
    api = await startApi({ env: { LOGIN_DELAY_MS: '0', TRUST_PROXY: '1', RATE_LIMIT_LOGINS: '0' }, logger });
    org = await api.setupOrg();
    clientId = await addClient(api);
  });
  after(() => api.stop());

  const attacker = { headers: { 'x-forwarded-for': '198.51.100.66' } };
  const person = { headers: { 'x-forwarded-for': '203.0.113.7' } };
  const logIn = (user: object, password: string, options: object) =>
    api.call('POST', '/v2beta/sessions', { checks: { user, password: { password } } }, options);
  const problem = ({ status, body }: Answer) => [status, body.code, body.details[0].id];

  it('lock what was entered there, for right and wrong passwords and unknown users alike, and nobody elsewhere', async () => {
    const answers = [];
    for (const user of [{ userId: org.userId }, { loginName: unique('nobody') }]) {
      for (let i = 0; i < 10; i++) assert.deepEqual(problem(await logIn(user, `wrong ${i}`, attacker)), WRONG);
      for (const password of ['wrong', RIGHT]) answers.push(await logIn(user, password, attacker));
    }
    for (const answer of answers) {
      assert.deepEqual(problem(answer), LOCKED);
      const retryAfter = Number(answer.headers.get('retry-after'));
      assert(retryAfter > 0 && retryAfter <= 60);
      const message = `Too many failed attempts to log in as this user. Try again in ${retryAfter} seconds.`;
      assert.equal(answer.body.message, message);
    }
    assert.equal((await logIn({ userId: org.userId }, RIGHT, person)).status, 201);
    const { user } = (await api.call('GET', `/v2beta/users/${org.userId}`)).body;
    assert.equal(user.state, 'USER_STATE_ACTIVE');
  });

  it('are written to the log as one line, without what was entered', () => {
    const locked = lines.filter((line) => line.includes('login locked for a time'));
    assert.equal(locked.length, 1);
    assert(!locked[0]?.includes(org.userId));
  });

  it('end by themselves, after twice the time when it goes on', async () => {
    const { userId } = await api.setupOrg();
    for (let i = 0; i < 10; i++) await logIn({ userId }, 'wrong', attacker);
    await api.deps.pool.query(`update login_delays set open_at = now() where open_at > now()`);
    assert.deepEqual(problem(await logIn({ userId }, 'wrong', attacker)), WRONG);
    const locked = await logIn({ userId }, RIGHT, attacker);
    assert.deepEqual(problem(locked), LOCKED);
    assert(Number(locked.headers.get('retry-after')) > 60);
    await api.deps.pool.query(`update login_delays set open_at = now() where open_at > now()`);
    assert.equal((await logIn({ userId }, RIGHT, attacker)).status, 201);
  });

  it('end in every network when a manager unlocks the active user, without a change of the state', async () => {
    const { userId } = await api.setupOrg();
    const networks = [attacker, person];
    for (const network of networks) {
      for (let i = 0; i < 10; i++) await logIn({ userId }, 'wrong', network);
      assert.deepEqual(problem(await logIn({ userId }, RIGHT, network)), LOCKED);
    }
    assert.equal((await api.call('POST', `/v2beta/users/${userId}/unlock`, {})).status, 200);
    for (const network of networks) assert.equal((await logIn({ userId }, RIGHT, network)).status, 201);
    const { user } = (await api.call('GET', `/v2beta/users/${userId}`)).body;
    assert.equal(user.state, 'USER_STATE_ACTIVE');
    const again = await api.call('POST', `/v2beta/users/${userId}/unlock`, {});
    assert.deepEqual(problem(again), [400, 9, 'USER-STATE-ACTIVE']);
  });

  it('through one back end or the login page do not lock the user for another', async () => {
    const { userId, orgId, userName } = await api.setupOrg();
    const { token } = await api.machine(orgId, ['ORG_USER_MANAGER']);
    const page = visitor(api);
    const path = await page.begin(clientId);
    const fields = hiddenOf(await page.get(path), 'password');
    const send = (password: string) => page.post(path, { ...fields, loginName: userName, password }, person.headers);
    for (let i = 0; i < 10; i++) assert.equal((await send('wrong')).status, 400);
    const paused = await send(RIGHT);
    assert.equal(paused.status, 429);
    assert.match(String(paused.headers.get('retry-after')), /^\d+$/);
    assert.match(paused.text, /Please wait before you try again/);
    for (let i = 0; i < 10; i++) await logIn({ loginName: userName }, 'wrong', { ...person, token });
    assert.deepEqual(problem(await logIn({ loginName: userName }, RIGHT, { ...person, token })), LOCKED);
    assert.equal((await logIn({ loginName: userName }, RIGHT, person)).status, 201);
    assert.equal((await logIn({ userId }, RIGHT, { ...person, token })).status, 201);
  });

  it('through many programs, with many addresses and names, count together, and leave open what is known', async () => {
    const { userId, orgId, userName } = await api.setupOrg();
    const { body } = await api.call('GET', `/v2beta/users/${userId}`);
    const names = [{ userId }, { loginName: userName }, { loginName: body.user.preferredLoginName }];
    const backEnd = (await api.machine(orgId, ['ORG_USER_MANAGER'])).token;
    const at = (token: string, user: object, ip: string, password: string) =>
      api.call('POST', '/v2beta/sessions', { checks: { user, password: { password } }, userAgent: { ip } }, { token });
    assert.equal((await at(backEnd, { userId }, '203.0.113.7', RIGHT)).status, 201);
    let guesses = 0;
    for (let n = 0; n < 24; n++) {
      const { token } = await api.machine(orgId, ['ORG_USER_MANAGER']);
      for (let i = 0; i < 10; i++) {
        const answer = await at(token, names[n % 3] as object, `192.0.2.${n}`, `wrong ${n} ${i}`);
        if (answer.status === 400) guesses++;
        else assert.deepEqual(problem(answer), LOCKED);
      }
    }
    assert.equal(guesses, 100);
    assert.deepEqual(problem(await at(backEnd, { userId }, '203.0.113.8', RIGHT)), LOCKED);
    assert.equal((await at(backEnd, { userId }, '203.0.113.7', RIGHT)).status, 201);
    // The login page has its own counts.
    const page = visitor(api);
    const path = await page.begin(clientId);
    const fields = hiddenOf(await page.get(path), 'password');
    const sent = await page.post(path, { ...fields, loginName: userName, password: RIGHT }, person.headers);
    assert.equal(sent.status, 303);
  });

  it('through many programs count together for unknown users too', async () => {
    const { orgId } = await api.setupOrg();
    const user = { loginName: unique('nobody') };
    let guesses = 0;
    for (let n = 0; n < 12; n++) {
      const { token } = await api.machine(orgId, ['ORG_USER_MANAGER']);
      for (let i = 0; i < 10; i++) if (problem(await logIn(user, 'wrong', { token }))[0] === 400) guesses++;
    }
    assert.equal(guesses, 100);
  });

  it('through each of many programs of another organization do not lock the user', async () => {
    const [victim, hostile] = [await api.setupOrg(), await api.setupOrg()];
    const { here, everywhere } = attemptKeys(api.deps.secrets, victim, { network: '198.51.100.66' });
    for (let n = 0; n < 2; n++) {
      const { token } = await api.machine(hostile.orgId, ['ORG_USER_MANAGER']);
      const options = { ...attacker, token };
      for (let i = 0; i < 10; i++) await logIn({ userId: victim.userId }, 'wrong', options);
      assert.deepEqual(problem(await logIn({ userId: victim.userId }, RIGHT, options)), LOCKED);
    }
    const counts = 'select from login_delays where bucket = any($1)';
    assert.equal((await api.deps.pool.query(counts, [[here, everywhere]])).rowCount, 0, 'not even counted');
  });

  it('through a back end lock only the address of the person that it names', async () => {
    const { userId } = await api.setupOrg();
    const at = (ip: string, password: string) =>
      api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } }, userAgent: { ip } });
    for (let i = 0; i < 10; i++) assert.deepEqual(problem(await at('198.51.100.66', 'wrong')), WRONG);
    assert.deepEqual(problem(await at('198.51.100.66', RIGHT)), LOCKED);
    assert.equal((await at('2001:db8::7', RIGHT)).status, 201);
    assert.equal((await logIn({ userId }, RIGHT, {})).status, 201);
    assert.deepEqual(badFieldsOf(await at('home', RIGHT)), ['userAgent.ip']);
  });

  it('from each of many networks leave open the one from which the person has logged in lately', async () => {
    const { userId } = await api.setupOrg();
    assert.equal((await logIn({ userId }, RIGHT, person)).status, 201);
    const from = (n: number) => ({ headers: { 'x-forwarded-for': `192.0.2.${n}` } });
    for (let n = 1; n <= 10; n++) {
      for (let i = 0; i < 10; i++) assert.deepEqual(problem(await logIn({ userId }, 'wrong', from(n))), WRONG);
    }
    assert.deepEqual(problem(await logIn({ userId }, RIGHT, from(11))), LOCKED);
    assert.equal((await logIn({ userId }, RIGHT, person)).status, 201);
    const password = { newPassword: { password: 'battery staple' } };
    assert.equal((await api.call('POST', `/v2beta/users/${userId}/password`, password)).status, 200);
    assert.equal((await logIn({ userId }, 'battery staple', from(11))).status, 201, 'a new password ends the locks');
  });

  it('with the current password lock that check too', async () => {
    const { userId } = await api.setupOrg();
    const change = (currentPassword: string) => {
      const body = { newPassword: { password: 'battery staple' }, currentPassword };
      return api.call('POST', `/v2beta/users/${userId}/password`, body);
    };
    for (let i = 0; i < 10; i++) assert.equal(errorId(await change('wrong')), 'PASSWORD-CURRENT');
    assert.deepEqual(problem(await change(RIGHT)), LOCKED);
    const body = { password: { password: { password: 'battery staple' }, currentPassword: RIGHT } };
    assert.deepEqual(problem(await api.call('PUT', `/v2beta/users/human/${userId}`, body)), LOCKED);
  });
});
