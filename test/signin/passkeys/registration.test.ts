/** Adding, listing, naming and removing passkeys over the API, by link, and what nobody can do for others. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, addVerified, eventsOf, humanRow, tokenOf } from '../../directory/users/people.ts';
import { type Answer, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { type AnswerOptions, type Passkey, passkey } from '../../support/passkeys.ts';
import { visitor } from '../pages/visitor.ts';
import { holdPasskey, ORIGIN, openPage, optionsOf, RP_ID, reached, storePasskey } from './holder.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' };
  api = await startApi({ env: { ...env, BASE_URL: ORIGIN } });
  org = await api.setupOrg();
});
after(() => api.stop());

const problem = (answer: Answer) => `${answer.status} ${errorId(answer)}`;
const path = (userId: string, rest = '') => `/v2beta/users/${encodeURIComponent(userId)}/passkeys${rest}`;
const begin = (userId: string, token: string | undefined, body: object = {}) =>
  api.call('POST', path(userId), body, token === undefined ? {} : { token });
const list = async (userId: string) => (await api.call('POST', path(userId, '/_search'), {})).body.result;

interface Begun {
  userId: string;
  token: string;
  answer: Answer;
}

async function begun(userId: string): Promise<Begun> {
  const token = await tokenOf(api, userId);
  const answer = await begin(userId, token);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { userId, token, answer };
}

function finish({ userId, token, answer }: Begun, key: Passkey, how: Partial<AnswerOptions> = {}, name = 'Phone') {
  const { passkeyId, publicKeyCredentialCreationOptions: options } = answer.body;
  const publicKeyCredential = key.register(options, { origin: ORIGIN, ...how });
  return api.call('POST', path(userId, `/${passkeyId}`), { publicKeyCredential, passkeyName: name }, { token });
}

async function mailsOf(userId: string): Promise<string[]> {
  const { rows } = await api.deps.pool.query('select kind from mail_outbox where user_id = $1 order by id', [userId]);
  return rows.map(({ kind }) => kind);
}

let made = 0;
const newKey = () => passkey(`new ${++made}`, { rpId: RP_ID });

describe('a passkey of the own account', () => {
  it('is added, signs in, is named and removed; the address is told', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const start = await begun(userId);
    const options = start.answer.body.publicKeyCredentialCreationOptions;
    assert.deepEqual(options.rp.id, RP_ID);
    assert.equal(Buffer.from(options.user.id, 'base64url').toString(), userId);
    assert.equal(options.attestation, 'none');
    const key = newKey();
    const added = await finish(start, key);
    assert.deepEqual([added.status, Object.keys(added.body)], [200, ['details']]);
    const [one, ...others] = await list(userId);
    assert.deepEqual(others, []);
    assert.equal(one.id, start.answer.body.passkeyId);
    assert.deepEqual([one.name, one.isUsable, one.lastUseDate], ['Phone', true, null]);
    const open = await openPage(api);
    assert.ok(await reached(open, await open.use(key)));

    const named = await api.call('PUT', path(userId, `/${one.id}`), { passkeyName: 'Laptop' }, { token: start.token });
    assert.equal(named.status, 200);
    assert.equal((await list(userId))[0].name, 'Laptop');
    const again = await begun(userId);
    const excluded = again.answer.body.publicKeyCredentialCreationOptions.excludeCredentials;
    assert.deepEqual(
      excluded.map(({ id }: { id: string }) => id),
      [key.credentialId],
    );
    const removed = await api.call('DELETE', path(userId, `/${one.id}`), {}, { token: start.token });
    assert.equal(removed.status, 200);
    assert.deepEqual(await list(userId), []);
    assert.deepEqual(await mailsOf(userId), ['passkey_added', 'passkey_removed']);
    assert.deepEqual(await eventsOf(api, userId), [
      'user.human.passkey.added',
      'user.human.passkey.named',
      'user.human.passkey.removed',
    ]);
    for (const call of [
      await api.call('DELETE', path(userId, `/${one.id}`), {}, { token: start.token }),
      await api.call('PUT', path(userId, `/${one.id}`), { passkeyName: 'x' }, { token: start.token }),
    ]) {
      assert.equal(problem(call), '404 PASSKEY-NOT-FOUND');
    }
  });

  it('needs a recent sign-in or the password; with a second factor a recent sign-in', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const old = await tokenOf(api, userId, 3600);
    assert.equal(problem(await begin(userId, old)), '401 AUTH-SIGN-IN-AGAIN');
    assert.equal(problem(await begin(userId, old, { currentPassword: 'wrong' })), '400 PASSWORD-CURRENT');
    assert.equal((await begin(userId, old, { currentPassword: PASSWORD })).status, 200);
    await storePasskey(api, userId, newKey(), { passwordless: false });
    assert.equal(problem(await begin(userId, old, { currentPassword: PASSWORD })), '401 AUTH-SIGN-IN-AGAIN');
    assert.equal((await begin(userId, await tokenOf(api, userId))).status, 200);
  });

  it('is added by who lost a second factor in a move with the password and a code, and ends that', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const lost = `select lost_at is not null as lost from user_factors where user_id = $1`;
    await api.deps.pool.query('insert into user_factors (user_id, lost_at) values ($1, now())', [userId]);
    const token = await tokenOf(api, userId);
    assert.equal(problem(await begin(userId, token)), '400 FACTOR-LOST');
    assert.equal(problem(await begin(userId, token, { currentPassword: PASSWORD })), '400 FACTOR-LOST');
    const mail = `select code_id as id from mail_outbox where user_id = $1 and kind = 'confirm_change'`;
    const mailedCode = api.deps.secrets.code((await api.deps.pool.query(mail, [userId])).rows[0].id, 0);
    const answer = await begin(userId, token, { currentPassword: PASSWORD, mailedCode });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((await api.deps.pool.query(lost, [userId])).rows[0].lost, true);
    assert.equal((await finish({ userId, token, answer }, newKey())).status, 200);
    assert.equal((await api.deps.pool.query(lost, [userId])).rows[0].lost, false);
  });

  it('cannot be removed if it is the last way in', async () => {
    const userId = await addHuman(api, org.orgId);
    await api.deps.pool.query(`update users set state = 'active' where id = $1`, [userId]);
    const token = await tokenOf(api, userId);
    await holdPasskey(api, userId);
    const [one] = await list(userId);
    assert.equal(problem(await api.call('DELETE', path(userId, `/${one.id}`), {}, { token })), '400 LAST-WAY-IN');
    await storePasskey(api, userId, passkey(`foreign of ${userId}`, { rpId: 'old.example.org' }));
    assert.equal(problem(await api.call('DELETE', path(userId, `/${one.id}`), {}, { token })), '400 LAST-WAY-IN');
    await holdPasskey(api, userId);
    assert.equal((await api.call('DELETE', path(userId, `/${one.id}`), {}, { token })).status, 200);
    const [, left] = await list(userId);
    assert.equal((await api.call('DELETE', path(userId, `/${left.id}`), {})).status, 200, 'an administrator may');
  });

  it('has limits, and belongs to the domain of the service', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const token = await tokenOf(api, userId);
    assert.equal(problem(await begin(userId, token, { domain: 'evil.example' })), '400 PASSKEY-UNAVAILABLE');
    assert.equal((await begin(userId, token, { domain: `login.${RP_ID}` })).status, 200);
    const start = await begun(userId);
    await api.deps.pool.query(
      `insert into user_passkeys (credential_id, user_id, public_key, rp_id)
       select sha256(($1 || n)::bytea), $1, '', $2 from generate_series(1, 50) n`,
      [userId, RP_ID],
    );
    assert.equal(problem(await begin(userId, token)), '400 PASSKEY-MOST');
    assert.equal(problem(await finish(start, newKey())), '400 PASSKEY-MOST');
  });
});

describe('what must fail when a passkey is added', () => {
  const ANSWERS: Record<string, Partial<AnswerOptions>> = {
    'of another origin': { origin: 'https://evil.example' },
    'to a challenge of its own': { challenge: Buffer.alloc(32, 7).toString('base64url') },
    'without user verification': { userVerified: false },
    'without user presence': { userPresent: false },
    'of another type': { type: 'webauthn.get' },
  };
  for (const [name, how] of Object.entries(ANSWERS)) {
    it(`an answer ${name}`, async () => {
      const start = await begun(await addVerified(api, org.orgId, PASSWORD));
      assert.equal(problem(await finish(start, newKey(), how)), '400 PASSKEY-NOT-ACCEPTED');
      assert.deepEqual(await list(start.userId), []);
    });
  }

  it('an answer a second time, the answer of somebody else, and one for another passkey that was begun', async () => {
    const [mine, theirs] = [
      await begun(await addVerified(api, org.orgId, PASSWORD)),
      await begun(await addVerified(api, org.orgId, PASSWORD)),
    ];
    const mixed = { ...mine, answer: { ...mine.answer, body: { ...theirs.answer.body } } };
    assert.equal(problem(await finish(mixed, newKey())), '400 PASSKEY-NOT-ACCEPTED');
    const next = await begun(mine.userId);
    const crossed = {
      ...mine,
      answer: { ...mine.answer, body: { ...next.answer.body, passkeyId: mine.answer.body.passkeyId } },
    };
    assert.equal(problem(await finish(crossed, newKey())), '400 PASSKEY-NOT-ACCEPTED');
    assert.equal((await finish(mine, newKey())).status, 200);
    assert.equal(problem(await finish(mine, newKey())), '400 PASSKEY-NOT-ACCEPTED');
  });

  it('a credential id that somebody has', async () => {
    const key = await holdPasskey(api, await addVerified(api, org.orgId, PASSWORD));
    const start = await begun(await addVerified(api, org.orgId, PASSWORD));
    assert.equal(problem(await finish(start, key)), '409 PASSKEY-TAKEN');
  });

  it('a passkey for somebody else, also by an administrator, an owner and a manager', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const start = await begun(userId);
    const owner = await api.machine(org.orgId, ['ORG_OWNER']);
    const other = await tokenOf(api, await addVerified(api, org.orgId, PASSWORD));
    for (const token of [api.token, owner.token, other]) {
      assert.equal((await begin(userId, token)).status, 403);
      assert.equal((await finish({ ...start, token }, newKey())).status, 403);
      assert.equal((await api.call('PUT', path(userId, '/x'), { passkeyName: 'x' }, { token })).status, 403);
    }
    const answer = await begin(owner.userId, owner.token);
    assert.equal(problem(answer), '400 USER-NOT-HUMAN');
    const link = await api.call('POST', path(userId, '/registration_link'), { returnCode: {} });
    assert.equal(problem(link), '400 PASSKEY-LINK-INVALID', 'the code is never returned');
  });
});

describe('a link to add a passkey', () => {
  const send = (userId: string, body: object = { sendLink: {} }) =>
    api.call('POST', path(userId, '/registration_link'), body);

  async function codeOf(userId: string): Promise<string> {
    const text = `select id, generation from codes where user_id = $1 and purpose = 'add_passkey' order by id desc limit 1`;
    const { rows } = await api.deps.pool.query(text, [userId]);
    return api.deps.secrets.code(rows[0].id, rows[0].generation);
  }

  const address = (userId: string, code: string) => `/ui/passkey?${new URLSearchParams({ userId, code })}`;

  it('lets a new user add one, who is active then with a verified address; it works once', async () => {
    const userId = await addHuman(api, org.orgId);
    assert.equal((await send(userId)).status, 200);
    assert.deepEqual(await mailsOf(userId), ['add_passkey']);
    const code = await codeOf(userId);
    const by = visitor(api);
    const page = await by.get(address(userId, code));
    assert.equal(page.status, 200);
    assert.match(page.text, /<form method="post" action="passkey" [^>]*data-new hidden>/);
    assert.match(page.text, /<a href="forgot">Choose a password instead/);
    const key = newKey();
    const answer = (how: Partial<AnswerOptions> = {}) =>
      JSON.stringify(key.register(optionsOf(page) as never, { origin: ORIGIN, ...how }));
    const wrong = await by.post('/ui/passkey', { userId, code, answer: answer({ userVerified: false }) });
    assert.deepEqual([wrong.status, /No passkey was added/.test(wrong.text)], [400, true]);
    const added = await by.post('/ui/passkey', { userId, code, answer: answer() });
    assert.deepEqual([added.status, added.text.includes('Your passkey is added')], [200, true]);
    const { state, email_verified } = await humanRow(api, userId);
    assert.deepEqual([state, email_verified], ['active', true]);
    const open = await openPage(api);
    assert.ok(await reached(open, await open.use(key)));
    assert.equal((await by.get(address(userId, code))).status, 400);
  });

  it('sets a first password as well, where an import invited a user without one', async () => {
    const invited = async () => {
      const userId = await addHuman(api, org.orgId);
      const text = `with code as (
          insert into codes (user_id, purpose, expires_at) values ($1, 'initialise', now() + interval '1 hour') returning id, generation),
        mail as (insert into mail_outbox (kind, user_id, code_id) select 'add_passkey', $1, id from code)
        select id, generation from code`;
      const [row] = (await api.deps.pool.query(text, [userId])).rows;
      return { userId, code: api.deps.secrets.code(row.id, row.generation) };
    };
    const [one, other] = [await invited(), await invited()];
    const by = visitor(api);
    const page = await by.get(address(one.userId, one.code));
    assert.equal(page.status, 200);
    const key = newKey();
    const answer = JSON.stringify(key.register(optionsOf(page) as never, { origin: ORIGIN }));
    assert.equal((await by.post('/ui/passkey', { ...one, answer })).status, 200);
    assert.equal((await humanRow(api, one.userId)).state, 'active');
    const open = await openPage(api);
    assert.ok(await reached(open, await open.use(key)));
    assert.equal((await by.post('/ui/init', { ...one, password: PASSWORD, repeated: PASSWORD })).status, 400);

    const init = /<a href="(init\?[^"]+)">Choose a password instead/.exec(
      (await by.get(address(other.userId, other.code))).text,
    );
    const form = await by.get(`/ui/${init?.[1]?.replaceAll('&amp;', '&')}`);
    assert.deepEqual([form.status, form.text.includes('Choose your password')], [200, true]);
    const chosen = await by.post('/ui/init', { ...other, password: PASSWORD, repeated: PASSWORD });
    assert.equal(chosen.status, 200);
    assert.equal((await by.get(address(other.userId, other.code))).status, 400);
  });

  it('is not sent to who needs more than the mailbox, and does not work for them later', async () => {
    const unverified = await addHuman(api, org.orgId, PASSWORD);
    const locked = await addVerified(api, org.orgId);
    await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [locked]);
    const factor = await addVerified(api, org.orgId, PASSWORD);
    await storePasskey(api, factor, newKey(), { passwordless: false });
    const lost = await addVerified(api, org.orgId, PASSWORD);
    await api.deps.pool.query('insert into user_factors (user_id, lost_at) values ($1, now())', [lost]);
    const company = await addVerified(api, org.orgId);
    await api.deps.pool.query('update users set without_mail_codes = true where id = $1', [company]);
    const off = await api.setupOrg();
    await api.call('PUT', '/management/v1/policies/login', { passkeys: false }, { orgId: off.orgId });
    const without = await addVerified(api, off.orgId);
    for (const userId of [unverified, locked, factor, lost, company, without]) {
      assert.equal(problem(await send(userId)), '400 PASSKEY-LINK-REFUSED');
    }
    const later = await addVerified(api, org.orgId, PASSWORD);
    await send(later);
    const code = await codeOf(later);
    assert.equal((await visitor(api).get(address(later, code))).status, 200);
    await storePasskey(api, later, newKey(), { passwordless: false });
    assert.equal((await visitor(api).get(address(later, code))).status, 400);
  });

  it('tells nobody who has no code anything', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    for (const id of [userId, 'nobody', '']) {
      const page = await visitor(api).get(address(id, 'AAAABBBBCCCC'));
      assert.equal(page.status, 400);
      assert.doesNotMatch(page.text, /data-passkey/);
    }
    await api.deps.pool.query('update users set email = null, email_key = null where id = $1', [userId]);
    assert.equal(problem(await send(userId)), '400 EMAIL-NONE');
    const elsewhere = { sendLink: { urlTemplate: 'https://evil.example/{{.Code}}' } };
    assert.equal(problem(await send(userId, elsewhere)), '400 URL-TEMPLATE-NOT-ALLOWED');
  });
});

describe('requests about passkeys', () => {
  it('name every bad field, and are of people only', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const token = await tokenOf(api, userId);
    const by = { token };
    const one = path(userId, '/none');
    assert.equal(problem(await api.call('PUT', one, { passkeyName: 7 }, by)), '400 PASSKEY-INVALID');
    assert.equal(problem(await api.call('POST', one, { passkeyName: 7 }, by)), '400 PASSKEY-INVALID');
    assert.equal(problem(await api.call('DELETE', one, { currentPassword: 7 }, by)), '400 PASSKEY-INVALID');
    const machine = await api.machine(org.orgId, ['ORG_OWNER']);
    assert.equal(problem(await api.call('POST', path(machine.userId, '/registration_link'), {})), '400 USER-NOT-HUMAN');
    const asked = { publicKeyCredential: { id: 'x' }, passkeyName: 'x' };
    const answer = await api.call('POST', path(machine.userId, '/none'), asked, { token: machine.token });
    assert.equal(problem(answer), '400 USER-NOT-HUMAN');
  });
});
