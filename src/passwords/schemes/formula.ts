/**
 * A hash with the formula that says how it was made (`src/passwords/formula.ts`): `$formula$<formula>$<salt>$<hash>`,
 * such as `$formula$sha1(salt+sha1(password))$c2FsdA$…`. Salt and hash are base64, and the salt may be empty. Where the
 * formula's outermost function is `bcrypt`, `argon2`, `scrypt` or `crypt`, the hash is a whole one of that scheme:
 * `$formula$bcrypt(md5(password))$$$2b$10$…`.
 *
 * Many columns of salts hold hexadecimal digits or base64. Some systems use them as they are written, others decode them,
 * and the text does not tell: a password is correct if it matches with either reading of the salt.
 */
import { createHmac, hash, pbkdf2Sync } from 'node:crypto';
import { isShapedAs } from '../forms.ts';
import {
  type Call,
  callsIn,
  digestCall,
  digestLength,
  digestOf,
  type Formula,
  hasBarePassword,
  hasBareSalt,
  isWhole,
  mentions,
  parseFormula,
  type Term,
} from '../formula.ts';
import {
  decodeBase64,
  decodeHex,
  defineScheme,
  numberProblem,
  type Scheme,
  type Secret,
  SHORTEST_DIGEST,
  sameBytes,
} from '../scheme.ts';
import { digestWork, pbkdf2Work } from '../work.ts';
import { argon2Schemes } from './argon2.ts';
import { bcryptCost, bcryptLibrary, bcryptScheme } from './bcrypt.ts';
import { drupal7Scheme } from './drupal7.ts';
import { apr1CryptScheme, md5CryptScheme } from './md5-crypt.ts';
import { roundsProblem } from './pbkdf2.ts';
import { phpassScheme } from './phpass.ts';
import { scryptScheme } from './scrypt.ts';
import { sha1CryptScheme } from './sha1-crypt.ts';
import { sha2CryptSchemes } from './sha2-crypt.ts';
import { yescryptScheme } from './yescrypt.ts';

const PREFIX = '$formula$';
const LONGEST_HASH = 400;
const MOST_ROUNDS = 1_000_000;

const WHOLE: Readonly<Record<string, readonly Scheme[]>> = {
  bcrypt: [bcryptScheme],
  argon2: argon2Schemes,
  scrypt: [scryptScheme],
  crypt: [
    bcryptScheme,
    ...argon2Schemes,
    scryptScheme,
    phpassScheme,
    drupal7Scheme,
    ...sha2CryptSchemes,
    md5CryptScheme,
    apr1CryptScheme,
    sha1CryptScheme,
    yescryptScheme,
  ],
};
interface Parts {
  outer: Call;
  /** The readings of the salt. */
  salts: readonly Buffer[];
  digest: Buffer;
  /** A hash that contains its own salt, and its scheme. */
  whole?: { scheme: Scheme; hash: string };
}

export const formulaScheme = defineScheme({
  name: 'formula',
  matches: (encoded) => encoded.startsWith(PREFIX),
  longest: LONGEST_HASH,
  parse,
  work: ({ outer, salts, whole }) => salts.length * workOfCalls(outer, whole),
  seesAll(password, encoded) {
    const parts = parse(encoded);
    if (typeof parts === 'string' || !parts.whole || !hasBarePassword(parts.outer)) return true;
    const { salts, whole } = parts;
    // A digest depends on the whole password, also where bcrypt ignores its last digits.
    const bare = innermost(parts.outer).filter(hasBarePassword);
    const texts = bare.map((term) => String(textOf(term, { salt: salts[0] as Buffer, password })));
    return texts.every((text) => whole.scheme.seesAll(text, whole.hash));
  },
  verify({ outer, salts, digest, whole }, password) {
    if (whole) {
      const texts = textsOf(outer.args, (term) => textOf(term, { salt: salts[0] as Buffer, password }, whole.hash));
      return texts.some((text) => whole.scheme.verify(whole.hash, text));
    }
    const values = { password: Buffer.from(password), bytes: digest.length };
    return salts.some((salt) => sameBytes(digestBytes(outer, { ...values, salt }), digest));
  },
});

/** The formula, the salt, and the rest of the text. */
const FIELDS = /^([^$]*)\$([^$]*)\$(.+)$/s;

function parse(encoded: string): Parts | string {
  const [, text, saltText = '', value = ''] = FIELDS.exec(encoded.slice(PREFIX.length)) ?? [];
  if (text === undefined) return 'the fields are not formula, salt and hash';
  const formula = parseFormula(text);
  // A broken text may have parts of the hash where the formula should be.
  if (typeof formula === 'string') return 'the formula is not valid';
  const { outer } = formula;
  const problem = callsIn(outer).map(roundsProblemOf).find(Boolean);
  if (problem !== undefined) return problem;
  const salt = decodeBase64(saltText);
  if (salt === undefined) return 'the salt is not base64';
  if (salt.length === 0 && mentions(outer, 'salt')) return 'the salt is missing';
  const unread = callsIn(outer).find(({ name }) => isUnread(name, salt));
  if (unread) return unread.name === 'unhex' ? 'the salt is not hexadecimal' : 'the salt is not base64';
  if (isWhole(outer)) return withWhole(formula, salt, value);
  const salts = hasBareSalt(outer) ? readings(salt) : [salt];
  const digest = decodeBase64(value);
  if (digest === undefined) return 'the hash is not base64';
  return lengthProblem(outer, digest.length) ?? { outer, salts, digest };
}

function roundsProblemOf({ name, rounds }: Call): string | undefined {
  if (rounds === 'rounds') return 'the number of rounds is missing';
  if (rounds === undefined) return undefined;
  return name.startsWith('pbkdf2-') ? roundsProblem(rounds) : numberProblem('rounds', rounds, 1, MOST_ROUNDS);
}

function isUnread(name: string, salt: Buffer): boolean {
  return (name === 'unhex' && fromHex(salt) === undefined) || (name === 'unbase64' && fromBase64(salt) === undefined);
}

function withWhole({ outer }: Formula, salt: Buffer, value: string): Parts | string {
  const scheme = WHOLE[outer.name]?.find((one) => one.matches(value));
  if (!scheme) return `what follows the salt is not a hash of ${outer.name}`;
  return scheme.check(value) ?? { outer, salts: [salt], digest: Buffer.alloc(0), whole: { scheme, hash: value } };
}

/** The first bytes of PBKDF2's key are enough; more than one block is never needed. */
function lengthProblem(outer: Call, bytes: number): string | undefined {
  const length = digestLength(outer);
  if (!outer.name.startsWith('pbkdf2-')) return bytes === length ? undefined : `the hash is not ${length} bytes`;
  if (bytes < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  return bytes > length ? `the hash is longer than ${length} bytes` : undefined;
}

function fromHex(salt: Buffer): Buffer | undefined {
  const bytes = decodeHex(salt.toString('latin1').replace(/^(?:0x|\\x)/i, ''));
  return bytes?.length === 0 ? undefined : bytes;
}

function fromBase64(salt: Buffer): Buffer | undefined {
  const bytes = decodeBase64(salt.toString('latin1').replaceAll('-', '+').replaceAll('_', '/'));
  return bytes?.length === 0 ? undefined : bytes;
}

/** Shorter texts are hardly an encoding. */
const SHORTEST_ENCODED = 8;

function readings(salt: Buffer): Buffer[] {
  if (salt.length < SHORTEST_ENCODED) return [salt];
  return [salt, fromHex(salt) ?? fromBase64(salt)].filter((reading) => reading !== undefined);
}

function workOfCalls(outer: Call, whole: Parts['whole']): number {
  return callsIn(outer).reduce((sum, call) => sum + workOfCall(call, whole), 0);
}

function workOfCall(call: Call, whole: Parts['whole']): number {
  if (isWhole(call)) return call.args.length * (whole?.scheme.work(whole.hash) ?? 0);
  const [digest, rounds] = [digestOf(call), typeof call.rounds === 'number' ? call.rounds : 0];
  if (call.name.startsWith('pbkdf2-')) return pbkdf2Work(digest, rounds, digestLength(call));
  // The texts of Symfony's rounds are longer than one block, and those of hexadecimal digits too.
  return digestWork(rounds) * (digest === call.name ? 1 : 2);
}

interface Values {
  password: Buffer;
  salt: Buffer;
  /** Length of the outermost digest. */
  bytes: number;
  /** The hash whose salt and cost a function of the same scheme inside it has. */
  whole?: string;
}

/** The text of which a whole hash was made; bytes where the password is in another encoding. */
function textOf(term: Term, { salt, password }: { salt: Buffer; password: Secret }, whole?: string): Secret {
  // A half of a surrogate pair would be replaced by way of bytes.
  if (term.kind === 'password') return password;
  const values = { password: Buffer.from(password), salt, bytes: 0, ...(whole === undefined ? {} : { whole }) };
  const bytes = bytesOf(term, values);
  return typeof password === 'string' ? bytes.toString() : bytes;
}

/**
 * The texts of several arguments, of which any may have been hashed. Where one is a digest, a typed text that looks like
 * it is not tried as it is, as somebody may know the digest and not the password.
 */
function textsOf(args: readonly Term[], read: (term: Term) => Secret): Secret[] {
  const texts = args.map((term) => ({ text: read(term), isTyped: hasBarePassword(term) }));
  const digests = texts.filter(({ isTyped }) => !isTyped);
  const isPerhapsDigest = (typed: Secret) => digests.some(({ text }) => isShapedAs(typed, text));
  return texts.filter(({ text, isTyped }) => !isTyped || !isPerhapsDigest(text)).map(({ text }) => text);
}

/** What bcrypt of bcrypt is made of. */
function innermost({ args }: Call): Term[] {
  return args.flatMap((arg) => (arg.kind === 'call' && isWhole(arg) ? innermost(arg) : [arg]));
}

function bytesOf(term: Term, values: Values): Buffer {
  if (term.kind === 'text') return term.bytes;
  if (term.kind === 'join') return Buffer.concat(term.parts.map((part) => bytesOf(part, values)));
  if (term.kind !== 'call') return values[term.kind];
  const digest = digestCall(term);
  return digest ? Buffer.from(digestBytes(digest, inner(values, digest)).toString('hex')) : changed(term, values);
}

/** A digest inside another one has its full length. */
function inner(values: Values, term: Call): Values {
  return { ...values, bytes: digestLength(term) };
}

function changed({ name, args }: Call, values: Values): Buffer {
  const [arg] = args as [Term];
  const digest = digestCall(arg);
  const bytes =
    digest && (name === 'raw' || name === 'base64') ? digestBytes(digest, inner(values, digest)) : bytesOf(arg, values);
  switch (name) {
    case 'lower':
      return Buffer.from(bytes.toString().toLowerCase());
    case 'upper':
      return Buffer.from(bytes.toString().toUpperCase());
    case 'trim':
      return Buffer.from(bytes.toString().trim());
    case 'hex':
      return digest ? bytes : Buffer.from(bytes.toString('hex'));
    case 'base64':
      return Buffer.from(bytes.toString('base64'));
    case 'unhex':
      return fromHex(bytes) ?? bytes;
    case 'unbase64':
      return fromBase64(bytes) ?? bytes;
    case 'utf16':
      return Buffer.from(bytes.toString(), 'utf16le');
    case 'bcrypt':
      return Buffer.from(sameBcrypt(values.whole as string, bytes));
    default:
      return bytes; // raw
  }
}

/** bcrypt with the cost and the salt of this hash, as a text that begins as it does. */
function sameBcrypt(whole: string, text: Buffer): string {
  return whole.slice(0, 4) + bcryptLibrary().hash(text, bcryptCost(whole), whole.slice(7, 29)).slice(4);
}

/** The bytes of a digest. */
function digestBytes(call: Call, values: Values): Buffer {
  const { name, args } = call;
  const [digest, rounds] = [digestOf(call), typeof call.rounds === 'number' ? call.rounds : 1];
  const [first, second] = args.map((arg) => bytesOf(arg, values)) as [Buffer, Buffer];
  if (name.startsWith('pbkdf2-')) return pbkdf2Sync(second, first, rounds, values.bytes, digest);
  if (name.startsWith('hmac-')) return createHmac(digest, first).update(second).digest();
  let made = hash(digest, first, 'buffer');
  for (let round = 1; round < rounds; round++) made = hash(digest, next(name, made, first), 'buffer');
  return made;
}

/** What the next round digests. */
function next(name: string, made: Buffer, first: Buffer): Buffer | string {
  if (name.startsWith('symfony-')) return Buffer.concat([made, first]);
  return name.endsWith('-hex') ? made.toString('hex') : made;
}
