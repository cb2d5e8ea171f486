/** The grammar of formulas: what people write down, and the one form in which hashes contain it. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { formulaText, parseFormula } from '../../src/passwords/formula.ts';
import { usesWholePassword, verifyHash, workOf } from '../../src/passwords/registry.ts';

function read(text: string): string {
  const formula = parseFormula(text);
  return typeof formula === 'string' ? formula : formulaText(formula.outer, 9);
}

test('formulas are read as people write them', () => {
  const same: [text: string, formula: string][] = [
    ['sha256(salt + password)', 'sha256(salt+password)'],
    ['sha1($salt . sha1($password))', 'sha1(salt+sha1(password))'],
    ["MD5(password || ':' || salt)", "md5(password+':'+salt)"],
    ['SHA-512( password+salt )', 'sha512(password+salt)'],
    ['pbkdf2-sha256(rounds, salt, hex)', 'pbkdf2-sha256(9,salt,password)'],
    ['PBKDF2_SHA512(password, salt, iterations)', 'pbkdf2-sha512(9,salt,password)'],
    ['pbkdf2-sha1(1000, unhex(salt))', 'pbkdf2-sha1(1000,unhex(salt),password)'],
    ['hmac-sha256(salt, password)', 'hmac-sha256(salt,password)'],
    ['sha256(1024, salt + password)', 'sha256(1024,salt+password)'],
    ['upper(hex(sha1(password)))', 'sha1(password)'],
    ['base64(sha1(unbase64(salt) + utf16(password)))', 'sha1(unbase64(salt)+utf16(password))'],
    ["sha1('-- $' + password)", "sha1(x'2d2d2024'+password)"],
    ['bcrypt(md5(password))', 'bcrypt(md5(password))'],
    ['argon2(base64(sha512(password)))', 'argon2(base64(sha512(password)))'],
    ['bcrypt(bcrypt(password))', 'bcrypt(bcrypt(password))'],
    ['crypt(password | md5(password))', 'crypt(password|md5(password))'],
  ];
  for (const [text, formula] of same) {
    assert.equal(read(text), formula);
    assert.equal(read(formula), formula, 'a formula in a hash is read as the same');
  }
});

test('what cannot be a formula is told', () => {
  const wrong: [text: string, problem: RegExp][] = [
    ['', /a word such as password or salt is missing/],
    ['sha1(password | salt)', /closing parenthesis is missing/],
    ['foo(password)', /there is no function "foo"/],
    ['sha1(pepper + password)', /the word "pepper" is not known/],
    ['sha1(password', /closing parenthesis is missing/],
    ['sha1(password) + salt', /outermost part must be a digest/],
    ['password', /outermost part must be a digest/],
    ['sha1(password) x', /something follows its end/],
    ['sha1(salt)', /does not contain the password/],
    ['sha1(salt, password)', /takes another number of arguments/],
    ['hmac-sha256(password)', /takes another number of arguments/],
    ['pbkdf2-sha256(salt)', /needs the rounds/],
    ['lower(9, password)', /no such number of rounds/],
    ['sha1(raw(password))', /raw takes a digest/],
    ['sha1(unhex(password))', /unhex takes the salt/],
    ['sha1(bcrypt(password))', /bcrypt must be the outermost/],
    ['bcrypt(raw(sha1(password)))', /bcrypt takes text/],
    ['sha1(password + "a)', /character \d+ cannot be read/],
    [`${'md5('.repeat(9)}password${')'.repeat(9)}`, /more than 8 functions/],
    [`sha1('${'a'.repeat(200)}' + password)`, /longer than 200 characters/],
  ];
  for (const [text, problem] of wrong) assert.match(parseFormula(text) as string, problem, text);
});

test('a salt that is hexadecimal or base64 is tried as it is written and decoded, which costs twice as much', () => {
  const [digest, salt] = [Buffer.alloc(32, 1), Buffer.from('00112233aabbccdd')].map((one) => one.toString('base64'));
  const of = (rounds: number, used: string) => `$formula$sha256(${rounds},${used}+password)$${salt}$${digest}`;
  assert.equal(workOf(of(10_000, 'salt')), 2 * workOf(of(10_000, 'unhex(salt)')));
  assert.equal(verifyHash(of(1_000_000, 'salt'), 'any'), false);
});

test('where either of several texts may have been hashed, the work is counted for each', () => {
  const hash = `$2b$10$${'.'.repeat(53)}`;
  assert.equal(workOf(`$formula$crypt(password|md5(password)|sha1(password))$$${hash}`), 3 * workOf(hash));
  assert.equal(usesWholePassword(`$formula$crypt(md5(password)|password)$$${hash}`, 'p'.repeat(73)), false);
});

test('bcrypt of a digest sees the whole password, bcrypt of the password with something does not', () => {
  const hash = `$2b$04$${'.'.repeat(53)}`;
  const long = 'p'.repeat(73);
  for (const formula of ['bcrypt(md5(password))', "bcrypt('a'+base64(sha512(password)))"])
    assert.equal(usesWholePassword(`$formula$${formula}$$${hash}`, long), true, formula);
  for (const formula of ['bcrypt(password)', "bcrypt(password+'a')", 'bcrypt(bcrypt(password))'])
    assert.equal(usesWholePassword(`$formula$${formula}$$${hash}`, long), false, formula);
  assert.equal(usesWholePassword(`$formula$bcrypt('a'+password)$$${hash}`, 'p'.repeat(72)), false);
});
