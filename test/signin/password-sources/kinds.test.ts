/** The kinds of password sources that are asked over HTTP: what each of their answers means. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { newWebhookSecret, signatureHeaders } from '../../../src/messages/webhooks/signature.ts';
import { notTold, type SourceAnswer } from '../../../src/signin/password-sources/answer.ts';
import { checkCognito } from '../../../src/signin/password-sources/cognito.ts';
import { checkHttp } from '../../../src/signin/password-sources/http.ts';
import { checkOauthPassword } from '../../../src/signin/password-sources/oauth-password.ts';
import { startCognito } from '../../support/cognito.ts';
import { startPasswordGrant } from '../../support/password-grant.ts';

const PASSWORD = 'correct horse é &+%';
const OPTIONS = { timeoutMs: 5000, allowPrivate: true };
const told = (answer: SourceAnswer) =>
  answer.result === 'unavailable' ? answer.reason : `${answer.result}${'mustChange' in answer ? ', must change' : ''}`;

describe('an endpoint of your own', () => {
  const seen: { headers: Record<string, unknown>; body: string }[] = [];
  let next = { status: 200, body: '' };
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    seen.push({ headers: req.headers, body: Buffer.concat(chunks).toString() });
    if (next.status > 0) res.writeHead(next.status, { location: '/yes' }).end(next.body);
  });
  let url: string;
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const secret = newWebhookSecret();
  const user = { id: '4711', email: 'ann@example.com' };
  const ask = async (status: number, body: unknown, options = OPTIONS) => {
    next = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
    return told(await checkHttp({ url, secret }, { name: 'ann', password: PASSWORD, user }, options));
  };

  it('says yes or no by the field "valid" alone', async () => {
    assert.equal(await ask(200, { valid: true }), 'yes');
    assert.equal(await ask(200, { valid: true, passwordChangeRequired: true }), 'yes, must change');
    assert.equal(await ask(200, { valid: false }), 'no');
    for (const body of ['', 'true', '<html>Sign in</html>', { valid: 'true' }, { valid: 1 }, [true], null]) {
      assert.equal(await ask(200, body), 'answered 200 without the field "valid"', JSON.stringify(body));
    }
  });

  it('counts as down when it does not work at all, not for a fault that one password causes', () => {
    const down = [403, 429, 500, 501, 502, 503, 504].filter((status) => {
      const answer = notTold(status);
      return answer.result === 'unavailable' && answer.isDown;
    });
    assert.deepEqual(down, [502, 503, 504]);
  });

  it('is unavailable with any other status, with a redirect, and without an answer', async () => {
    for (const status of [201, 302, 401, 403, 404, 429, 500, 503]) {
      assert.equal(await ask(status, { valid: true }), `answered ${status}`);
    }
    assert.equal(await ask(0, '', { ...OPTIONS, timeoutMs: 100 }), 'no answer in time');
    assert.equal(
      await ask(200, { valid: true }, { ...OPTIONS, allowPrivate: false }),
      'the URL must start with https://',
    );
  });

  it('gets the name and the password in a message that is signed as a webhook', async () => {
    seen.length = 0;
    await ask(200, { valid: true });
    const [{ headers, body } = { headers: {}, body: '' }] = seen;
    assert.deepEqual(JSON.parse(body), {
      userName: 'ann',
      password: PASSWORD,
      userId: '4711',
      email: 'ann@example.com',
    });
    const at = Number(headers['webhook-timestamp']) * 1000;
    const signed = signatureHeaders(secret, { id: String(headers['webhook-id']), at, body });
    assert.equal(headers['webhook-signature'], signed['webhook-signature']);
  });

  it('gives other token endpoints their meaning', async () => {
    const settings = { tokenUrl: url, clientId: 'c', clientAuth: 'post', audience: 'a', realm: 'Users' } as const;
    const check = { name: 'ann', password: PASSWORD };
    const judge = async (status: number, body: unknown) => {
      next = { status, body: JSON.stringify(body) };
      return told(await checkOauthPassword(settings, check, OPTIONS));
    };
    const entra = (...codes: number[]) => judge(400, { error: 'invalid_grant', error_codes: codes });
    assert.equal(await judge(200, { access_token: 'x' }), 'yes');
    assert.equal(await judge(200, { hello: 'there' }), 'answered 200 without a token');
    assert.equal(await entra(50126), 'no');
    assert.equal(await entra(50034), 'no');
    assert.equal(await entra(50076), 'yes', 'the second factor is next');
    assert.equal(await entra(50053), 'answered 400 (AADSTS50053)', 'locked there');
    assert.equal(await judge(400, { error: 'invalid_grant', error_description: 'Account is not fully set up' }), 'yes');
    assert.equal(await judge(401, { error: 'invalid_grant', error_description: 'Invalid user credentials' }), 'no');
    assert.equal(await judge(400, { error: 'change_password_required' }), 'yes, must change');
    for (const error of ['invalid_client', 'unauthorized_client', 'invalid_request', 'too_many_attempts']) {
      assert.equal(await judge(401, { error }), `answered 401 (${error})`);
    }
    assert.equal(await judge(503, { error: PASSWORD }), 'answered 503', 'nothing is repeated that may be a secret');
    const sent = new URLSearchParams(seen.at(-1)?.body);
    assert.deepEqual(
      ['grant_type', 'username', 'password', 'client_id', 'audience', 'realm'].map((name) => sent.get(name)),
      ['http://auth0.com/oauth/grant-type/password-realm', 'ann', PASSWORD, 'c', 'a', 'Users'],
    );
  });
});

it('an authorization server verifies passwords with the password grant', async (t) => {
  const { stop, tokenUrl, clientId, clientSecret } = await startPasswordGrant({ ann: PASSWORD });
  t.after(stop);
  const basic = { tokenUrl, clientId, clientSecret, clientAuth: 'basic', scope: 'openid' } as const;
  const ask = async (settings: Parameters<typeof checkOauthPassword>[0], name: string, password: string) =>
    told(await checkOauthPassword(settings, { name, password }, OPTIONS));
  for (const settings of [basic, { ...basic, clientId: 'posting', clientAuth: 'post' } as const]) {
    assert.equal(await ask(settings, 'ann', PASSWORD), 'yes');
    assert.equal(await ask(settings, 'ann', 'wrong'), 'no');
    assert.equal(await ask(settings, 'bob', PASSWORD), 'no');
    assert.equal(await ask(settings, 'mfa', PASSWORD), 'yes');
    assert.equal(await ask({ ...settings, clientSecret: 'wrong' }, 'ann', PASSWORD), 'answered 401 (invalid_client)');
  }
});

it('a user pool of Cognito verifies passwords', async (t) => {
  const { stop, ...pool } = await startCognito({
    ann: { password: PASSWORD },
    mfa: { password: PASSWORD, challenge: 'SOFTWARE_TOKEN_MFA' },
    temporary: { password: PASSWORD, challenge: 'NEW_PASSWORD_REQUIRED' },
    custom: { password: PASSWORD, challenge: 'CUSTOM_CHALLENGE' },
    reset: { password: PASSWORD, error: 'PasswordResetRequiredException' },
    unconfirmed: { password: PASSWORD, error: 'UserNotConfirmedException' },
    throttled: { password: PASSWORD, error: 'TooManyRequestsException' },
  });
  t.after(stop);
  const settings = { region: 'eu-central-1', ...pool };
  const ask = async (name: string, password = PASSWORD, change = {}) =>
    told(await checkCognito({ ...settings, ...change }, { name, password }, OPTIONS));
  assert.equal(await ask('ann'), 'yes');
  assert.equal(await ask('mfa'), 'yes');
  assert.equal(await ask('temporary'), 'yes, must change');
  assert.equal(await ask('ann', 'wrong'), 'no');
  assert.equal(await ask('mfa', 'wrong'), 'no');
  assert.equal(await ask('nobody'), 'no');
  assert.equal(await ask('reset'), 'no');
  assert.equal(await ask('unconfirmed'), 'no');
  assert.equal(await ask('custom'), 'answered with an unknown challenge (CUSTOM_CHALLENGE)');
  assert.equal(await ask('throttled'), 'answered 400 (TooManyRequestsException)');
  assert.equal(await ask('ann', PASSWORD, { clientSecret: 'wrong' }), 'answered 400 (NotAuthorizedException)');
  assert.equal(await ask('ann', PASSWORD, { clientId: 'wrong' }), 'answered 400 (ResourceNotFoundException)');
});
