/**
 * Hashes in the form that Okta's API accepts, `credentials.password.hash`. Okta does not export its own hashes.
 *
 * https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/#create-user-with-imported-hashed-password
 */
import { bytesOf, type HashText, pbkdf2Text, saltedDigest, unsupported } from '../../hash-text.ts';
import type { Fields } from '../../source.ts';
import { numberAt, textAt } from '../../values.ts';

export function oktaHash(hash: Fields): HashText {
  const algorithm = textAt(hash, 'algorithm')?.toUpperCase();
  const value = textAt(hash, 'value');
  if (algorithm === undefined) return {};
  if (value === undefined) return unsupported(algorithm);
  switch (algorithm) {
    case 'BCRYPT':
      return bcrypt(hash, value);
    case 'PBKDF2':
      return pbkdf2(hash, value);
    case 'MD5':
    case 'SHA-1':
    case 'SHA-256':
    case 'SHA-512':
      return digest(algorithm, hash, value);
    default:
      return unsupported(algorithm);
  }
}

/** Joins the parts of a bcrypt text. `$2a$` is its oldest prefix; all prefixes name the same algorithm. */
function bcrypt(hash: Fields, value: string): HashText {
  const salt = textAt(hash, 'salt');
  const cost = numberAt(hash, 'workFactor');
  if (value.startsWith('$2')) return { hash: value };
  if (salt === undefined || cost === undefined) return unsupported('bcrypt');
  return { hash: `$2a$${String(cost).padStart(2, '0')}$${salt}${value}` };
}

function pbkdf2(hash: Fields, value: string): HashText {
  const algorithm = /^(SHA(?:1|224|256|384|512))_?HMAC$/.exec(
    textAt(hash, 'digestAlgorithm')?.toUpperCase() ?? '',
  )?.[1];
  const rounds = numberAt(hash, 'iterationCount');
  const salt = bytesOf(textAt(hash, 'salt') ?? '', 'base64');
  const bytes = bytesOf(value, 'base64');
  if (algorithm === undefined || rounds === undefined || !salt || !bytes) return unsupported('pbkdf2');
  return { hash: pbkdf2Text(algorithm.toLowerCase(), rounds, salt, bytes) };
}

/** The order of salt and password must be given; Okta requires it too. */
function digest(algorithm: string, hash: Fields, value: string): HashText {
  const salt = bytesOf(textAt(hash, 'salt') ?? '', 'base64');
  const bytes = bytesOf(value, 'base64');
  const order = textAt(hash, 'saltOrder')?.toUpperCase() ?? (salt?.length === 0 ? 'PREFIX' : undefined);
  if (!salt || !bytes || (order !== 'PREFIX' && order !== 'POSTFIX')) return unsupported(algorithm);
  const name = algorithm.toLowerCase().replace('-', '');
  return { hash: saltedDigest(name, order === 'PREFIX' ? 'prefix' : 'suffix', salt, bytes) };
}
