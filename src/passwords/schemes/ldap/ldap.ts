/**
 * LDAP passwords: a scheme in braces, in any case, followed by the hash.
 *
 * RFC 2307 section 5.3 and OpenLDAP's slapd-pw-sha2: `{SHA}`, `{MD5}`, `{SHA256}`… are followed by base64 of the
 * digest, or by its hexadecimal digits (passlib.hash.ldap_hex_md5); `{SSHA}`, `{SMD5}`, `{SSHA256}`… by base64 of digest(password, salt) and the salt. Hashes of other schemes
 * are in ldap-wrapped.ts.
 */
import { hash } from 'node:crypto';
import { decodeBase64 } from '../../base64.ts';
import { decodeHex } from '../../hex.ts';
import { type Scheme, sameBytes } from '../../scheme.ts';
import { ldapPbkdf2Schemes } from './ldap-pbkdf2.ts';
import { ldapScheme } from './ldap-scheme.ts';
import { ldapWrappedSchemes } from './ldap-wrapped.ts';

function bare(name: string, algorithm: string, length: number): Scheme {
  function parse(body: string): { digest: Buffer } | string {
    const digest = body.length === 2 * length ? decodeHex(body) : decodeBase64(body);
    if (digest === undefined) return 'the hash is not base64';
    return digest.length === length ? { digest } : `the hash is not ${length} bytes`;
  }
  return ldapScheme({
    name,
    parse,
    verify: ({ digest }, password) => sameBytes(hash(algorithm, password, 'buffer'), digest),
  });
}

function salted(name: string, algorithm: string, length: number): Scheme {
  function parse(body: string): { digest: Buffer; salt: Buffer } | string {
    const bytes = decodeBase64(body);
    if (bytes === undefined) return 'the hash is not base64';
    if (bytes.length < length) return `the hash is shorter than ${length} bytes`;
    if (bytes.length === length) return 'the salt is missing';
    return { digest: bytes.subarray(0, length), salt: bytes.subarray(length) };
  }
  return ldapScheme({
    name,
    parse,
    verify: ({ digest, salt }, password) =>
      sameBytes(hash(algorithm, Buffer.concat([Buffer.from(password), salt]), 'buffer'), digest),
  });
}

export const ldapSchemes = [
  salted('SSHA', 'sha1', 20),
  salted('SSHA512', 'sha512', 64),
  salted('SSHA256', 'sha256', 32),
  salted('SSHA384', 'sha384', 48),
  ...ldapPbkdf2Schemes,
  ...ldapWrappedSchemes,
  bare('SHA', 'sha1', 20),
  bare('SHA512', 'sha512', 64),
  bare('SHA256', 'sha256', 32),
  bare('SHA384', 'sha384', 48),
  salted('SMD5', 'md5', 16),
  bare('MD5', 'md5', 16),
];
