import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { credential, notesOf, personOf } from './converted.ts';

describe('Keycloak: second factors', () => {
  const usual = { subType: 'totp', digits: 6, counter: 0, period: 30, algorithm: 'HmacSHA1' };
  const otp = (data: Fields, value: string) => credential(data, { value }, { type: 'otp' });

  it('are the bytes of the text, and base32 only if the export says so', () => {
    assert.equal(
      personOf({ credentials: [otp(usual, 'JBSWY3DPEHPK3PXPAAAA')] }).totp,
      'JJBFGV2ZGNCFARKIKBFTGUCYKBAUCQKB',
    );
    const encoded = otp({ ...usual, secretEncoding: 'BASE32' }, 'JBSWY3DPEHPK3PXPAAAA');
    assert.equal(personOf({ credentials: [encoded] }).totp, 'JBSWY3DPEHPK3PXPAAAA');
    const old = { ...usual, type: 'totp', hashedSaltedValue: 'JBSWY3DPEHPK3PXPAAAA' };
    assert.equal(personOf({ credentials: [old] }).totp, 'JJBFGV2ZGNCFARKIKBFTGUCYKBAUCQKB');
  });

  it('keep their parameters and labels, and there may be several', () => {
    const value = 'JBSWY3DPEHPK3PXPAAAA';
    const secret = 'JJBFGV2ZGNCFARKIKBFTGUCYKBAUCQKB';
    const app = (other: Fields, more: Fields = {}) => ({ ...otp({ ...usual, ...other }, value), ...more });
    const strong = app({ digits: 8, period: 60, algorithm: 'HmacSHA256' }, { userLabel: 'Tablet' });
    assert.deepEqual(personOf({ credentials: [strong] }).totps, [
      { secret, algorithm: 'SHA256', digits: 8, period: 60, name: 'Tablet' },
    ]);
    const second = otp({ ...usual, algorithm: 'HmacSHA512' }, 'another key of twenty bytes');
    assert.deepEqual(
      personOf({ credentials: [app({}, { userLabel: 'Phone' }), second] }).totps?.map(({ name, algorithm }) => [
        name,
        algorithm,
      ]),
      [
        ['Phone', undefined],
        [undefined, 'SHA512'],
      ],
    );
    assert.deepEqual(notesOf({ credentials: [strong, second] }), []);
  });

  it('that have no counterpart are dropped and noted', () => {
    const value = 'JBSWY3DPEHPK3PXPAAAA';
    const others = [
      { digits: 7 },
      { period: 5 },
      { algorithm: 'HmacMD5' },
      { subType: 'hotp' },
      { secretEncoding: 'HEX' },
    ];
    for (const other of others) {
      const credentials = [otp({ ...usual, ...other }, value)];
      assert.equal(personOf({ credentials }).totp, undefined);
      assert.deepEqual(notesOf({ credentials }), ['SECOND-FACTOR-LOST']);
    }
    assert.deepEqual(notesOf({ credentials: [otp(usual, 'short')] }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ totp: true }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ credentials: [{ type: 'webauthn' }] }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ credentials: [{ type: 'webauthn-passwordless' }] }), ['PASSKEY-LOST']);
    assert.deepEqual(notesOf({ credentials: [{ type: 'recovery-authn-codes' }] }), ['RECOVERY-CODES-LOST']);
    assert.deepEqual(notesOf({ credentials: [{ type: 'of-an-extension' }] }), ['CREDENTIAL-DROPPED']);
  });
});
