/** The authenticator of the tests answers as real ones do: the library that Muster verifies with takes its answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import {
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { launchBrowser, type TestBrowser } from '../../support/browser.ts';
import {
  type AnswerOptions,
  type AssertionAnswer,
  type Passkey,
  type PasskeyAlgorithm,
  passkey,
  virtualAuthenticator,
} from '../../support/passkeys.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';

const ALGORITHMS: PasskeyAlgorithm[] = ['ES256', 'EdDSA', 'RS256'];
const ORIGIN = 'https://auth.example.com';
const RP_ID = 'auth.example.com';
const challenge = Buffer.from('a challenge of thirty-two bytes!').toString('base64url');

function verify(key: Passkey, response: AssertionAnswer, origin = ORIGIN, rpId = RP_ID) {
  const { credentialId: id, publicKey, signCount } = key.record();
  return verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    credential: { id, publicKey: Buffer.from(publicKey, 'base64url'), counter: Math.max(signCount - 1, 0) },
  });
}

for (const algorithm of ALGORITHMS) {
  test(`an answer with ${algorithm} is taken, and its record is the same each time`, async () => {
    const key = passkey('ann', { algorithm, rpId: RP_ID, userHandle: 'ann', signCount: 7 });
    assert.deepEqual(
      key.record(),
      passkey('ann', { algorithm, rpId: RP_ID, userHandle: 'ann', signCount: 7 }).record(),
    );
    const { verified, authenticationInfo } = await verify(key, key.assertion({ challenge }, { origin: ORIGIN }));
    assert.equal(verified, true);
    assert.equal(authenticationInfo.newCounter, 8);
    assert.equal(authenticationInfo.userVerified, true);
  });

  test(`a new passkey with ${algorithm} is taken with the key of its record`, async () => {
    const key = passkey('bob', { algorithm, rpId: RP_ID });
    const options = await generateRegistrationOptions({
      ...{ rpName: 'Acme', rpID: RP_ID, userName: 'bob', userID: Buffer.from('bob') as Uint8Array<ArrayBuffer> },
      challenge: Buffer.from(challenge, 'base64url') as Uint8Array<ArrayBuffer>,
    });
    const response = key.register(options as Parameters<Passkey['register']>[0], { origin: ORIGIN });
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: response as Parameters<typeof verifyRegistrationResponse>[0]['response'],
      expectedChallenge: challenge,
      expectedOrigin: ORIGIN,
      expectedRPID: RP_ID,
    });
    assert.equal(verified, true);
    assert.equal(registrationInfo?.credential.id, key.credentialId);
    assert.equal(
      Buffer.from(registrationInfo?.credential.publicKey ?? []).toString('base64url'),
      key.record().publicKey,
    );
    assert.equal(key.record().userHandle, Buffer.from('bob').toString('base64url'));
  });
}

const DISHONEST: Record<string, Omit<AnswerOptions, 'origin'> & { origin?: string }> = {
  'another origin': { origin: 'https://evil.example' },
  'another RP id': { rpId: 'evil.example' },
  'another challenge': { challenge: Buffer.from('another').toString('base64url') },
  'another type': { type: 'webauthn.create' },
  'without user verification': { userVerified: false },
  'without user presence': { userPresent: false },
};
for (const [name, answer] of Object.entries(DISHONEST)) {
  test(`a dishonest answer is refused: ${name}`, async () => {
    const key = passkey('ann', { rpId: RP_ID });
    await assert.rejects(verify(key, key.assertion({ challenge }, { origin: ORIGIN, ...answer })));
  });
}

test("an answer that another passkey has signed is not that passkey's", async () => {
  const key = passkey('ann', { rpId: RP_ID });
  const answer = key.assertion({ challenge }, { origin: ORIGIN, signedBy: passkey('eve') });
  assert.equal((await verify(key, answer)).verified, false);
});

let browser: TestBrowser | undefined;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser?.close());

test('Chromium answers with the same passkeys, with each algorithm', async (t) => {
  if (!requireOrSkip(t, 'chromium') || !browser) return;
  const server = createServer((_req, res) => res.setHeader('content-type', 'text/html').end('<title>A page</title>'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const page = await browser.openPage(t);
  const authenticator = await virtualAuthenticator(page);
  await page.goto(origin);
  for (const algorithm of ALGORITHMS) {
    const key = passkey('in a browser', { algorithm, userHandle: algorithm, signCount: 3 });
    await authenticator.add(key);
    assert.ok((await authenticator.credentialIds()).includes(key.credentialId));
    const allowCredentials = [{ id: key.credentialId, type: 'public-key' }];
    const options = { challenge, rpId: 'localhost', allowCredentials, userVerification: 'required' };
    const answer = await page.evaluate(async (asked) => {
      // biome-ignore lint/suspicious/noExplicitAny: what runs in the browser has its own types.
      const { PublicKeyCredential, navigator } = globalThis as any;
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(asked);
      return (await navigator.credentials.get({ publicKey })).toJSON();
    }, options);
    const { verified, authenticationInfo } = await verify(key, answer as AssertionAnswer, origin, 'localhost');
    assert.equal(verified, true);
    assert.ok(authenticationInfo.newCounter > 3);
  }
});
