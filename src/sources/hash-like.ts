/**
 * Tells which texts of a record look like password hashes: texts that name their scheme, in any field, and bare digests
 * in fields whose names say that they hold a password.
 *
 * It checks the form alone, computes no hash, and returns no part of a hash.
 */
import { schemeOf, schemeSeen } from '../passwords/registry.ts';

const SHORTEST = 13;
const LONGEST = 1024;
/** Names of fields are shorter. A longer one is data, and matching it for each value below it takes too long. */
const LONGEST_NAME = 1000;

/**
 * Texts that begin with the name of a scheme, which only hashes do: crypt(3) and PHC, LDAP, Django and werkzeug. One that
 * ends with `$` has no digest: Discourse keeps the parameters of a hash so.
 */
const NAMED = [
  /^\$(?:[a-z0-9][a-z0-9,=._-]{0,23}|[A-Z])\$[^\s]{7,}[^\s$]$/,
  /^(?:unsalted_|hmac_)?(?:pbkdf2|scrypt|bcrypt|argon2|s?sha\d*|s?md5)(?:[_-][a-z0-9]+){0,3}[:$][^\s]{16,}$/i,
  // Spring Security, Atlassian; better-auth, Lucia; Magento 2.
  /^\{(?:pkcs5s2|ldap|[a-z0-9]+@SpringSecurity_v5_8)\}[^\s]{10,}$/i,
  /^(?:s2:[0-9a-z]{1,64}|[0-9a-z]{16}|[0-9a-f]{32}):[0-9a-f]{128}$/i,
  /^[0-9a-f]{32,128}:[0-9a-z]{8,64}(?::(?:[012]|3(?:_\d{1,12}){3})){1,4}$/i,
  /^SCRAM-SHA-\d{1,3}\$[^\s]{16,}$/,
];

/**
 * The same, where a word somewhere in the name tells that it is a scheme. The name is taken first and searched then: one
 * pattern with the word between two runs of letters takes quadratic time, and records may be made to cost that.
 */
const WORDED: readonly { form: RegExp; word: RegExp }[] = [
  { form: /^\$([A-Z0-9-]+)\$[^\s]{7,}[^\s$]$/, word: /PBKDF2|SHA|BCRYPT|SCRYPT|ARGON2/ },
  // No slash may precede the word.
  { form: /^\{([a-z0-9._/-]+)\}[^\s]{10,}$/i, word: /^[^/]*?(?:sha|md5|crypt|pbkdf2|argon2|scram)/i },
];

/** Digests of 128 bits and more in hexadecimal, MySQL's included. */
const HEX =
  /^(?:0x|\*)?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/i;
/** Such a digest and its salt, as forums and shops keep them; DES crypt of Unix and of BSDi. */
const SALTED = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}):.{1,70}$/i;
const DES = /^(?:[./0-9a-z]{13}|_[./0-9a-z]{19})$/i;
/** Digests of 128 bits and more in base64; words and ids rarely mix capitals, small letters and digits. */
const BASE64 = /^(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])[A-Za-z0-9+/_.-]{20,}={0,2}$/;

const OF_A_PASSWORD = /pass(?:w|phr|code|hash|dig|_|$)|pwd|^pw$|kennwort|contrase|credential|^user_?pass|crypted/i;
const OF_A_HASH = /hash|digest|crypt/i;
/** Fields that hold other secrets or checksums, whatever else their names contain. */
const OF_OTHERS =
  /salt|hasher|algorithm|token|reset|nonce|question|hint|recover|otp|mfa|stamp|expir|changed|_at$|api|avatar|email|mail_|file|image|signature|url/i;

/**
 * The scheme that a text names, such as `bcrypt` or `$argon2$`; undefined when the text alone does not look like a
 * hash.
 */
export function namedHash(text: string): string | undefined {
  if (text.length < SHORTEST || text.length > LONGEST) return undefined;
  const isNamed = NAMED.some((form) => form.test(text)) || WORDED.some((one) => isWorded(text, one));
  return isNamed ? schemeSeen(text) : undefined;
}

function isWorded(text: string, { form, word }: { form: RegExp; word: RegExp }): boolean {
  const name = form.exec(text)?.[1];
  return name !== undefined && word.test(name);
}

/** Whether the field names that lead to a value say that it belongs to a password and not to another secret. */
export function isOfPassword(path: readonly string[]): boolean {
  const names = path.filter(isName);
  return names.some((name) => OF_A_PASSWORD.test(name)) && !names.some((name) => OF_OTHERS.test(name));
}

/** Whether a key of a record may be the name of a field. */
export function isName(key: string): boolean {
  return key.length <= LONGEST_NAME;
}

/**
 * As `namedHash`, or `digest` where only the field names tell that it is a hash.
 * @param path names of the fields that lead to it, the outermost first
 * @param isTyped whether a sibling field names a scheme
 */
export function hashAt(text: string, path: readonly string[], isTyped: () => boolean): string | undefined {
  const named = namedHash(text);
  if (named !== undefined || text.length < SHORTEST || text.length > LONGEST) return named;
  // Check the form first: most texts do not look like a digest, and need no check of the field names.
  if (HEX.test(text)) return isOfPassword(path) ? 'digest' : undefined;
  const isDes = DES.test(text);
  if (!(isDes || SALTED.test(text) || BASE64.test(text)) || !isOfPassword(path)) return undefined;
  if (!isDes && SALTED.test(text)) return schemeOf(text) ?? 'digest';
  const isSaid = path.some((name) => isName(name) && OF_A_HASH.test(name)) || isTyped();
  return isSaid ? (schemeOf(text) ?? 'digest') : undefined;
}
