/** A security key as the second factor on the sign-in page: asked for after the password, and for its own user only. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { addVerified } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { type AnswerOptions, passkey } from '../../support/passkeys.ts';
import { hiddenOf, type Shown } from '../pages/visitor.ts';
import { audited, ORIGIN, openPage, optionsOf, RP_ID, reached, storePasskey } from './holder.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0', LOCK_AFTER_FAILURES: '0' };
  api = await startApi({ env: { ...env, BASE_URL: ORIGIN } });
  org = await api.setupOrg();
});
after(() => api.stop());

let made = 0;

async function holder(rpId = RP_ID) {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  const key = passkey(`security key ${++made}`, { rpId, signCount: 7 });
  await storePasskey(api, userId, key, { passwordless: false });
  return { userId, key };
}

/** The page after the right password. */
async function asked(userId: string) {
  const open = await openPage(api);
  const fields = { ...hiddenOf(open.page, 'password'), loginName: userId, password: PASSWORD };
  const page = await open.by.post(open.path, fields);
  const challenge = String(optionsOf(page).challenge);
  const send = (answer: unknown): Promise<Shown> =>
    open.by.post(open.path, { ...hiddenOf(page, 'code'), answer: JSON.stringify(answer) });
  return { open, page, challenge, send };
}

it('is asked for after the password, and completes the sign-in', async () => {
  const { userId, key } = await holder();
  const { open, page, challenge, send } = await asked(userId);
  assert.equal(page.status, 200);
  assert.match(page.text, /<h1>Use your security key<\/h1>/);
  assert.match(page.headers.get('content-security-policy') ?? '', / script-src 'self';/);
  const { allowCredentials } = optionsOf(page) as { allowCredentials: { id: string }[] };
  assert.deepEqual(
    allowCredentials.map(({ id }) => id),
    [key.credentialId],
  );
  const sent = await send(key.assertion({ challenge }, { origin: ORIGIN, userVerified: false }));
  assert.ok(await reached(open, sent));
  const [{ amr }] = (await audited(api, userId, 'user.signin.succeeded')) as [{ amr: string[] }];
  assert.deepEqual(amr, ['pwd', 'hwk', 'mfa']);
});

const ANSWERS: Record<string, Partial<AnswerOptions>> = {
  'of another origin': { origin: 'https://evil.example' },
  'with the hash of another RP id': { rpId: 'evil.example' },
  'to a challenge of its own': { challenge: Buffer.alloc(32, 7).toString('base64url') },
  'without user presence': { userPresent: false },
  'signed by another key': { signedBy: passkey('eve') },
  'with a count that does not grow': { signCount: 7 },
};
for (const [name, how] of Object.entries(ANSWERS)) {
  it(`is refused: an answer ${name}`, async () => {
    const { userId, key } = await holder();
    const { challenge, send } = await asked(userId);
    const sent = await send(key.assertion({ challenge }, { origin: ORIGIN, ...how }));
    assert.deepEqual([sent.status, /Your security key was not accepted/.test(sent.text)], [400, true]);
    assert.deepEqual(await audited(api, userId, 'user.signin.succeeded'), []);
  });
}

it('is refused: the key of somebody else, an answer a second time, and to the challenge of another sign-in', async () => {
  const [ann, bob] = [await holder(), await holder()];
  const first = await asked(ann.userId);
  const other = await first.send(bob.key.assertion(first, { origin: ORIGIN }));
  assert.equal(other.status, 400);
  const second = await asked(ann.userId);
  assert.equal((await second.send(ann.key.assertion(first, { origin: ORIGIN }))).status, 400);
  const answer = ann.key.assertion(first, { origin: ORIGIN });
  assert.equal((await first.send(answer)).status, 303);
  const third = await asked(ann.userId);
  assert.equal((await third.send(answer)).status, 400);
  assert.equal((await third.send(null)).status, 400);
});

it('that was made for another RP id is still demanded, and its administrator can help', async () => {
  const { userId } = await holder('old.example.org');
  const { page } = await asked(userId);
  assert.deepEqual([page.status, /Your administrator can help/.test(page.text)], [400, true]);
});
