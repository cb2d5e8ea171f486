/** Which requests count as attempts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAttempt } from '../../../src/signin/login/attempts.ts';

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
