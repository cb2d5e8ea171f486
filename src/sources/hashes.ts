/**
 * Password hashes in exports: finds texts that look like one in a record, and builds the text of a hash from the parts
 * that exports hold: digest, salt and rounds, each in its own encoding. Forms: docs/passwords.md.
 *
 * Guarantee: checks the form alone, computes no hash, throws for no content, and puts no part of a hash into a note. The
 * service enforces the bounds. A search goes 32 fields deep, also into cells that hold JSON as text; it visits each value
 * once, and each takes time that does not grow with the record.
 */
import { hashProblem, schemeOf, schemeSeen } from '../passwords/registry.ts';
import type { Note, Person } from './entry.ts';
import type { Fields } from './source.ts';
import { CONTEXT, isFields, parseJson } from './values.ts';

/** A hash and the notes about it; no hash when the export holds none. */
export interface HashText {
  hash?: string;
  notes?: Note[];
}

export interface FoundHash {
  text: string;
  /** As messages name it. */
  scheme: string;
  /** Names of the fields that lead to it, the outermost first; `[]` for an element of a list. */
  path: readonly string[];
}

export type Encoding = 'base64' | 'hex' | 'utf8';

/** Whether the object that holds a value names a scheme. */
type IsTyped = () => boolean;

const isUntyped: IsTyped = () => false;

/** The hashes of a record, in its order. */
export function hashesIn(record: Fields): FoundHash[] {
  const search = new Search();
  search.visit(record, isUntyped);
  return search.found;
}

/** Exports are not nested deeper. Each value is judged by all names that lead to it. */
const DEEPEST = 32;
const ELEMENT = '[]';
/** Every JSON text that holds a hash matches this. */
const MENTION = /\$|pass|pwd|hash|credential/i;

class Search {
  readonly found: FoundHash[] = [];
  /** The current position. */
  private readonly path: string[] = [];

  /** @param isTyped of the object that holds the value */
  visit(value: unknown, isTyped: IsTyped): void {
    if (typeof value === 'string') this.visitText(value, isTyped);
    else if (this.path.length >= DEEPEST) return;
    else if (Array.isArray(value)) {
      this.path.push(ELEMENT);
      for (const element of value) this.visit(element, isTyped);
      this.path.pop();
    } else if (isFields(value)) {
      const isInside = this.path.length > 0 ? typedBy(value) : isUntyped;
      for (const name of Object.keys(value)) {
        if (name === CONTEXT) continue;
        this.path.push(name);
        this.visit(value[name], isInside);
        this.path.pop();
      }
    }
  }

  private visitText(value: string, isTyped: IsTyped): void {
    const text = value.trim();
    const scheme = hashAt(text, this.path, isTyped);
    if (scheme !== undefined) this.found.push({ text, scheme, path: [...this.path] });
    else if ((text.startsWith('{') || text.startsWith('[')) && MENTION.test(text)) {
      const inner = parseJson(text);
      if (typeof inner === 'object') this.visit(inner, isUntyped);
    }
  }
}

/** Searches the object once, however many of its values ask. */
function typedBy(around: Fields): IsTyped {
  let known: boolean | undefined;
  return () => {
    known ??= Object.values(around).some(isSchemeName);
    return known;
  };
}

/** Names of schemes in a sibling field of the hash: `password-bcrypt`, `SHA-512`. */
const SCHEME_NAME = /sha|md5|pbkdf|crypt|argon|phpass|hash/i;
const LONGEST_SCHEME_NAME = 40;

function isSchemeName(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length <= LONGEST_SCHEME_NAME && !value.includes('$') && SCHEME_NAME.test(value)
  );
}

/** Field names which say that a hash is not, or no longer, the one for logging in. */
const NOT_CURRENT =
  /old|prev|hist|legacy|former|last|temp|backup|archiv|reset|token|recover|(?:^|_)pin(?:_|$)|question|answer|secret|api|code|otp|device|key/i;
const OF_THE_LOGIN = /^(?:hash|bcrypt|digest|pw_?hash)$/i;

/**
 * The one hash of a record that is clearly the user's password and can be verified; undefined if there is none or
 * several.
 */
export function passwordHashIn(record: Fields): FoundHash | undefined {
  const usable = hashesIn(record).filter(({ text, path }) => {
    const isLogin = isOfPassword(path) || path.some((name) => OF_THE_LOGIN.test(name));
    const isWhole = namedHash(text) !== undefined && hashProblem(text) === undefined;
    return isWhole && isLogin && !path.some((name) => NOT_CURRENT.test(name));
  });
  const [first] = usable;
  return first && usable.every(({ text }) => text === first.text) ? first : undefined;
}

export const HASH_NOT_USED = 'HASH-NOT-USED';

/**
 * Notes on the password hashes of a record that are not imported, one for each, without its value; otherwise the first
 * sign would be failed logins.
 *
 * A source may write a hash in another form than the export (`$pbkdf2…` built from its parts). The hash it used is the
 * one that shares its last characters with the result, or else the first one in a password field.
 */
export function unusedHashes(record: Fields, person: Person): Note[] {
  const found = hashesIn(record);
  if (found.length === 0) return [];
  return withoutUsed(found, person).map((hash) => ({
    id: HASH_NOT_USED,
    message: `A value that looks like a password hash (${hash.scheme}) at ${placeOf(hash)} is not used.`,
  }));
}

function withoutUsed(found: readonly FoundHash[], { hash, password }: Person): readonly FoundHash[] {
  const left = found.filter(({ text }) => text !== password?.trim() && (hash === undefined || !isSame(text, hash)));
  if (hash === undefined || left.length < found.length) return left;
  const taken = found.find(({ path }) => isOfPassword(path)) ?? found[0];
  return found.filter((one) => one !== taken);
}

/** This many equal last characters are no coincidence. */
const TAIL = 16;

function isSame(text: string, hash: string): boolean {
  if (text === hash) return true;
  const tail = hash.slice(-TAIL);
  return tail.length === TAIL && text.endsWith(tail);
}

/**
 * The place as people write it: `password.value`, `credentials[].hash`. A key that is data, not a name, becomes `*`.
 */
export function placeOf({ path }: FoundHash): string {
  const shown = path.map((name) => (name === ELEMENT || /^[a-z_][\w .:-]{0,39}$/i.test(name) ? name : '*'));
  return shown.join('.').replaceAll(`.${ELEMENT}`, ELEMENT);
}

const SHORTEST = 13;
const LONGEST = 1024;
/** Digests of 128 bits and more in hexadecimal, MySQL's included. */
const HEX =
  /^(?:0x|\*)?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/i;
/** A digest in hexadecimal and its salt, as forums and shops keep them. */
const SALTED = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}):.{1,70}$/i;
/** DES crypt of Unix and of BSDi. */
const DES = /^(?:[./0-9a-z]{13}|_[./0-9a-z]{19})$/i;
/** Digests of 128 bits and more in base64; words and ids rarely mix capitals, small letters and digits. */
const BASE64 = /^(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])[A-Za-z0-9+/_.-]{20,}={0,2}$/;
const OF_A_HASH = /hash|digest|crypt/i;

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
 * Texts in whose first name some word tells that it is a scheme. The name is taken first and searched then: one
 * pattern with the word between two runs of letters takes quadratic time, and records may be made to cost that.
 */
const WORDED: readonly { form: RegExp; word: RegExp }[] = [
  { form: /^\$([A-Z0-9-]+)\$[^\s]{7,}[^\s$]$/, word: /PBKDF2|SHA|BCRYPT|SCRYPT|ARGON2/ },
  // No slash may precede the word.
  { form: /^\{([a-z0-9._/-]+)\}[^\s]{10,}$/i, word: /^[^/]*?(?:sha|md5|crypt|pbkdf2|argon2|scram)/i },
];

/**
 * The scheme that a text names, such as `bcrypt` or `$argon2$`; undefined when the text alone does not look like a
 * hash.
 */
export function namedHash(text: string): string | undefined {
  if (text.length < SHORTEST || text.length > LONGEST) return undefined;
  const isNamed = NAMED.some((form) => form.test(text)) || WORDED.some((one) => isWorded(text, one));
  return isNamed ? schemeSeen(text) : undefined;
}

/** Whether a text is a hash with the name of its scheme, or a digest in hexadecimal: hardly anybody's plain password. */
export function isLikeHash(text: string): boolean {
  return namedHash(text) !== undefined || HEX.test(text);
}

function isWorded(text: string, { form, word }: { form: RegExp; word: RegExp }): boolean {
  const name = form.exec(text)?.[1];
  return name !== undefined && word.test(name);
}

const OF_A_PASSWORD =
  /pass(?:w|phr|code|hash|dig|_|$)|pwd|^pw$|kennwort|contrase|wachtwoord|^senha|mot[ _-]?de[ _-]?passe|palavra[ _-]?passe|credential|^user_?pass|crypted/i;
/** Fields that hold other secrets or checksums, whatever else their names contain. */
const OF_OTHERS =
  /salt|hasher|algorithm|token|reset|nonce|question|hint|recover|otp|mfa|stamp|expir|changed|_at$|api|avatar|email|mail_|file|image|signature|url/i;

/** Whether the field names that lead to a value say that it belongs to a password and not to another secret. */
export function isOfPassword(path: readonly string[]): boolean {
  const names = path.filter(isName);
  return names.some((name) => OF_A_PASSWORD.test(name)) && !names.some((name) => OF_OTHERS.test(name));
}

/** Names of fields are shorter. A longer one is data, and matching it for each value below it takes too long. */
const LONGEST_NAME = 1000;

/** Whether a key of a record may be the name of a field. */
export function isName(key: string): boolean {
  return key.length <= LONGEST_NAME;
}

/**
 * The bytes of an encoded text; base64 may use the URL-safe alphabet. Undefined when the text is not valid in the
 * encoding.
 */
export function bytesOf(text: string, encoding: Encoding): Buffer | undefined {
  if (encoding === 'utf8') return Buffer.from(text);
  const isHex = encoding === 'hex';
  const form = isHex ? /^(?:[0-9a-f]{2})*$/i : /^[A-Za-z0-9+/_-]*={0,2}$/;
  return form.test(text) ? Buffer.from(text, encoding) : undefined;
}

const HASH_UNSUPPORTED: Note = {
  id: 'HASH-UNSUPPORTED',
  message:
    'The password hash has a form that cannot be verified here; the service will reject the user and name the scheme.',
};

/** The words, numbers and hyphens of a scheme's name: `argon2id`, `hmac-sha256-utf16-b64`, `sha-512`. */
const PLAIN_NAME = /^[a-z]+[0-9]*[a-z]*(?:-[a-z0-9]+)*$/;
/** Longest name in a message: the service reads no longer text as a name. */
const LONGEST_SHOWN = 18;

/**
 * A text that holds only the name of a scheme, so that the service rejects this user alone and names the reason.
 * @param name any text; one that is not a scheme's name is not repeated, as it may be part of a hash
 */
export function unsupported(name: string): HashText {
  const tidy = name.toLowerCase().replaceAll('_', '-');
  const isName = tidy.length <= LONGEST_SCHEME_NAME && PLAIN_NAME.test(tidy);
  const shown = isName ? tidy.slice(0, LONGEST_SHOWN).replace(/-$/, '') : 'unknown';
  return { hash: `$${shown}$`, notes: [HASH_UNSUPPORTED] };
}

/** @param algorithm md5, sha1, sha224, sha256, sha384, sha512 */
export function saltedDigest(
  algorithm: string,
  order: 'prefix' | 'suffix',
  salt: Uint8Array,
  digest: Uint8Array,
): string {
  return `$salted-${algorithm}-${order}$${base64(salt)}$${base64(digest)}`;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}

export function hmacText(algorithm: string, key: Uint8Array, digest: Uint8Array): string {
  return `$hmac-${algorithm}$${base64(key)}$${base64(digest)}`;
}

/**
 * The password of a row of aspnet_Membership: plain (format 0), hashed (1), or encrypted with a key of the machine (2).
 * The format may be the name that .NET gives it.
 */
export function membershipSecret(
  password: string,
  format: string,
  salt: string | undefined,
): { password: string } | HashText {
  if (/^(?:0|clear)$/i.test(format)) return { password };
  if (/^(?:1|hashed)$/i.test(format)) return { hash: `$aspnet-membership$${salt ?? ''}$${password}` };
  return unsupported('aspnet-encrypted');
}

/** @param algorithm sha1, sha224, sha256, sha384, sha512 */
export function pbkdf2Text(algorithm: string, rounds: number, salt: Uint8Array, digest: Uint8Array): string {
  const name = algorithm === 'sha1' ? 'pbkdf2' : `pbkdf2-${algorithm}`;
  return `$${name}$${rounds}$${base64(salt)}$${base64(digest)}`;
}

/** @param cost log2 of N */
export function scryptText(cost: { ln: number; r: number; p: number }, salt: Uint8Array, digest: Uint8Array): string {
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${base64(salt)}$${base64(digest)}`;
}
