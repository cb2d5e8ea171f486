/** Signing in with a passkey over HTTP: who gets in, and each attack that must fail. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newChallenge } from '../../../src/signin/webauthn/ceremony.ts';
import { sweepChallenges } from '../../../src/signin/webauthn/store.ts';
import { addHuman, addVerified, humanRow, mailCode } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { type AnswerOptions, type PasskeyAlgorithm, passkey } from '../../support/passkeys.ts';
import { audited, holdPasskey, ORIGIN, openPage, RP_ID, reached, refused, storePasskey } from './holder.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0', LOCK_AFTER_FAILURES: '0' };
  api = await startApi({ env: { ...env, BASE_URL: ORIGIN } });
  org = await api.setupOrg();
});
after(() => api.stop());

const failures = (userId: string) => audited(api, userId, 'user.signin.failed');

describe('a sign-in with a passkey', () => {
  for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as PasskeyAlgorithm[]) {
    it(`needs neither a name nor a password: ${algorithm}`, async () => {
      const userId = await addHuman(api, org.orgId, PASSWORD);
      const key = await holdPasskey(api, userId, { algorithm, signCount: 4 });
      const open = await openPage(api);
      assert.deepEqual(open.options, {
        ...{ challenge: open.challenge, rpId: RP_ID, timeout: 300_000, userVerification: 'required' },
        allowCredentials: [],
      });
      assert.ok(await reached(open, await open.use(key)));
      assert.deepEqual(await audited(api, userId, 'user.signin.succeeded'), [{ amr: ['hwk', 'user', 'mfa'] }]);
      const text =
        'select sign_count::int as n, last_used_at is not null as used from user_passkeys where user_id = $1';
      assert.deepEqual((await api.deps.pool.query(text, [userId])).rows, [{ n: 5, used: true }]);
      assert.equal((await humanRow(api, userId)).email_verified, false);
    });
  }

  it('is two factors, also where the organization requires them', async () => {
    const strict = await api.setupOrg();
    const policy = { forceMfa: true };
    assert.equal((await api.call('PUT', '/management/v1/policies/login', policy, { orgId: strict.orgId })).status, 200);
    const key = await holdPasskey(api, await addVerified(api, strict.orgId, PASSWORD));
    const open = await openPage(api);
    assert.ok(await reached(open, await open.use(key)));
  });

  it('lets a user of an import in who has never signed in, and ends what others began; the address stays unverified', async () => {
    const userId = await addHuman(api, org.orgId);
    await mailCode(api, userId, 'initialise');
    const key = await holdPasskey(api, userId);
    const open = await openPage(api);
    assert.ok(await reached(open, await open.use(key)));
    const { state, email_verified } = await humanRow(api, userId);
    assert.deepEqual([state, email_verified], ['active', false]);
    const text = 'select from codes where user_id = $1 and used_at is null';
    assert.equal((await api.deps.pool.query(text, [userId])).rowCount, 0);
  });

  it('takes an answer without a user handle, and without a stored one', async () => {
    const [ann, bob] = [await addHuman(api, org.orgId, PASSWORD), await addHuman(api, org.orgId, PASSWORD)];
    const key = await holdPasskey(api, ann);
    const open = await openPage(api);
    assert.ok(await reached(open, await open.use(key, { userHandle: null })));
    const old = passkey('without a handle', { rpId: RP_ID });
    await storePasskey(api, bob, old);
    const again = await openPage(api);
    assert.ok(await reached(again, await again.use(old, { userHandle: Buffer.from('old id').toString('base64url') })));
  });

  it('tells who may not sign in why, after the right answer only', async () => {
    for (const [state, title] of [
      ['locked', 'Your account is locked'],
      ['inactive', 'Your account is deactivated'],
    ] as const) {
      const userId = await addVerified(api, org.orgId, PASSWORD);
      const key = await holdPasskey(api, userId);
      await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);
      const open = await openPage(api);
      const stopped = await open.use(key);
      assert.deepEqual([stopped.status, stopped.text.includes(title)], [400, true]);
      refused(await (await openPage(api)).use(key, { origin: 'https://evil.example' }));
    }
  });

  it('is refused where the organization does not allow passkeys, and not offered', async () => {
    const off = await api.setupOrg();
    await api.deps.pool.query(
      `insert into login_policies (org_id, force_mfa, passkeys, sequence) values ($1, false, false, 1)
       on conflict (org_id) do update set passkeys = false`,
      [off.orgId],
    );
    const userId = await addVerified(api, off.orgId, PASSWORD);
    const key = await holdPasskey(api, userId);
    refused(await (await openPage(api)).use(key));
    assert.deepEqual(await failures(userId), [{ reason: 'passkeys_off' }]);
    const { page } = await openPage(api, { scope: `openid urn:service:iam:org:id:${off.orgId}` });
    assert.doesNotMatch(page.text, /data-passkey/);
  });
});

describe('an attack on passkeys', () => {
  const ANSWERS: Record<string, Partial<AnswerOptions>> = {
    'of another origin': { origin: 'https://evil.example' },
    'of another port of our host': { origin: `${ORIGIN}:8443` },
    'with the hash of another RP id': { rpId: 'evil.example' },
    'to a challenge of its own': { challenge: Buffer.alloc(32, 7).toString('base64url') },
    'without user verification': { userVerified: false },
    'without user presence': { userPresent: false },
    'of another type': { type: 'webauthn.create' },
    'signed by another key': { signedBy: passkey('eve') },
    'with the handle of another user': { userHandle: Buffer.from('somebody else').toString('base64url') },
  };
  for (const [name, answer] of Object.entries(ANSWERS)) {
    it(`fails: an answer ${name}`, async () => {
      const userId = await addVerified(api, org.orgId, PASSWORD);
      const key = await holdPasskey(api, userId);
      refused(await (await openPage(api)).use(key, answer));
      assert.deepEqual(await failures(userId), [{ reason: 'wrong_passkey' }]);
      assert.deepEqual(await audited(api, userId, 'user.signin.succeeded'), []);
    });
  }

  it('fails: an answer a second time, also to a page that asked again', async () => {
    const key = await holdPasskey(api, await addVerified(api, org.orgId, PASSWORD));
    const open = await openPage(api);
    const answer = key.assertion(open, { origin: ORIGIN });
    assert.ok(await reached(open, await open.send(answer)));
    const text = 'select from webauthn_challenges where expires_at > now()';
    assert.ok((await api.deps.pool.query(text)).rowCount);
    assert.equal((await open.send(answer)).status, 410, 'the sign-in is over');
    const second = await openPage(api);
    refused(await second.send(answer));
  });

  it('fails: of two answers to one challenge at once, one signs in', async () => {
    const keys = await Promise.all(
      ['one', 'two'].map(async () => holdPasskey(api, await addVerified(api, org.orgId, PASSWORD))),
    );
    const open = await openPage(api);
    const sent = await Promise.all(keys.map((key) => open.use(key)));
    assert.equal(sent.filter(({ status }) => status === 303).length, 1);
  });

  it('fails: an answer to the challenge of another sign-in, another purpose, or of long ago', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const key = await holdPasskey(api, userId);
    const [mine, other] = [await openPage(api), await openPage(api)];
    refused(await mine.send(key.assertion(other, { origin: ORIGIN })));
    const uid = mine.path.split('/').at(-1) as string;
    const { secrets } = api.deps;
    const factor = newChallenge(secrets, { purpose: 'factor', holder: uid });
    refused(await mine.send(key.assertion({ challenge: factor }, { origin: ORIGIN })));
    const old = newChallenge(secrets, { purpose: 'sign_in', holder: uid }, Date.now() - 6 * 60_000);
    refused(await mine.send(key.assertion({ challenge: old }, { origin: ORIGIN })));
    const good = newChallenge(secrets, { purpose: 'sign_in', holder: uid });
    assert.equal((await mine.send(key.assertion({ challenge: good }, { origin: ORIGIN }))).status, 303);
  });

  it('fails: a passkey that was made for another RP id, and one that is only a second factor', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const foreign = passkey('foreign', { rpId: 'old.example.org', userHandle: userId });
    await storePasskey(api, userId, foreign);
    refused(await (await openPage(api)).use(foreign));
    refused(await (await openPage(api)).use(foreign, { rpId: RP_ID }));
    const factor = passkey('a security key', { rpId: RP_ID });
    await storePasskey(api, userId, factor, { passwordless: false });
    refused(await (await openPage(api)).use(factor));
  });

  it('fails: a passkey that nobody here has, and nonsense', async () => {
    refused(await (await openPage(api)).use(passkey('unknown', { rpId: RP_ID })));
    const key = await holdPasskey(api, await addVerified(api, org.orgId, PASSWORD));
    const open = await openPage(api);
    const good = key.assertion(open, { origin: ORIGIN });
    const { response } = good;
    const nonsense: unknown[] = [
      ...[null, 1, 'text', [], {}, { ...good, id: 7 }, { ...good, id: '' }, { ...good, id: 'ä' }],
      ...[
        { ...good, rawId: 'other' },
        { ...good, type: 'password' },
        { ...good, response: null },
      ],
      { ...good, response: { ...response, clientDataJSON: 'e30' } },
      { ...good, response: { ...response, clientDataJSON: 'bm9uc2Vuc2U' } },
      { ...good, response: { ...response, authenticatorData: 'AAAA' } },
      { ...good, response: { ...response, authenticatorData: `${response.authenticatorData}AAAA` } },
      { ...good, response: { ...response, signature: 'AAAA' } },
      { ...good, response: { ...response, signature: '' } },
      { ...good, response: { ...response, userHandle: { a: 1 } } },
    ];
    for (const answer of nonsense) refused(await open.send(answer));
    assert.equal((await open.send(good)).status, 303, 'none of them used the challenge up');
  });

  it('fails: a count of signatures that does not grow, which is audited', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const key = await holdPasskey(api, userId, { signCount: 50 });
    for (const signCount of [50, 49, 0]) refused(await (await openPage(api)).use(key, { signCount }));
    assert.deepEqual(
      (await failures(userId)).map(({ reason }) => reason),
      ['passkey_count_fell'],
    );
    const open = await openPage(api);
    assert.ok(await reached(open, await open.use(key, { signCount: 51 })), 'any increase is accepted');
    const far = await openPage(api);
    assert.ok(await reached(far, await far.use(key, { signCount: 9000 })));
  });

  it('fails: the same credential id for two users', async () => {
    const key = await holdPasskey(api, await addVerified(api, org.orgId, PASSWORD));
    const other = await addVerified(api, org.orgId, PASSWORD);
    await assert.rejects(storePasskey(api, other, key), { code: '23505' });
  });
});

it('challenges that were answered are swept when no answer to them counts any more', async () => {
  const key = await holdPasskey(api, await addVerified(api, org.orgId, PASSWORD));
  const open = await openPage(api);
  assert.ok(await reached(open, await open.use(key)));
  await api.deps.pool.query(`update webauthn_challenges set expires_at = now() - interval '1 second'`);
  assert.ok((await sweepChallenges(api.deps.pool)) > 0);
  assert.equal((await api.deps.pool.query('select from webauthn_challenges')).rowCount, 0);
});

it('the pages load one script of ours, and the page is the same without it', async () => {
  const { page } = await openPage(api);
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(policy, / script-src 'self';/);
  const [, src = ''] = /<script type="module" src="([^"]+)"><\/script>/.exec(page.text) ?? [];
  assert.match(src, /^\/ui\/assets\/[0-9a-f]{16}\/passkey\.ts$/);
  const script = await fetch(api.url + src);
  assert.match(script.headers.get('content-type') ?? '', /^text\/javascript/);
  assert.match(script.headers.get('cache-control') ?? '', /immutable/);
  assert.doesNotMatch(await script.text(), /: HTMLFormElement/);
  assert.equal((await fetch(`${api.url}/ui/assets/0/none.ts`)).status, 404);
  assert.match(page.text, /<form [^>]*data-passkey="[^"]*" data-autofill hidden>/);
});

it('browsers are told the origins whose pages may use the passkeys', async () => {
  const answer = await api.call('GET', '/.well-known/webauthn', undefined, { token: null });
  assert.deepEqual(answer.body, { origins: [ORIGIN] });
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
});
