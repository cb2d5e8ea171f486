/** Passwords of directory entries: which of several is imported, in which form, and which values are not passwords. */
import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import test from 'node:test';
import { hashProblem, verifyHash } from '../../../src/passwords/registry.ts';
import { passwordOf } from '../../../src/sources/systems/ldif.ts';

const SSHA = '{SSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr';
const MD5_CRYPT = '$1$saltsalt$vk1vw.z2SbLyTpnSb9HNs1';

function read(...userpassword: string[]) {
  const { notes, ...rest } = passwordOf({ userpassword });
  return notes === undefined ? rest : { ...rest, notes: notes.map((note) => note.id) };
}

test('a hash is taken unchanged, with its name in any case', () => {
  for (const hash of [SSHA, SSHA.replace('SSHA', 'ssha'), '{ARGON2}$argon2id$x', MD5_CRYPT]) {
    assert.deepEqual(read(hash), { hash });
  }
  assert.deepEqual(read(`{crypt}${MD5_CRYPT}`), { hash: `{CRYPT}${MD5_CRYPT}` });
  assert.deepEqual(read('{CRYPT}X5/DBrWPOQQaI'), { hash: '{CRYPT}X5/DBrWPOQQaI' });
});

test('a plain password is taken', () => {
  for (const clear of ['{CLEARTEXT}so so', '{clear}so so', '{PLAIN}so so', 'so so']) {
    assert.deepEqual(read(clear), { password: 'so so' });
  }
  assert.deepEqual(read('{CLEARTEXT}'), {});
  // It has the form of DES crypt, but a directory would write {CRYPT} before that.
  assert.deepEqual(read('CorrectHorse2'), { password: 'CorrectHorse2' });
  // These are not names of schemes.
  for (const password of ['{', '{}x', '{two words}', 'x{SSHA}x', ' lead'])
    assert.deepEqual(read(password), { password });
});

test('an absent password, or one that another system checks, is not imported', () => {
  assert.deepEqual(read(), {});
  assert.deepEqual(read(''), {});
  for (const other of ['{SASL}ann@EXAMPLE.COM', '{KERBEROS}ann', '{crypt}*', '{CRYPT}!!', '{CRYPT}x', '{CRYPT}*NP*']) {
    assert.deepEqual(read(other), { notes: ['PASSWORD-ELSEWHERE'] }, other);
  }
});

test('a locked hash is kept', () => {
  for (const lock of ['!', '!!', '*LK*']) {
    assert.deepEqual(read(`{CRYPT}${lock}${MD5_CRYPT}`), { hash: `{CRYPT}${MD5_CRYPT}`, isLocked: true });
  }
});

test('an unsupported scheme is named, without any part of its hash', () => {
  assert.deepEqual(read('{GOST_YESCRYPT}$gy$x'), { hash: '$gost-yescrypt$', notes: ['HASH-UNSUPPORTED'] });
  assert.deepEqual(read('{SHA.HEX}00'), { hash: '$unknown$', notes: ['HASH-UNSUPPORTED'] });
});

test('of several values, the first usable hash is taken, else a plain password', () => {
  const second = ['SECOND-PASSWORD-DROPPED'];
  assert.deepEqual(read('plain', '{FOO}x', SSHA), { hash: SSHA, notes: second });
  assert.deepEqual(read('{FOO}x', SSHA), { hash: SSHA });
  assert.deepEqual(read('{SASL}ann', 'plain'), { password: 'plain' });
  assert.deepEqual(read('{SASL}ann', '{FOO}x'), { notes: ['PASSWORD-ELSEWHERE'] });
});

test("Dovecot's names for known schemes are read", () => {
  const sha512 =
    '$6$rounds=1000$Ab3dEf$t0H9LkQIaIJEbjCBjyZ8SSRS.5SUY0PWQYh7IkVkLPBVCFrhSSdNLeH3EzjK.U.oHJLpwz9v3QCdJJi0nnIQD/';
  for (const name of ['SHA512-CRYPT', 'sha512-crypt']) assert.deepEqual(read(`{${name}}${sha512}`), { hash: sha512 });
  assert.deepEqual(read('{LDAP-MD5}PLTnMmMfR+brlh80VUt83g=='), { hash: '{MD5}PLTnMmMfR+brlh80VUt83g==' });
});

test('unmarked base64 is decoded', () => {
  assert.deepEqual(read(Buffer.from(SSHA).toString('base64')), { hash: SSHA });
  // It decodes to other text: a password that looks like base64.
  for (const password of ['e1Nope', 'e1abcdef', 'e2VsZXBoYW50']) assert.deepEqual(read(password), { password });
});

test('389 Directory Server: the first of eight blocks is enough to verify', () => {
  // The self-test of hashcat's mode 10900; its password is "hashcat".
  const published =
    '{PBKDF2_SHA256}AACkEGhlaiBqZW5z/jtuSox0CrtV9SHiVFjYeHpQ/ki2kwDrQeSqiiTn8LOmpPCw3r6TK/JDfl+ZAXRoc3VidGxldHllIXuxBDl6It' +
    'QOMupkRn+hzi/LEdr62a7B9sNOo8BPL9Z2nOi/m9AI+nAd/qwpLD1fbeDgs2DdpCZ4QfljuCLRBdURZV3HcXDUjD7PZ1CQcIOv9VbFlbu0IBmiU7ccMyb/' +
    'qoxi+rPMqE4U8f6hL0TQjTjlOzU9MpPYS+WfztpYy7lEN6QghhOz0xe+0y2rDoK+yCS4PykkNS4FFc+xeiT6SNy3r7m+0teyaQKOExLrjogWkj+t+e4bMp' +
    'HNx/FL3jkjCsuZnhq/t8eshG9DKmeD9b/QMkqT8dxe0jmr0s4+GnmHpMQMAxYW3pg70TluiDp3kJrDr1/d8OQerkQRevNx';
  const { hash = '' } = read(published);
  assert.equal(hashProblem(hash), undefined);
  assert.equal(verifyHash(hash, 'hashcat'), true);
  assert.equal(verifyHash(hash, 'Hashcat'), false);
});

test('389 Directory Server: any number of rounds is accepted, truncated hashes are not', () => {
  const salt = Buffer.alloc(64, 7);
  const head = Buffer.from([0, 0, 8, 1]);
  const bytes = Buffer.concat([head, salt, pbkdf2Sync('Pässwörd', salt, 0x801, 256, 'sha256')]);
  const { hash = '' } = read(`{PBKDF2_SHA256}${bytes.toString('base64')}`);
  assert.match(hash, /^\$pbkdf2-sha256\$2049\$/);
  assert.equal(verifyHash(hash, 'Pässwörd'), true);
  for (const cut of [bytes.subarray(1).toString('base64'), '', 'no base64']) {
    assert.deepEqual(read(`{PBKDF2_SHA256}${cut}`), { hash: '$pbkdf2-sha256-389$', notes: ['HASH-UNSUPPORTED'] });
  }
});
