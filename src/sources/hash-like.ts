/**
 * Which texts of a record look like password hashes: those that name their scheme wherever they stand, and digests without
 * a name where the names of their fields say that they are of a password.
 *
 * It judges the form alone, hashes nothing, and its answers hold no part of a hash.
 */
import { schemeOf, schemeSeen } from '../passwords/registry.ts';

const SHORTEST = 14;
const LONGEST = 1024;

/** Texts that begin with the name of a scheme, as nothing else is written: crypt(3) and PHC, LDAP, Django and werkzeug. */
const NAMED = [
  /^\$(?:[a-z0-9][a-z0-9,=._-]{0,23}|[A-Z]|[A-Z0-9-]*(?:PBKDF2|SHA|BCRYPT|SCRYPT|ARGON2)[A-Z0-9-]*)\$[^\s]{8,}$/,
  /^\{[a-z0-9._-]*(?:sha|md5|crypt|pbkdf2|argon2|scram)[a-z0-9._/-]*\}[^\s]{10,}$/i,
  /^(?:unsalted_|hmac_)?(?:pbkdf2|scrypt|bcrypt|argon2|s?sha\d*|s?md5)(?:[_-][a-z0-9]+){0,3}[:$][^\s]{16,}$/i,
  /^SCRAM-SHA-\d{1,3}\$[^\s]{16,}$/,
];

/** Digests: hexadecimal of 128 bits and more, MySQL's. */
const HEX =
  /^(?:0x|\*)?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/i;
/** Of 128 bits and more; words and ids have not all of capitals, small letters and digits. */
const BASE64 = /^(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])[A-Za-z0-9+/_.-]{20,}={0,2}$/;

const OF_A_PASSWORD = /pass(?:w|phr|code|hash|dig|_|$)|pwd|^pw$|kennwort|contrase|credential|^user_?pass|crypted/i;
const OF_A_HASH = /hash|digest|crypt/i;
/** Fields with other secrets and sums, whatever else their names hold. */
const OF_OTHERS =
  /salt|hasher|algorithm|token|reset|nonce|question|hint|recover|otp|mfa|stamp|expir|changed|_at$|api|avatar|email|mail_|file|image|signature|url/i;

/** The scheme that a text names, such as `bcrypt` or `$argon2d$`; undefined when it looks like no hash by itself. */
export function namedHash(text: string): string | undefined {
  if (text.length < SHORTEST || text.length > LONGEST) return undefined;
  return NAMED.some((form) => form.test(text)) ? schemeSeen(text) : undefined;
}

/** Whether the names that lead to a value say that it is about a password and no other secret. */
export function isOfPassword(path: readonly string[]): boolean {
  return path.some((name) => OF_A_PASSWORD.test(name)) && !path.some((name) => OF_OTHERS.test(name));
}

/**
 * As `namedHash`, or `digest` where only the names of the fields tell.
 * @param path names of the fields that lead to it, the outermost first
 * @param isTyped whether a field beside it names a scheme
 */
export function hashAt(text: string, path: readonly string[], isTyped: () => boolean): string | undefined {
  const named = namedHash(text);
  if (named !== undefined || text.length < SHORTEST || text.length > LONGEST) return named;
  // Names are looked at where the text has the form of a digest, as most have not.
  if (HEX.test(text)) return isOfPassword(path) ? 'digest' : undefined;
  if (!BASE64.test(text) || !isOfPassword(path)) return undefined;
  const isSaid = path.some((name) => OF_A_HASH.test(name)) || isTyped();
  return isSaid ? (schemeOf(text) ?? 'digest') : undefined;
}
