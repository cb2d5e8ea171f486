/** A guess, the report of an import and an entry to correct hide the values of the same names. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { columnsOf } from '../../src/imports/drafts/guess.ts';
import { withholdSecrets } from '../../src/imports/entries/secrets.ts';
import { shownEntry } from '../../src/imports/repair/entry.ts';
import { isSecretName } from '../../src/sources/values.ts';

const SECRET = 'tr0ub4dor';
const NAMES = [
  ...['password', 'userPassword', 'PASS-WORD', 'Passwort', 'passwd', 'pass_code', 'passphrase', 'pwd', 'user_pwd'],
  ...['secret', 'clientSecret', 'token', 'remember_token', 'otp', 'otpCode', 'app_otp', 'totp', 'userotpcode'],
  ...['two_factor', 'twoFactor', '2fa', 'wp_2fa_code', 'recovery_codes', 'recoveryCode', 'api_key', 'apiKey'],
  ...['customer_key', 'salt', 'user_salt', 'nonce', 'login_nonce_a', 'pw', 'PW', 'user_pw', 'userPw', 'pw1'],
  ...['pass', 'user-pass', 'mailPass', 'passw', 'pword', 'psw', 'pswd', 'userSalt'],
];
const OTHERS = [
  ...['shoe_size', 'key', 'keyboard', 'announced', 'carbon_footprint', 'spotPrice'],
  ...['passport_no', 'passenger', 'bypasses', 'upward', 'pwa_installed'],
];

for (const name of NAMES) {
  test(`${name} is hidden in a guess, in a report and in an entry to correct`, () => {
    const [column] = columnsOf([{ [name]: SECRET }]);
    assert.deepEqual(column, [name, [{ hidden: 'secret' }]]);
    const reported = { user: { [name]: SECRET } };
    withholdSecrets(reported);
    assert.ok(!JSON.stringify(reported).includes(SECRET));
    const shown = shownEntry({ user: { metadata: [{ key: name, value: SECRET }] } });
    assert.ok(JSON.stringify(shown).includes(name) && !JSON.stringify(shown).includes(SECRET));
  });
}

test('a column that is named after the hash of a password does not become metadata', () => {
  for (const name of ['pw_hash', 'passHash', 'pwhash', 'passhash']) assert.ok(isSecretName(name), name);
});

test('other names are shown', () => {
  for (const name of OTHERS) {
    assert.equal(isSecretName(name), false, name);
    assert.deepEqual(columnsOf([{ [name]: 'x' }]), [[name, [{ text: 'x' }]]]);
    const reported = { user: { [name]: 'x' } };
    withholdSecrets(reported);
    assert.deepEqual(reported, { user: { [name]: 'x' } });
    const metadata = [{ key: name, value: 'x' }];
    assert.deepEqual(shownEntry({ user: { metadata } }), { user: { metadata } });
  }
});

test('a report returns fields that only sound like a secret', () => {
  const user = { hashedPassword: { value: 'x' }, passwordChangeRequired: true, requestPasswordlessRegistration: true };
  const reported = structuredClone(user);
  withholdSecrets(reported);
  assert.deepEqual(reported, user);
});
