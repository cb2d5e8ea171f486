/** Users of Rails Devise: columns of its modules, peppers, and the second factor. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import type { Person } from '../../../src/sources/entry.ts';
import { UsageError } from '../../../src/sources/read/records.ts';
import type { Fields } from '../../../src/sources/source.ts';
import { devise } from '../../../src/sources/systems/devise.ts';
import { assertRefused, assertVerifies, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(devise, record);
const AT = '2024-03-01T09:00:00.000Z';
const HASH = bcrypt.hashSync('correct hörse', 4).replace('$2b$', '$2a$');
const ANN = { id: 1, email: 'ann@example.com', encrypted_password: HASH };

describe('a user of Devise', () => {
  it('is converted with custom columns, except those of Devise and secrets', () => {
    const person = convert({
      ...ANN,
      username: 'ann',
      first_name: 'Ann',
      last_name: 'Ash',
      admin: false,
      reset_password_token: 'x',
      reset_password_sent_at: AT,
      remember_created_at: AT,
      sign_in_count: 3,
      current_sign_in_ip: '192.0.2.1',
      confirmation_token: 'x',
      confirmed_at: AT,
      confirmation_sent_at: AT,
      unconfirmed_email: null,
      failed_attempts: 0,
      unlock_token: null,
      locked_at: null,
      authentication_token: 'x',
      created_at: AT,
      updated_at: AT,
    });
    assert.deepEqual(person, {
      userId: '1',
      userName: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Ash',
      hash: HASH,
      links: [],
      metadata: { admin: false },
      notes: [],
    });
    assertVerifies(person.hash, 'correct hörse');
  });

  it('has an address of unknown verification without Confirmable, and an unverified one if the column is empty', () => {
    assert.equal(convert(ANN).emailVerified, undefined);
    assert.equal(convert({ ...ANN, confirmed_at: null }).emailVerified, false);
    assert.equal(convert({ ...ANN, confirmed_at: '' }).emailVerified, false);
    assert.equal(convert({ ...ANN, confirmed_at: '\\N' }).emailVerified, false);
    assert.equal(convert({ ...ANN, confirmed_at: '2024-03-01 09:00:00' }).emailVerified, true);
  });

  it('keeps the confirmed address while another one is pending', () => {
    const person = convert({ ...ANN, confirmed_at: AT, unconfirmed_email: 'new@example.com' });
    assert.equal(person.email, 'ann@example.com');
    assert.deepEqual(noteIds(person), ['EMAIL-CHANGE-DROPPED']);
  });

  it('is locked, inactive or skipped as in the application', () => {
    assert.equal(convert({ ...ANN, locked_at: AT }).state, 'locked');
    assert.equal(convert({ ...ANN, locked_at: AT, active: false }).state, 'inactive');
    for (const column of ['deleted_at', 'discarded_at']) {
      assert.ok('skip' in devise.converter({})({ ...ANN, [column]: AT }));
      assert.equal(convert({ ...ANN, [column]: null }).userId, '1');
    }
  });

  it('of OmniAuth has a link and no password; `email` is not a provider', () => {
    const person = convert({ ...ANN, encrypted_password: '', provider: 'google_oauth2', uid: '100' });
    assert.equal(person.hash, undefined);
    assert.deepEqual(person.links, [{ provider: 'google_oauth2', externalUserId: '100' }]);
    assert.deepEqual(convert({ ...ANN, provider: 'email', uid: 'ann@example.com' }).links, []);
  });
});

describe('a hash of Devise', () => {
  const withConfig = (hashConfig: string) => devise.converter({ hashConfig })(ANN) as Person;

  it('made with a pepper is rejected by name, however the pepper is configured', () => {
    for (const config of ['pepper: abc\n', "  config.pepper = 'abc'", '{"pepper":"abc"}']) {
      const person = withConfig(config);
      assert.equal(person.hash, '$devise-pepper$');
      assert.deepEqual(noteIds(person), ['HASH-PEPPERED']);
      assert.ok(!JSON.stringify(person).includes('abc'));
    }
  });

  it('needs a pepper in the given file', () => {
    for (const config of ['', 'pepper:', 'abc']) assert.throws(() => withConfig(config), UsageError);
  });

  it('that is a bare digest is rejected by name', () => {
    assertRefused(convert({ ...ANN, encrypted_password: 'a'.repeat(128), password_salt: 'x' }), '$devise-encryptable$');
    assertRefused(convert({ ...ANN, encrypted_password: 'a'.repeat(32) }), '$devise-encryptable$');
  });
});

describe('a second factor of Devise', () => {
  it('is imported if it is enabled and in plain text', () => {
    const secret = { otp_secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' };
    assert.equal(convert({ ...ANN, ...secret, otp_required_for_login: true }).totp, secret.otp_secret);
    assert.equal(convert({ ...ANN, ...secret }).totp, secret.otp_secret);
    assert.equal(convert({ ...ANN, ...secret, otp_required_for_login: 'f' }).totp, undefined);
  });

  it('that is encrypted is noted', () => {
    const encrypted = { otp_secret: '{"p":"abc","h":{"iv":"x"}}' };
    assert.deepEqual(noteIds(convert({ ...ANN, ...encrypted })), ['SECOND-FACTOR-LOST']);
    const old = { encrypted_otp_secret: 'x', otp_required_for_login: true };
    assert.deepEqual(noteIds(convert({ ...ANN, ...old })), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(noteIds(convert({ ...ANN, otp_required_for_login: false })), []);
  });
});

describe('recognizing Devise', () => {
  it('uses its columns, and does not match GoTrue, which has similar ones', () => {
    assert.equal(devise.recognizes({ ...ANN, remember_created_at: null }, 'json'), 0.95);
    assert.equal(devise.recognizes(ANN, 'csv'), 0.6);
    assert.equal(devise.recognizes({ ...ANN, raw_user_meta_data: {} }, 'json'), 0);
    assert.equal(devise.recognizes({ id: 1, email: 'a@example.com', password_digest: 'x' }, 'csv'), 0);
  });
});
