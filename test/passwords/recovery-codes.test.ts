import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  hashedCodes,
  newRecoveryCodes,
  type RecoveryCode,
  recoveryProblem,
  storedCodes,
  withoutCode,
} from '../../src/passwords/recovery-codes.ts';
import { makeHash, verifyHash } from '../../src/passwords/registry.ts';

const verify = async (hash: string, plain: string) => verifyHash(hash, plain);
const keycloak = (code: string) => ({
  hash: createHash('sha512').update(code).digest('base64'),
  scheme: 'keycloak-sha512',
});

describe('recovery codes', () => {
  it('are made in tens, all different, of letters that look unlike each other', () => {
    const { shown, text } = newRecoveryCodes();
    assert.equal(new Set(shown).size, 10);
    for (const code of shown) assert.match(code, /^[A-HJ-NP-Z2-9]{5}-[A-HJ-NP-Z2-9]{5}$/);
    for (const code of shown) assert.equal(text.includes(code) || text.includes(code.replace('-', '')), false);
  });

  it('are right without regard to case, blanks and hyphens, and each only once', async () => {
    const { shown, text } = newRecoveryCodes();
    const [first = '', second = ''] = shown;
    const used = await withoutCode(text, ` ${first.toLowerCase().replace('-', ' ')} `, verify);
    assert.equal(used?.left, 9);
    assert.equal(await withoutCode(used?.text ?? '', first, verify), undefined);
    assert.equal((await withoutCode(used?.text ?? '', second.replace('-', ''), verify))?.left, 8);
    for (const wrong of ['', ' - ', 'AAAAA-AAAAA', first.slice(1), 'A'.repeat(101)]) {
      assert.equal(await withoutCode(text, wrong, verify), undefined, wrong);
    }
  });

  it('of Keycloak are right in any order, as they are printed', async () => {
    const { text, left } = storedCodes([keycloak('ABCDEFGH1234'), keycloak('JKLMNPQR5678')]);
    assert.equal(left, 2);
    const used = await withoutCode(text, 'jklm-npqr-5678', verify);
    assert.equal(used?.left, 1);
    assert.equal((await withoutCode(used?.text ?? '', 'ABCD-EFGH-1234', verify))?.left, 0);
  });

  it('with hashes of password schemes are right as they were hashed, with hyphens or without', async () => {
    const { text } = storedCodes(['12345678', 'abcd-efgh'].map((code) => ({ hash: makeHash(code, 4), scheme: 'mcf' })));
    assert.equal((await withoutCode(text, '1234 5678', verify))?.left, 1);
    assert.equal((await withoutCode(text, 'abcd-efgh', verify))?.left, 1);
    assert.equal(await withoutCode(text, '12345679', verify), undefined);
  });

  it('hashed twice, with two salts or in two schemes, are used once', async () => {
    const hashed = ['12345678', '12345678', 'abcdefgh'].map((code) => ({ hash: makeHash(code, 4), scheme: 'mcf' }));
    const { text } = storedCodes([...hashed, keycloak('12345678')]);
    const used = await withoutCode(text, '1234-5678', verify);
    assert.equal(used?.left, 1);
    assert.equal(await withoutCode(used?.text ?? '', '12345678', verify), undefined);
    assert.equal((await withoutCode(used?.text ?? '', 'abcdefgh', verify))?.left, 0);
  });

  it('given twice are one code', async () => {
    const { text, left } = storedCodes(['abcd-efgh-1', 'ABCDEFGH1', keycloak('A'), keycloak('A')]);
    assert.equal(left, 2);
    const used = await withoutCode(text, 'abcdefgh1', verify);
    assert.equal(await withoutCode(used?.text ?? '', 'abcdefgh1', verify), undefined);
  });

  it('can be reported and imported again', async () => {
    const again = hashedCodes(storedCodes(['7bq4-x2mk-9rt3', keycloak('ABCDEFGH1234')]).text);
    assert.equal(recoveryProblem(again), undefined);
    const { text, left } = storedCodes(again);
    assert.equal(left, 2);
    assert.equal((await withoutCode(text, '7BQ4X2MK9RT3', verify))?.left, 1);
  });

  it('that can be guessed or checked by nobody are refused, and are not quoted', () => {
    const bcrypt = (cost: number) => ({ hash: `$2b$${cost}$abcdefghijklmnopqrstuu${'a'.repeat(31)}`, scheme: 'mcf' });
    const cases: [RecoveryCode[], RegExp | undefined][] = [
      [['1234567890', 'h7Gk2Lm'], undefined],
      [['123456'], /^the code at index 0 can be guessed/],
      [['h7gk2lm9', '12345678'], /^the code at index 1 can be guessed/],
      [['deadbeef'], undefined],
      [['dead-bee'], /can be guessed/],
      [['1111111111111'], /can be guessed/],
      [[' - '], /is empty/],
      [['x'.repeat(101)], /longer than 100/],
      [Array.from({ length: 31 }, (_, i) => `abcdefgh${i}`), /at most 30/],
      [[{ hash: 'AAAA', scheme: 'keycloak-sha512' }], /base64 of 64 bytes/],
      [[{ hash: 'AAAA', scheme: 'muster-sha256' }], /a salt/],
      [[{ hash: 'AAAA', scheme: 'rot13' }], /unknown scheme/],
      [[{ hash: '$2b$99$x', scheme: 'mcf' }], /cannot be checked: bcrypt/],
      [Array.from({ length: 16 }, () => bcrypt(10)), undefined],
      [Array.from({ length: 17 }, () => bcrypt(10)), /bcrypt with cost 14/],
      [[bcrypt(14)], undefined],
      [[bcrypt(15)], /bcrypt with cost 14/],
    ];
    for (const [codes, problem] of cases) {
      const found = recoveryProblem(codes);
      if (problem) assert.match(found ?? '', problem, JSON.stringify(codes));
      else assert.equal(found, undefined, JSON.stringify(codes));
      for (const code of codes) {
        if (typeof code === 'string' && code.trim().length > 3) assert.equal(found?.includes(code) ?? false, false);
      }
    }
  });
});
