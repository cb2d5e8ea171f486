/**
 * Completes hashes that do not tell how they were made, after a source has converted a record: with the formula that
 * `--hash-format` gives, that the system is known for, or that fields beside the hash name; and with the salt and the
 * rounds that other fields hold. The result is a hash of the scheme `formula`, which says what it is.
 *
 * Guarantee: a digest beside a salt, rounds or an algorithm is never taken for a digest of the password alone. It is
 * completed, or the user is rejected with a note that says what to do.
 */
import {
  digestLength,
  type Formula,
  formulaText,
  isDigestLength,
  isWhole,
  mentions,
  parseFormula,
} from '../passwords/formula.ts';
import { hashProblem, schemeOf, workOf } from '../passwords/registry.ts';
import type { Note, Person, Skipped } from './entry.ts';
import { knownForm } from './hash-forms.ts';
import { aroundHash, parameter, valued } from './hash-parameters.ts';
import { columnValue, type HashSystem, hashSystemOf } from './hash-systems.ts';
import { bytesOf, unsupported } from './hashes.ts';
import { UsageError } from './read/records.ts';
import type { Convert, ConvertOptions, Fields } from './source.ts';
import { plainName, valueAt } from './values.ts';

/** The converter, with the formulas of the hashes. @throws UsageError when `hashFormat` is not a formula */
export function withHashFormat(convert: Convert, options: ConvertOptions): Convert {
  const given = formulaOf(options);
  return (record) => {
    const person = convert(record);
    return hasHash(person) ? completed(record, person, { given, map: options.map ?? {} }) : person;
  };
}

type Hashed = Person & { hash: string };

function hasHash(person: Person | Skipped): person is Hashed {
  return !('skip' in person) && person.hash !== undefined && person.hash !== '';
}

/** The formula of `--hash-format`. @throws UsageError */
export function formulaOf({ hashFormat }: ConvertOptions): Formula | undefined {
  if (hashFormat === undefined) return undefined;
  const formula = parseFormula(hashFormat);
  if (typeof formula !== 'string') return formula;
  throw new UsageError(
    `--hash-format: ${formula}. Write how the hashes were made, such as sha256(salt + password), ` +
      'sha1(salt + sha1(password)), pbkdf2-sha256(rounds, salt) or bcrypt(md5(password)).',
  );
}

interface Given {
  given: Formula | undefined;
  map: Readonly<Record<string, string>>;
}

/** What is beside a hash. */
interface Parameters {
  salt: Buffer | undefined;
  /** Absent without a number. */
  rounds: number | undefined;
  algorithm: string | undefined;
  position: string | undefined;
  /** Which of them there are, readable or not, with the fields that hold them. */
  fields: Partial<Record<'salt' | 'rounds' | 'algorithm', string>>;
}

function completed(record: Fields, person: Hashed, { given, map }: Given): Person {
  const hash = knownForm(person.hash);
  const around = aroundHash(record, person.hash);
  const system = given === undefined ? hashSystemOf(record) : undefined;
  // A source has built the hash from its parts, so it has read what is beside it.
  if (around === undefined && given === undefined && system?.isInside !== true) return person;
  const found = parametersOf(record, around ?? [record], map, system);
  const known = system && systemFormula(system, record, hash);
  const formula = given ?? known ?? hinted(hash, found) ?? namedBy(record, around ?? [], person.hash);
  if (formula === 'unknown') return withNote({ ...person, ...unsupported('unknown-function') }, namedNote(found));
  const made = formula && madeBy(formula, hash, found, { isGiven: given !== undefined });
  return made === undefined ? checked(person, hash, found, given) : { ...person, hash: made };
}

/** A hash of the scheme `formula`; undefined for a hash that the formula is not about. */
function madeBy(
  formula: Formula,
  hash: string,
  found: Parameters,
  { isGiven }: { isGiven: boolean },
): string | undefined {
  const { outer } = formula;
  const scheme = schemeOf(hash);
  const { salt, digest } = found.salt === undefined ? parted(hash) : { salt: found.salt, digest: hash };
  const text = (value: string) =>
    `$formula$${formulaText(outer, found.rounds)}$${mentions(outer, 'salt') && salt ? base64(salt) : ''}$${value}`;
  // A hash of another scheme than the caller names gets a text that the service rejects, and says why.
  if (isWhole(outer)) {
    return scheme !== undefined && WITH_OWN_SALT.test(scheme) ? text(hash) : undefined;
  }
  const isOpen = scheme === undefined || isPlain(scheme) || (isGiven && scheme.endsWith(':salt'));
  const bytes = isOpen ? digestIn(formula, digest) : undefined;
  return bytes === undefined ? undefined : text(base64(bytes));
}

/** `digest:salt`, and `digest salt` of vBulletin 5. */
const PARTED = /^([0-9a-f]{32,128})[: ](.+)$/is;

function parted(hash: string): { digest: string; salt?: Buffer } {
  const [, digest = hash, salt] = PARTED.exec(hash) ?? [];
  return salt === undefined ? { digest } : { digest, salt: Buffer.from(salt) };
}

/** The bytes of a digest; of a key of PBKDF2, its first block, as each block depends on the whole password. */
function digestIn({ outer, encoding }: Formula, text: string): Buffer | undefined {
  const length = digestLength(outer);
  const isKey = outer.name.startsWith('pbkdf2-');
  const isFit = (bytes: Buffer | undefined) =>
    bytes && (isKey ? bytes.length >= SHORTEST_KEY : bytes.length === length);
  const plain = text.trim().replace(/^(?:0x|\\x)/i, '');
  const readings = (encoding ? [encoding] : (['hex', 'base64'] as const)).map((one) => bytesOf(plain, one));
  return readings.find(isFit)?.subarray(0, length);
}

const SHORTEST_KEY = 12;

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

function isPlain(scheme: string | undefined): boolean {
  return scheme?.endsWith('-plain') === true;
}

/** The parameters in fields that the caller named, else in those of the system, else beside the hash. */
function parametersOf(
  record: Fields,
  around: readonly Fields[],
  map: Given['map'],
  system: HashSystem | undefined,
): Parameters {
  const ofSystem = system?.salt === undefined ? undefined : columnValue(record, system.salt);
  const ownSalt = system?.salt === undefined ? undefined : parameter(system.salt, ofSystem);
  const besideSalt = () => ownSalt ?? valued(around, 'salt');
  const named = (column: string) => (column === '' ? undefined : parameter(column, valueAt(record, column)));
  const salt = map.salt === undefined ? besideSalt() : named(map.salt);
  const rounds = map.iterations === undefined ? valued(around, 'rounds') : named(map.iterations);
  const algorithm = valued(around, 'algorithm');
  const number = Number(rounds?.bytes?.toString().trim());
  return {
    salt: salt?.bytes,
    rounds: Number.isSafeInteger(number) && number > 0 ? number : undefined,
    algorithm: algorithm?.bytes?.toString(),
    position: valued(around, 'position')?.bytes?.toString(),
    fields: {
      ...(salt && { salt: salt.field }),
      ...(rounds && { rounds: rounds.field }),
      ...(algorithm && { algorithm: algorithm.field }),
    },
  };
}

function systemFormula(system: HashSystem, record: Fields, hash: string): Formula | undefined {
  const text = textOfSystem(system, record, hash);
  const formula = text === undefined ? undefined : parseFormula(text);
  return typeof formula === 'string' ? undefined : formula;
}

function textOfSystem(system: HashSystem, record: Fields, hash: string): string | undefined {
  if (system.formulaOf) return system.formulaOf(record);
  const isOpen = schemeOf(hash) === undefined || isPlain(schemeOf(hash));
  return isOpen ? system.digest : system.whole;
}

/**
 * The text in a column of passwords that is a hash and does not look like one: the caller gives a formula, the system is
 * known, or there is a salt beside a digest.
 */
export function isHashBeside(record: Fields, text: string, { hashFormat, map = {} }: ConvertOptions): boolean {
  if (hashFormat !== undefined) return true;
  if (!isDigestLike(text)) return false;
  return hashSystemOf(record) !== undefined || parametersOf(record, [record], map, undefined).fields.salt !== undefined;
}

/** A line that says how the hashes of a file like this one are read; undefined if they say it themselves. */
export function explainFormat(record: Fields, hash: string, { hashFormat }: ConvertOptions): string | undefined {
  if (hashFormat !== undefined) return `  hashes: made by ${hashFormat}`;
  const system = hashSystemOf(record);
  const text = system && textOfSystem(system, record, knownForm(hash));
  return text === undefined
    ? undefined
    : `  hashes: made by ${text}, as ${system?.title} makes them (--hash-format says otherwise)`;
}

/** `bcrypt_of_md5`, `md5_bcrypt`: what a field of hashes is called. */
const WHOLE_OF_DIGEST =
  /^(?:bcrypt|argon2(?:id?)?|scrypt)(?:of|over)?(md5|sha1|sha256|sha512)$|^(md5|sha1|sha256|sha512)(?:in)?bcrypt$/;

/** The formula that the name of the field says; users of one table may have either. */
function namedBy(record: Fields, around: readonly Fields[], hash: string): Formula | undefined {
  const fields = around[0] ?? record;
  const field = Object.keys(fields).find((name) => String(fields[name]).trim() === hash.trim());
  const [, digest, other] = WHOLE_OF_DIGEST.exec(plainName(field ?? '')) ?? [];
  const name = digest ?? other;
  const formula = name === undefined ? undefined : parseFormula(`crypt(${name}(password) | password)`);
  return typeof formula === 'string' ? undefined : formula;
}

const BEFORE = /^(?:prefix|before|start|begin|first|front|left|prepend)/i;
const AFTER = /^(?:suffix|after|end|last|back|right|append)/i;
const PBKDF2 = /^pbkdf2(?:-?with)?-?(?:hmac)?-?sha-?(1|224|256|384|512)$/;

/** `bcrypt(md5($pass))`. */
const WRITTEN = /^\s*[\w-]+\(.*(?:pass|pwd|plain)/i;

/**
 * The formula that fields beside the hash name completely: as a formula, or the algorithm, and where the salt is or how
 * many rounds.
 */
function hinted(hash: string, { salt, rounds, algorithm, position }: Parameters): Formula | 'unknown' | undefined {
  if (algorithm !== undefined && WRITTEN.test(algorithm)) {
    const written = parseFormula(algorithm);
    return typeof written === 'string' || (salt === undefined && mentions(written.outer, 'salt')) ? 'unknown' : written;
  }
  if (salt === undefined || algorithm === undefined) return undefined;
  const name = plainAlgorithm(algorithm);
  const size = PBKDF2.exec(name)?.[1];
  let text: string | undefined;
  if (size !== undefined && rounds !== undefined) text = `pbkdf2-sha${size}(rounds, salt)`;
  else if (`${name}-plain` === schemeOf(hash) && (rounds ?? 1) === 1 && position !== undefined) {
    if (BEFORE.test(position.trim())) text = `${name}(salt + password)`;
    else if (AFTER.test(position.trim())) text = `${name}(password + salt)`;
  }
  const formula = text === undefined ? undefined : parseFormula(text);
  return typeof formula === 'string' ? undefined : formula;
}

/** `SHA-256`, `sha_256` as `sha256`. */
function plainAlgorithm(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[_ ]/g, '-')
    .replace(/^sha2?-(?=\d)/, 'sha');
}

/** Rejects a digest that cannot be of the password alone, and notes a salt that a whole hash does not contain. */
function checked(person: Hashed, hash: string, found: Parameters, given: Formula | undefined): Person {
  const scheme = schemeOf(hash);
  const { salt, rounds, algorithm, fields } = found;
  const isBare = isPlain(scheme) || (scheme === undefined && isDigestLike(hash));
  if (!isBare) {
    const isForeign = salt !== undefined && WITH_OWN_SALT.test(scheme ?? '') && !hash.includes(salt.toString().trim());
    if (!isForeign) return person;
    if (given) return withNote(person, saltIgnored(fields.salt as string));
    return withNote(salted(person, hash, found), saltNotUsed(fields.salt as string));
  }
  const isOther = fields.algorithm !== undefined && `${plainAlgorithm(algorithm ?? '')}-plain` !== scheme;
  const isRepeated = fields.rounds !== undefined && rounds !== 1;
  const why = fields.salt === undefined ? (isRepeated ? 'rounds' : isOther ? 'kind' : undefined) : 'salt';
  if (why === undefined) return person;
  const { hash: named } = unsupported(`${scheme?.replace('-plain', '') ?? 'digest'}-with-${why}`);
  return withNote({ ...person, hash: named }, besideNote(Object.values(fields)));
}

const SALTED = ['salt + password', 'password + salt'];
const DIGESTS = ['md5', 'sha1', 'sha256', 'sha512'].map((digest) => `${digest}(password)`);
const SALTED_DIGESTS = ['md5', 'sha1'].flatMap((digest) => SALTED.map((text) => `${digest}(${text})`));

/** What the hash beside a salt may be of, with most readings first. */
const ANY_PLACES = [[...DIGESTS, ...SALTED_DIGESTS], DIGESTS, []].map((digests) =>
  parseFormula(`crypt(${['password', ...SALTED, ...digests].join('|')})`),
);

/**
 * A hash that contains another salt than the one beside it, which may be a part of the password or of its digest: with as
 * many readings as leave time for the encodings of a password, else for as many as there is time for.
 */
function salted(person: Hashed, hash: string, found: Parameters): Person {
  const made = ANY_PLACES.map((formula) =>
    typeof formula === 'string' ? undefined : madeBy(formula, hash, found, { isGiven: false }),
  ).filter((one) => one !== undefined && hashProblem(one) === undefined) as string[];
  const most = made.find((one) => 2 * workOf(one) <= 1) ?? made.at(-1);
  return most === undefined ? person : { ...person, hash: most };
}

/** Schemes whose hashes contain the only salt that there usually is. */
const WITH_OWN_SALT = /^(?:bcrypt$|argon2|scrypt$|phpass|drupal7|sha2-crypt|md5-crypt|apr1-crypt|sha1-crypt|yescrypt)/;

/** Whether a text may be a digest, in hexadecimal digits or base64. */
export function isDigestLike(text: string): boolean {
  if (/^(?:0x)?(?:[0-9a-f]{2}){16,}$/i.test(text)) return true;
  const bytes = /^[A-Za-z0-9+/_-]{22,}={0,2}$/.test(text) ? Buffer.from(text, 'base64').length : 0;
  return isDigestLength(bytes);
}

function withNote(person: Person, note: Note): Person {
  return { ...person, notes: [...(person.notes ?? []), note] };
}

function besideNote(fields: readonly string[]): Note {
  return {
    id: 'HASH-WITH-SALT',
    message:
      `The hash is a digest beside ${fields.join(', ')}, so it is hardly one of the password alone; the service will ` +
      'reject the user. Say how it was made (--hash-format, the hash format of the console), such as ' +
      'sha256(salt + password); or sha256(password), if it is of the password alone.',
  };
}

function saltNotUsed(field: string): Note {
  return {
    id: 'SALT-NOT-USED',
    message:
      `The hash does not contain the salt in ${field}: passwords are tried alone, with it before or after them, and as ` +
      'digests, unless that takes too long. If the old system did something else, say so (--hash-format, the hash ' +
      'format of the console), such as bcrypt(sha256(salt + password)).',
  };
}

/** As `saltNotUsed`, where somebody has said how hashes were made: the salt is not tried then. */
function saltIgnored(field: string): Note {
  return {
    id: 'SALT-NOT-USED',
    message:
      `The hash does not contain the salt in ${field}, and the hash format that is given does not use it: passwords are ` +
      'tried alone.',
  };
}

function namedNote({ fields }: Parameters): Note {
  return {
    id: 'HASH-NAMED',
    message:
      `${fields.algorithm} names functions that are not known, so the service will reject the user. Say how the hash was ` +
      'made (--hash-format, the hash format of the console), such as bcrypt(md5(password)).',
  };
}
