/**
 * Brings a hash that is known, in another spelling, to the spelling of `src/passwords/schemes/`: inside quotes, base64 or
 * hexadecimal digits, behind the name that a program puts before it, or with its parameters in another order.
 *
 * Guarantee: a hash that can be verified as it is stays as it is, and the result of every change can be verified, so no
 * hash is lost or invented by a guess.
 */
import { hashProblem } from '../passwords/registry.ts';

/** The hash in the spelling that can be verified; the text itself if there is none. */
export function knownForm(text: string): string {
  if (hashProblem(text) === undefined) return text;
  const outer = unwrapped(text.trim());
  const forms = [outer, ...REWRITES.map((rewrite) => rewrite(outer))];
  return forms.find((form) => form !== undefined && hashProblem(form) === undefined) ?? text;
}

/** Where a whole hash is inside another encoding, the hash. */
function unwrapped(text: string): string {
  const plain = /^"(.*)"$/.exec(text)?.[1] ?? text;
  if (/^%24/.test(plain)) return plain.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  if (/^\\\$/.test(plain)) return plain.replaceAll('\\$', '$');
  if (/^\$\$[0-9a-z]+\$\$/.test(plain)) return plain.replaceAll('$$', '$');
  const hex = /^(?:\\x|0x)((?:[0-9a-f]{2})+)$/i.exec(plain)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex').toString('latin1');
  // `$2`, `$a`, `$s`, … in base64; a digest hardly begins so, and what comes out must be a hash.
  if (/^J[A-Za-z0-9+/]{20,}={0,2}$/.test(plain)) return Buffer.from(plain, 'base64').toString('latin1');
  return plain;
}

type Rewrite = (text: string) => string | undefined;

const REWRITES: readonly Rewrite[] = [
  // Nextcloud's versions of its hashers; and names before a bcrypt text.
  (text) => /^[123]\|(\$.*)$/.exec(text)?.[1],
  (text) => /^bcrypt:?(\$2.*)$/i.exec(text)?.[1],
  // Dovecot names crypt's schemes in braces, and an encoding behind a dot.
  (text) => /^\{(?:SHA512-CRYPT|SHA256-CRYPT|BLF-CRYPT|MD5-CRYPT|ARGON2I|ARGON2ID)\}(\$.*)$/i.exec(text)?.[1],
  (text) => /^\{PLAIN-MD5\}([0-9a-f]{32})$/i.exec(text)?.[1],
  withoutEncoding,
  scryptOfJava,
  inOrder,
  pbkdf2OfMattermost,
  ofDigest,
];

function withoutEncoding(text: string): string | undefined {
  const [, name, encoding, body = ''] = /^\{([A-Z0-9-]+)\.(HEX|B64|BASE64)\}(.+)$/i.exec(text) ?? [];
  if (name === undefined) return undefined;
  const base64 = encoding?.toLowerCase() === 'hex' ? Buffer.from(body, 'hex').toString('base64') : body;
  return `{${name.toUpperCase()}}${base64}`;
}

/** `$s0$e0801$salt$hash`: log2 of N, then r and p in one byte each. */
function scryptOfJava(text: string): string | undefined {
  const [, costs, salt, digest] = /^\$s0\$([0-9a-f]{5,6})\$([^$]+)\$([^$]+)$/i.exec(text) ?? [];
  if (costs === undefined) return undefined;
  const number = parseInt(costs, 16);
  return `$scrypt$ln=${number >> 16},r=${(number >> 8) & 0xff},p=${number & 0xff}$${bare(salt)}$${bare(digest)}`;
}

const ORDER = ['ln', 'm', 't', 'r', 'p'];

/** The parameters of a PHC text in the usual order; scrypt's N as its logarithm. */
function inOrder(text: string): string | undefined {
  const [, head, given, rest] =
    /^(\$(?:scrypt|argon2id|argon2i|argon2d)\$(?:v=\d+\$)?)([a-z]+=[^$]*)(\$.*)$/.exec(text) ?? [];
  if (given === undefined) return undefined;
  const pairs = given.split(',').map((pair) => pair.split('=', 2) as [string, string]);
  const named = pairs.map(([name, value]): [string, string] =>
    name === 'n' && Number.isInteger(Math.log2(Number(value)))
      ? ['ln', String(Math.log2(Number(value)))]
      : [name, value],
  );
  if (named.some(([name]) => !ORDER.includes(name))) return undefined;
  const sorted = named.toSorted(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
  return `${head}${sorted.map((pair) => pair.join('=')).join(',')}${rest}`;
}

/** `$pbkdf2$f=SHA256,w=600000,l=32$salt$hash` */
function pbkdf2OfMattermost(text: string): string | undefined {
  const [, name, rounds, salt, digest] = /^\$pbkdf2\$f=SHA(256|512),w=(\d+),l=\d+\$([^$]+)\$([^$]+)$/i.exec(text) ?? [];
  return name === undefined ? undefined : `$pbkdf2-sha${name}$${rounds}$${bare(salt)}$${bare(digest)}`;
}

/** Hashes of a digest, by what precedes them: TYPO3's and Drupal's updates of MD5 hashes, and Authgear's bcrypt. */
const OF_DIGESTS: readonly (readonly [form: RegExp, formula: string])[] = [
  [/^[MU](\$[\dA-Za-z]+\$.+)$/, 'crypt(md5(password))'],
  [/^\$bcrypt-sha512\$(\$2[aby]\$.+)$/, 'bcrypt(base64(sha512(password)))'],
];

function ofDigest(text: string): string | undefined {
  for (const [form, formula] of OF_DIGESTS) {
    const hash = form.exec(text)?.[1];
    if (hash !== undefined) return `$formula$${formula}$$${hash}`;
  }
  return undefined;
}

function bare(base64: string | undefined): string {
  return (base64 ?? '').replace(/=+$/, '');
}
