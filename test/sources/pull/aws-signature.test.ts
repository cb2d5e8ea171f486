/** Signature version 4, by the vectors of AWS's own test suite. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { awsSignature } from '../../../src/sources/pull/http.ts';

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-examples.html, suite "aws-sig-v4-test-suite"
const KEYS = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const NOW = new Date('2015-08-30T12:36:00Z');

function signed(method: string, headers: Record<string, string>, body: string, sessionToken?: string) {
  const url = new URL('https://example.amazonaws.com/');
  const request = { method, url, headers, body, region: 'us-east-1', service: 'service' };
  return awsSignature(request, { ...KEYS, sessionToken }, NOW);
}

test('requests are signed as AWS does', () => {
  const scope = 'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request';
  for (const [method, signature] of [
    ['GET', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['POST', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  ] as const) {
    assert.deepEqual(signed(method, {}, ''), {
      'x-amz-date': '20150830T123600Z',
      authorization: `${scope}, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    });
  }
  // post-x-www-form-urlencoded
  const form = signed('POST', { 'content-type': 'application/x-www-form-urlencoded' }, 'Param1=value1');
  assert.match(form.authorization ?? '', /=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a$/);
});

test('a session token is sent and signed', () => {
  const headers = signed('GET', {}, '', 'temporary');
  assert.equal(headers['x-amz-security-token'], 'temporary');
  assert.match(headers.authorization ?? '', /SignedHeaders=host;x-amz-date;x-amz-security-token/);
});
