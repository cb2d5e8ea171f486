/** All hashers that Clerk documents, in the documented form. */
import assert from 'node:assert/strict';
import { createCipheriv, hash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import { clerk } from '../../../src/sources/systems/clerk.ts';
import { assertRefused, assertVerifies, noteIds, personOf } from '../people.ts';

const PASSWORD = 'correct hörse';
const SALT = Buffer.from('0123456789abcdef');

const hashed = (password_hasher: string, password_digest: string) =>
  personOf(clerk, { id: 'user_1', primary_email_address: 'a@example.com', password_digest, password_hasher });

const pbkdf2 = (digest: string, salt: string | Buffer, bytes: number) =>
  pbkdf2Sync(PASSWORD, salt, 1000, bytes, digest);

function firebaseDigest(): string {
  const signer = Buffer.alloc(64, 0xfb);
  const separator = Buffer.from([7]);
  const key = scryptSync(PASSWORD, Buffer.concat([SALT, separator]), 32, { N: 256, r: 8, p: 1 });
  const made = createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(signer).toString('base64url');
  return `${made}$${SALT.toString('base64')}$${signer.toString('base64')}$${separator.toString('base64')}$8$8`;
}

describe('a digest of Clerk', () => {
  it('in bcrypt, bcrypt of Django, LDAP or phpass is taken unchanged', () => {
    assertVerifies(hashed('bcrypt', bcrypt.hashSync(PASSWORD, 4)).hash, PASSWORD);
    assertVerifies(hashed('', bcrypt.hashSync(PASSWORD, 4)).hash, PASSWORD);
    const django = `bcrypt_sha256$${bcrypt.hashSync(hash('sha256', PASSWORD, 'hex'), 4)}`;
    assertVerifies(hashed('bcrypt_sha256_django', django).hash, PASSWORD);
    const sha1 = hash('sha1', Buffer.concat([Buffer.from(PASSWORD), SALT]), 'buffer');
    assertVerifies(hashed('ldap_ssha', `{SSHA}${Buffer.concat([sha1, SALT]).toString('base64')}`).hash, PASSWORD);
    assertVerifies(hashed('phpass', '$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0').hash, 'test12345');
  });

  it('in argon2 is taken unchanged', () => {
    // Examples in Clerk's documentation, which does not state their passwords.
    const examples = {
      argon2i:
        '$argon2i$v=19$m=4096,t=3,p=1$4t6CL3P7YiHBtwESXawI8Hm20zJj4cs7/4/G3c187e0$m7RQFczcKr5bIR0IIxbpO2P0tyrLjf3eUW3M3QSwnLc',
      argon2id: '$argon2id$v=19$m=64,t=4,p=8$Z2liZXJyaXNo$iGXEpMBTDYQ8G/71tF0qGjxRHEmR3gpGULcE93zUJVU',
    };
    for (const [hasher, digest] of Object.entries(examples)) assert.equal(hashed(hasher, digest).hash, digest);
  });

  it('of pbkdf2_sha256 has its salt in base64, of pbkdf2_sha256_django as text, with the same prefix', () => {
    const made = (salt: string | Buffer) => pbkdf2('sha256', salt, 32).toString('base64');
    const text = 'c2Vhc2FsdA==';
    assertVerifies(
      hashed('pbkdf2_sha256', `pbkdf2_sha256$1000$${text}$${made(Buffer.from(text, 'base64'))}`).hash,
      PASSWORD,
    );
    assertVerifies(hashed('pbkdf2_sha256_django', `pbkdf2_sha256$1000$${text}$${made(text)}`).hash, PASSWORD);
  });

  it('of pbkdf2_sha512 has its salt as text, of pbkdf2_sha512_hex in hex', () => {
    const text = `pbkdf2_sha512$1000$sea$alt$${pbkdf2('sha512', 'sea$alt', 64).toString('hex')}`;
    assertVerifies(hashed('pbkdf2_sha512', text).hash, PASSWORD);
    const hex = `pbkdf2_sha512_hex$1000$${SALT.toString('hex')}$${pbkdf2('sha512', SALT, 64).toString('hex')}`;
    assertVerifies(hashed('pbkdf2_sha512_hex', hex).hash, PASSWORD);
  });

  it('of pbkdf2_sha1 has its salt in hex or else as text, and optionally the length of the key', () => {
    const made = (salt: string | Buffer, bytes: number) => pbkdf2('sha1', salt, bytes).toString('hex');
    assertVerifies(hashed('pbkdf2_sha1', `pbkdf2_sha1$1000$${SALT.toString('hex')}$${made(SALT, 32)}`).hash, PASSWORD);
    assertVerifies(hashed('pbkdf2_sha1', `pbkdf2_sha1$1000$seasalt$${made('seasalt', 32)}`).hash, PASSWORD);
    assertVerifies(hashed('pbkdf2_sha1', `pbkdf2_sha1$1000$seasalt$${made('seasalt', 20)}$20`).hash, PASSWORD);
  });

  it('of Firebase contains its parameters', () => {
    assertVerifies(hashed('scrypt_firebase', firebaseDigest()).hash, PASSWORD);
  });

  it('of werkzeug is its own text, or the form that Clerk documents', () => {
    const made = scryptSync(PASSWORD, 'seasalt', 64, { N: 1024 });
    assertVerifies(hashed('scrypt_werkzeug', `scrypt:1024:8:1$seasalt$${made.toString('hex')}`).hash, PASSWORD);
    assertVerifies(hashed('scrypt_werkzeug', `$scrypt:1024:8:1$seasalt$${made.toString('base64')}`).hash, PASSWORD);
  });

  it('of MD5 and SHA-256 verifies without a salt, and with one plus a note about its order', () => {
    assertVerifies(hashed('md5', hash('md5', PASSWORD, 'hex')).hash, PASSWORD);
    assertVerifies(hashed('sha256', hash('sha256', PASSWORD, 'hex')).hash, PASSWORD);
    for (const algorithm of ['md5', 'sha256']) {
      const person = hashed(`${algorithm}_salted`, `sea$alt$${hash(algorithm, `sea$alt${PASSWORD}`, 'hex')}`);
      assertVerifies(person.hash, PASSWORD);
      assert.deepEqual(noteIds(person), ['CLERK-SALT-ORDER']);
    }
  });

  it('of Symfony verifies', () => {
    const made = hash('sha512', `${PASSWORD}{seasalt}`, 'buffer').toString('base64');
    assertVerifies(hashed('sha512_symfony', `sha512_symfony$1$seasalt$${made}`).hash, PASSWORD);
    assertRefused(hashed('sha512_symfony', made), '$sha512-symfony$');
  });

  it('that cannot be verified is rejected by name', () => {
    const text = bcrypt.hashSync(PASSWORD, 4);
    const refused = {
      bcrypt_peppered: [`${text}$pepper`, '$bcrypt-peppered$'],
      hmac_sha256_utf16_b64: ['c2VjcmV0', '$hmac-sha256-utf16$'],
      md5_phpass: ['$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0', '$md5-phpass$'],
      whirlpool: ['c2VjcmV0', '$whirlpool$'],
      bcrypt: ['c2VjcmV0', '$bcrypt$'],
      pbkdf2_sha256: ['pbkdf2_sha256$x$y$z', '$pbkdf2-sha256$'],
      pbkdf2_sha1: ['pbkdf2_sha1$1000$00$00ff$32', '$pbkdf2-sha1$'],
      scrypt_firebase: ['a$b$c', '$scrypt-firebase$'],
      scrypt_werkzeug: ['what', '$scrypt-werkzeug$'],
      md5_salted: ['nosalt', '$md5-salted$'],
      sha256: ['§', '$sha256$'],
      [text]: ['a hash where the name should be', '$unknown$'],
    };
    for (const [hasher, [digest, name]] of Object.entries(refused))
      assertRefused(hashed(hasher, digest ?? ''), name ?? '');
    assertRefused(hashed('', 'c2VjcmV0'), '$unknown$');
  });

  it('that is still in Cognito gives no password', () => {
    const person = hashed('awscognito', 'awscognito#eu-west-1_x#client#ann');
    assert.equal(person.hash, undefined);
    assert.deepEqual(noteIds(person), ['CLERK-PASSWORD-IN-COGNITO']);
  });
});
