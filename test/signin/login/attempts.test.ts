/** Which requests count as attempts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { isAttempt } from '../../../src/signin/login/attempts.ts';

test('the operations that are attempts say so, and are POST', () => {
  const written =
    /^(?:\/console\/api)?\/(?:v2beta\/sessions|v2beta\/users\/[^/]+\/(?:email\/verify|email\/resend|phone\/verify|phone\/resend|password|password_reset|totp\/verify|passkeys\/registration_link)|management\/v1\/password_sources\/[^/]+\/_test|management\/v1\/mails\/_sample|admin\/v1\/imports\/[^/]+\/_try_password)\/?$/i;
  for (const { id, path, tries } of OPERATIONS) {
    const [method = '', pattern = ''] = path.split(' ');
    const concrete = pattern.replace(/\{\w+\}/g, 'x');
    const is = (prefix: string) => isAttempt({ method, path: prefix + concrete } as never);
    assert.equal(is(''), method === 'POST' && written.test(concrete), id);
    assert.equal(is('/console/api'), tries === 'always', id);
  }
});

test('attempts with passwords and codes are distinguished from other requests', () => {
  const is = (method: string, path: string) => isAttempt({ method, path } as never);
  for (const path of [
    '/v2beta/sessions',
    '/V2beta/Sessions/',
    '/console/api/v2beta/sessions',
    '/v2beta/users/auth0%7C1/email/verify',
    '/v2beta/users/a/phone/verify',
    '/v2beta/users/a/password',
    '/v2beta/users/a/password_reset',
    '/v2beta/users/a/totp/verify',
    '/admin/v1/imports/7/_try_password',
    '/oauth/v2/token',
    '/ui/login/abc',
    '/ui/reset',
  ]) {
    assert(is('POST', path), path);
    assert(!is('GET', path), path);
  }
  for (const path of [
    '/v2beta/users',
    '/v2beta/users/human',
    '/v2beta/users/a/lock',
    '/oauth/v2/keys',
    '/v2beta/sessionsx',
  ]) {
    assert(!is('POST', path), path);
  }
});
