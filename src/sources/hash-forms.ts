/**
 * Brings a hash that is known, in another spelling, to the spelling of `src/passwords/schemes/`: inside quotes, base64 or
 * hexadecimal digits, behind the name that a program puts before it, or with its parameters in another order.
 *
 * Guarantee: a hash that can be verified as it is stays as it is, and the result of every change can be verified, so no
 * hash is lost or invented by a guess. What is recognized and cannot be verified becomes its name, for the message.
 */
import { hashProblem, schemeOf } from '../passwords/registry.ts';

/** Programs put a hash in quotes, and the result in base64. */
const MOST_LAYERS = 3;

/** The hash in the spelling that can be verified; the text itself if there is none. */
export function knownForm(text: string): string {
  if (hashProblem(text) === undefined) return text;
  let outer = text.trim();
  for (let layer = 0; layer <= MOST_LAYERS; layer++) {
    const found = rewritten(outer);
    if (found !== undefined) return found;
    const inner = unwrapped(outer);
    if (inner === undefined) break;
    outer = inner.trim();
  }
  const refused = REFUSED.find(({ form }) => form.test(outer))?.name;
  return refused === undefined ? text : `$${refused}$`;
}

/** Schemes whose hash is the password itself: Dovecot's, FreeRADIUS', Spring Security's. */
const PLAIN = /^\{(?:PLAIN|CLEAR|CLEARTEXT|PLAINTEXT|NOOP)(?:\.(HEX|B64|BASE64))?\}(.*)$/is;

/** The password of a text that says that it is one, such as `{PLAIN}secret`; undefined for any other text. */
export function plainOf(text: string): string | undefined {
  const [, encoding, body] = PLAIN.exec(text) ?? [];
  if (body === undefined || body === '') return undefined;
  return encoding === undefined ? body : bodyOf(body, encoding).toString();
}

function rewritten(text: string): string | undefined {
  for (const rewrite of REWRITES) {
    const form = rewrite(text);
    if (form !== undefined && hashProblem(form) === undefined) return form;
  }
  return undefined;
}

/** Where a text is inside another encoding, the text. */
function unwrapped(text: string): string | undefined {
  const quoted = /^(?:b?"(.*)"|b?'(.*)'|`(.*)`)$/s.exec(text);
  if (quoted) return (quoted[1] ?? quoted[2] ?? quoted[3] ?? '').replaceAll('\\/', '/');
  if (/^%(?:24|7B)/i.test(text)) return text.replace(/%([0-9a-f]{2})/gi, (_, hex) => character(parseInt(hex, 16)));
  if (/^\\+\$/.test(text)) return text.replace(/\\+\$/g, '$');
  if (/^\$\$[0-9a-z-]+\$\$/.test(text)) return text.replaceAll('$$', '$');
  const hex = /^(?:\\+x|0x|x'(?=.*'$))?((?:[0-9a-f]{2}){13,})'?$/i.exec(text)?.[1];
  if (hex !== undefined) return printable(Buffer.from(hex, 'hex'));
  // A digest hardly consists of printable characters, and what comes out must be a hash.
  if (/^[A-Za-z0-9+/_-]{20,}={0,2}$/.test(text)) return printable(Buffer.from(text, 'base64'));
  return undefined;
}

function character(code: number): string {
  return String.fromCharCode(code);
}

function printable(bytes: Buffer): string | undefined {
  const text = bytes.toString('latin1');
  return /^[\x20-\x7e]+[\r\n]*$/.test(text) ? text : undefined;
}

type Rewrite = (text: string) => string | undefined;

const REWRITES: readonly Rewrite[] = [
  (text) => text,
  // Nextcloud's versions of its hashers; and names before a hash that names itself.
  (text) => /^[123]\|(.+)$/.exec(text)?.[1],
  (text) =>
    /^(?:bcrypt:?|(?:argon2(?:id?|d)?|scrypt|(?:sha\d{3}|md5)?-?crypt|blowfish|phpass):)(\$.+)$/i.exec(text)?.[1],
  ofDovecot,
  elasticSsha256,
  phpSerialized,
  scryptOfJava,
  scryptOfRuby,
  inOrder,
  pbkdf2OfMattermost,
  ofDigest,
  pbkdf2OfPassword4j,
];

/** Names that Dovecot and Courier give to crypt(3)'s schemes, whose hash names itself, and to others. */
const CRYPT = /^(?:(?:SHA512|SHA256|BLF|MD5|DES)-CRYPT|MD5|CRYPT|BLOWFISH|YESCRYPT|ARGON2(?:I|D|ID)?)$/;
const OTHER_NAMES: Readonly<Record<string, string>> = {
  SHA1: 'SHA',
  'PLAIN-MD5': 'MD5',
  'LDAP-MD5': 'MD5',
  MD5RAW: 'MD5',
};

/** `{NAME}hash` and `{NAME.encoding}hash`. doc.dovecot.org, Password Schemes */
function ofDovecot(text: string): string | undefined {
  const [, given = '', encoding, body = ''] = /^\{([A-Z0-9-]+)(?:\.(HEX|B64|BASE64))?\}(.+)$/i.exec(text) ?? [];
  const name = given.toUpperCase();
  const bytes = encoding === undefined ? undefined : bodyOf(body, encoding);
  if (name === 'PBKDF2') return pbkdf2OfDovecot(bytes?.toString('latin1') ?? body);
  const known = OTHER_NAMES[name] ?? name;
  if (CRYPT.test(name)) {
    const hash = bytes === undefined ? body : printable(bytes);
    if (hash?.startsWith('$')) return hash;
    if (hash !== undefined && (name === 'DES-CRYPT' || name === 'CRYPT')) return `{CRYPT}${hash}`;
  }
  return known === name && bytes === undefined ? undefined : `{${known}}${bytes?.toString('base64') ?? body}`;
}

function bodyOf(body: string, encoding: string): Buffer {
  return Buffer.from(body, encoding.toLowerCase() === 'hex' ? 'hex' : 'base64');
}

/** `$1$salt$rounds$hexadecimal digits`, with SHA-1. */
function pbkdf2OfDovecot(body: string): string | undefined {
  const [, salt = '', rounds, digits = ''] = /^\$1\$([^$]+)\$(\d+)\$([0-9a-f]{40})$/i.exec(body) ?? [];
  return rounds && `$pbkdf2$${rounds}$${base64(Buffer.from(salt))}$${base64(Buffer.from(digits, 'hex'))}`;
}

/** Elasticsearch puts the base64 of eight bytes of salt before the one of the digest. */
function elasticSsha256(text: string): string | undefined {
  const [, salt = '', digest] = /^\{SSHA256\}([A-Za-z0-9+/]{11}=)([A-Za-z0-9+/]{43}=)$/i.exec(text) ?? [];
  if (digest === undefined) return undefined;
  return `{SSHA256}${Buffer.concat([digest, salt].map((part) => Buffer.from(part, 'base64'))).toString('base64')}`;
}

/** XenForo 1 and others keep PHP's `a:2:{s:4:"hash";s:40:"…";s:4:"salt";s:10:"…";}`, and also the hash alone. */
function phpSerialized(text: string): string | undefined {
  if (!/^a:\d{1,2}:\{/.test(text)) return undefined;
  const hash = phpText(text, PHP_HASH);
  const salt = phpText(text, PHP_SALT);
  return hash === undefined || salt === undefined || salt === '' ? hash : `${hash}:${salt}`;
}

const PHP_HASH = /s:4:"hash";s:(\d{1,4}):"/;
const PHP_SALT = /s:4:"salt";s:(\d{1,4}):"/;

/** A text of a serialized array; its length counts bytes. */
function phpText(text: string, key: RegExp): string | undefined {
  const found = key.exec(text);
  if (found === null) return undefined;
  const rest = Buffer.from(text.slice(found.index + found[0].length));
  return rest.subarray(0, Number(found[1])).toString();
}

/** `$s0$e0801$salt$hash` of SCryptUtil, `$e0801$salt$hash` of Password4j: log2 of N, then r and p in one byte each. */
function scryptOfJava(text: string): string | undefined {
  const [, costs, salt = '', digest = ''] = /^\$(?:s0\$)?([0-9a-f]{5,6})\$([^$]+)\$([^$]+)$/i.exec(text) ?? [];
  if (costs === undefined) return undefined;
  const number = parseInt(costs, 16);
  return `$scrypt$ln=${number >> 16},r=${(number >> 8) & 0xff},p=${number & 0xff}$${bare(salt)}$${bare(digest)}`;
}

/** `400$8$1$salt$hash`, all in hexadecimal digits; zeros before a salt do not count. github.com/pbhogan/scrypt, engine.rb */
const RUBY = /^([0-9a-f]{1,6})\$([0-9a-f]{1,4})\$([0-9a-f]{1,2})\$((?:[0-9a-f]{2}){8,32})\$((?:[0-9a-f]{2}){16,})$/i;
/** Salts of version 1 of the gem have 20 bytes, and its hashes are the SHA-1 of 256 bytes. */
const RUBY_1_SALT = 40;

function scryptOfRuby(text: string): string | undefined {
  const [, n = '', r = '', p = '', salt = '', digest] = RUBY.exec(text) ?? [];
  const ln = Math.log2(parseInt(n, 16));
  if (digest === undefined || !Number.isInteger(ln) || salt.length === RUBY_1_SALT) return undefined;
  const bytes = Buffer.from(salt.replace(/^(?:00)+/, ''), 'hex');
  const cost = `ln=${ln},r=${parseInt(r, 16)},p=${parseInt(p, 16)}`;
  return `$scrypt$${cost}$${base64(bytes)}$${base64(Buffer.from(digest, 'hex'))}`;
}

const ORDER = ['ln', 'r', 'p'];

/** The parameters of scrypt's PHC text in the usual order, and N as its logarithm. */
function inOrder(text: string): string | undefined {
  const [, given, salt = '', digest = ''] =
    /^\$scrypt\$(?:v=\d+\$)?([a-zA-Z]+=[^$]*)\$([^$]*)\$([^$]*)$/.exec(text) ?? [];
  if (given === undefined) return undefined;
  const pairs = given.split(',').map((pair) => pair.split('=', 2) as [string, string]);
  const named = pairs.map(([name, value]): [string, string] =>
    name.toLowerCase() === 'n' && Number.isInteger(Math.log2(Number(value)))
      ? ['ln', String(Math.log2(Number(value)))]
      : [name, value],
  );
  if (named.some(([name]) => !ORDER.includes(name))) return undefined;
  const sorted = named.toSorted(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
  return `$scrypt$${sorted.map((pair) => pair.join('=')).join(',')}$${bare(salt)}$${bare(digest)}`;
}

/** `$pbkdf2$f=SHA256,w=600000,l=32$salt$hash`, in any order. */
function pbkdf2OfMattermost(text: string): string | undefined {
  const [, parameters, salt = '', digest = ''] = /^\$pbkdf2\$([a-z]=[^$]*)\$([^$]+)\$([^$]+)$/i.exec(text) ?? [];
  const given = Object.fromEntries((parameters ?? '').split(',').map((pair) => pair.split('=', 2)));
  const size = /^SHA-?(1|224|256|384|512)$/i.exec(given.f ?? '')?.[1];
  const name = size === '1' ? 'pbkdf2' : `pbkdf2-sha${size}`;
  return size === undefined ? undefined : `$${name}$${given.w}$${bare(salt)}$${bare(digest)}`;
}

/** Hashes of an MD5, by the letter before them: TYPO3's and Drupal's updates of older hashes. */
const OF_MD5 = /^[MU](\$[\dA-Za-z]+\$.+)$/;

function ofDigest(text: string): string | undefined {
  // WoltLab 5.4 and later
  const twice = /^DoubleBcrypt:(\$2[axy]\$.+)$/i.exec(text)?.[1];
  if (twice !== undefined) return `$formula$bcrypt(bcrypt(password))$$${twice}`;
  const hash = OF_MD5.exec(text)?.[1];
  return hash === undefined ? undefined : `$formula$crypt(md5(password))$$${hash}`;
}

const PASSWORD4J = ['sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

/** `$3$number$salt$hash`: the digest, then 2^32 times the rounds and the bits of the hash. CompressedPBKDF2Function.java */
function pbkdf2OfPassword4j(text: string): string | undefined {
  const [, digest = '', number = '', salt = '', hash] = /^\$([1-5])\$(\d{10,18})\$([^$]+)\$([^$]+)$/.exec(text) ?? [];
  if (hash === undefined) return undefined;
  const name = PASSWORD4J[Number(digest) - 1];
  const rounds = BigInt(number) >> 32n;
  return `$${name === 'sha1' ? 'pbkdf2' : `pbkdf2-${name}`}$${rounds}$${bare(salt)}$${bare(hash)}`;
}

function base64(bytes: Buffer): string {
  return bare(bytes.toString('base64'));
}

function bare(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
}

/** What no scheme verifies, and whose beginning does not say what it is. */
const REFUSED: readonly { form: RegExp; name: string }[] = [
  { form: RUBY, name: 'ruby-scrypt' },
  { form: /^a:\d{1,2}:\{s:/, name: 'php-serialized' },
];

/** Digests that programs of all ages make, so that nothing says in which encoding the password was. */
const BARE_DIGEST = /^(?:(?:md5|sha\d+)(?:-plain|:salt)|(?:md5)?salted-.*|md5salted-.*|hmac-.*|\{S?(?:SHA|MD5)\d*\})$/;

/** Whether the hash is a digest of the password, without a program that is known. */
export function isBareDigest(hash: string): boolean {
  return BARE_DIGEST.test(schemeOf(hash) ?? '');
}
