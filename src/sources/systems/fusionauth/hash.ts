/**
 * FusionAuth's password hashes: separate hash, salt and factor, in the scheme that `encryptionScheme` names.
 * https://fusionauth.io/docs/reference/password-hashes (how each is computed)
 * https://fusionauth.io/docs/apis/users/import (encodings: salt and hash are base64, except for bcrypt and phpass)
 *
 * Invalid parts are passed on unchanged, so that the scheme reports what is wrong with them.
 */

import { schemeOf } from '../../../passwords/registry.ts';
import { ALPHABET, encodeCrypt64 } from '../../../passwords/schemes/crypt/crypt3.ts';
import { bytesOf, type HashText, unsupported } from '../../hash-text.ts';
import type { Fields } from '../../source.ts';
import { textAt } from '../../values.ts';

interface Parts {
  hash: string;
  salt: string;
  /** As text; empty when it is absent. */
  factor: string;
}

type Maker = (parts: Parts) => HashText;

/** The hash of a record that has a scheme. */
export function hashOf(record: Fields, scheme: string): HashText {
  const hash = textAt(record, 'password');
  if (hash === undefined) return {};
  const maker = Object.hasOwn(MAKERS, scheme) ? MAKERS[scheme] : undefined;
  const parts = { hash, salt: textAt(record, 'salt') ?? '', factor: textAt(record, 'factor') ?? '' };
  return maker === undefined ? unsupported(scheme) : maker(parts);
}

const MAKERS: Readonly<Record<string, Maker>> = {
  bcrypt,
  'salted-md5': digestOf('md5'),
  'salted-sha256': digestOf('sha256'),
  'salted-hmac-sha256': ({ hash, salt }) => ({ hash: `$hmac-sha256$${salt}$${hash}` }),
  // The key is as long as the hash.
  'salted-pbkdf2-hmac-sha256': pbkdf2Of('sha256'),
  'salted-pbkdf2-hmac-sha256-512': pbkdf2Of('sha256'),
  'salted-pbkdf2-hmac-sha512-512': pbkdf2Of('sha512'),
  'phpass-md5': phpassOf('phpass-md5', '$P$', phpassMd5Hash),
  'phpass-sha512': phpassOf('phpass-sha512', '$S$', (hash) => hash),
  // The plugin in FusionAuth's WordPress guide stores the whole phpass text in base64.
  'example-wordpress-phpass': wholeText('example-wordpress-phpass'),
};

/** Salt and hash are in bcrypt's own base64: concatenated, they are the end of the standard bcrypt text. */
function bcrypt({ hash, salt, factor }: Parts): HashText {
  return { hash: hash.startsWith('$2') ? hash : `$2a$${factor.padStart(2, '0')}$${salt}${hash}` };
}

/** The digest of password and salt, digested repeatedly: `factor` rounds in all. */
function digestOf(algorithm: string): Maker {
  return ({ hash, salt, factor }) => ({ hash: `$salted-${algorithm}-suffix$r=${factor}$${salt}$${hash}` });
}

function pbkdf2Of(algorithm: string): Maker {
  return ({ hash, salt, factor }) => ({ hash: `$pbkdf2-${algorithm}$${factor}$${salt}$${hash}` });
}

/** phpass writes the logarithm of the rounds as one character; FusionAuth writes their number. */
function phpassOf(name: string, identifier: string, hashText: (hash: string) => string): Maker {
  return ({ hash, salt, factor }) => {
    const rounds = ALPHABET[Math.log2(Number(factor))];
    const saltText = phpassSalt(salt);
    if (rounds === undefined || saltText === undefined) return unsupported(name);
    return { hash: `${identifier}${rounds}${saltText}${hashText(hash)}` };
  };
}

function wholeText(name: string): Maker {
  return ({ hash }) => {
    const text = bytesOf(hash, 'base64')?.toString('latin1') ?? '';
    return schemeOf(text) === undefined ? unsupported(name) : { hash: text };
  };
}

/** Eight characters, also if they are encoded in base64. */
function phpassSalt(salt: string): string | undefined {
  const text = salt.length === 12 ? bytesOf(salt, 'base64')?.toString('latin1') : salt;
  return text !== undefined && /^[./0-9A-Za-z]{8}$/.test(text) ? text : undefined;
}

/** phpass' own base64, or standard base64, which has other characters at the 22nd place. */
function phpassMd5Hash(hash: string): string {
  if (/^[./0-9A-Za-z]{21}[./01]$/.test(hash)) return hash;
  const bytes = bytesOf(hash, 'base64');
  return bytes?.length === 16 ? encodeCrypt64(bytes) : hash;
}
