/**
 * `hash:salt`, a digest in hexadecimal digits and a salt as text, as many programs write or keep it. The text does not
 * tell how they combine, so a password is correct if it matches in any of these ways, d being the digest:
 *
 * d(password salt): Joomla before 3.2. d(salt password): Magento 1, osCommerce. d(hex(d(password)) salt): vBulletin,
 * Casdoor. d(hex(d(salt)) hex(d(password))): IP.Board, MyBB. These are the modes 11, 21, 2611, 2811 of
 * hashcat.net/wiki/doku.php?id=example_hashes; github.com/casdoor/casdoor/tree/master/cred.
 *
 * A typed text that looks like a digest is not tried as it is: it may be the digest of vBulletin's password, which
 * somebody knows from another table.
 */
import { hash } from 'node:crypto';
import { isShapedAs } from '../forms.ts';
import { decodeHex, defineScheme, joined, type Scheme, type Secret, sameBytes } from '../scheme.ts';
import { IS_LM, isLm } from './plain-digest.ts';

const LONGEST_SALT = 70;

function readings(algorithm: string, salt: string, password: Secret): Buffer[] {
  const hex = (text: Secret) => hash(algorithm, text);
  const ofDigest = [hex(password) + salt, hex(salt) + hex(password)];
  const asTyped = isShapedAs(password, hex(password)) ? [] : [joined(password, salt), joined(salt, password)];
  const texts = [...asTyped, ...ofDigest];
  return texts.map((text) => hash(algorithm, text, 'buffer'));
}

function hashColonSalt(algorithm: string, digits: number): Scheme {
  return defineScheme({
    name: `${algorithm}:salt`,
    matches: (encoded) => encoded[digits] === ':' && decodeHex(encoded.slice(0, digits)) !== undefined,
    parse(encoded) {
      const salt = encoded.slice(digits + 1);
      if (isLm(encoded.slice(0, digits))) return IS_LM;
      if (salt === '') return 'the salt is missing';
      if (salt.length > LONGEST_SALT) return `the salt is longer than ${LONGEST_SALT} characters`;
      return { salt, digest: Buffer.from(encoded.slice(0, digits), 'hex') };
    },
    verify: ({ salt, digest }, password) =>
      readings(algorithm, salt, password).reduce((found, made) => sameBytes(made, digest) || found, false),
  });
}

export const hashColonSaltSchemes = [
  hashColonSalt('md5', 32),
  hashColonSalt('sha1', 40),
  hashColonSalt('sha256', 64),
  hashColonSalt('sha512', 128),
];
