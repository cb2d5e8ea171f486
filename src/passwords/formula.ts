/**
 * Formulas: how an old system made its hashes, as people write it down: `sha1(salt + sha1(password))`,
 * `pbkdf2-sha256(rounds, salt)`, `bcrypt(md5(password))`. docs/passwords.md has the grammar.
 *
 * As in PHP and MySQL, a digest inside a formula is its lower-case hexadecimal digits; `raw` makes bytes of it, and
 * `base64` encodes its bytes.
 */

/** A part of a formula. `rounds` is a word until the number of a user is known. */
export type Term =
  | { kind: 'password' | 'salt' }
  | { kind: 'text'; bytes: Buffer }
  | { kind: 'join'; parts: readonly Term[] }
  | Call;

export interface Call {
  kind: 'call';
  name: string;
  rounds?: number | 'rounds';
  args: readonly Term[];
}

export interface Formula {
  /** A digest, or the name of a hash that contains its own salt; that has several arguments, where any may be it. */
  outer: Call;
  /** How the digest is written, where the formula says it. */
  encoding?: 'hex' | 'base64';
}

/** The digests of formulas, with their lengths in bytes. */
const DIGEST_BYTES: Readonly<Record<string, number>> = {
  md5: 16,
  sha1: 20,
  sha224: 28,
  sha256: 32,
  sha384: 48,
  sha512: 64,
  'sha3-256': 32,
  'sha3-512': 64,
};
const DIGEST_NAMES = Object.keys(DIGEST_BYTES);
const PBKDF2_DIGESTS = DIGEST_NAMES.filter((name) => name !== 'md5');
/** Hashes that name their scheme and contain their salt; `crypt` is any of them. */
const WHOLE_HASHES = ['bcrypt', 'argon2', 'scrypt', 'crypt'] as const;
/** What makes bytes that are no text. */
const BINARY = ['raw', 'unhex', 'unbase64', 'utf16'];
const OF_TEXT = ['lower', 'upper', 'trim', 'hex', 'base64', ...BINARY];

const LONGEST = 200;
const DEEPEST = 8;

/** How a function takes its arguments. */
interface Shape {
  rounds: 'none' | 'optional' | 'required';
  args: number;
}

const SHAPES = new Map<string, Shape>([
  ...DIGEST_NAMES.flatMap((name): [string, Shape][] => [
    [name, { rounds: 'optional', args: 1 }],
    [`${name}-hex`, { rounds: 'required', args: 1 }],
    [`symfony-${name}`, { rounds: 'required', args: 1 }],
    [`hmac-${name}`, { rounds: 'none', args: 2 }],
  ]),
  ...PBKDF2_DIGESTS.map((name): [string, Shape] => [`pbkdf2-${name}`, { rounds: 'required', args: 2 }]),
  ...[...OF_TEXT, ...WHOLE_HASHES].map((name): [string, Shape] => [name, { rounds: 'none', args: 1 }]),
]);

const PASSWORD: Term = { kind: 'password' };

/** A formula that a person or a hash names; a text that says what is wrong with it. */
export function parseFormula(text: string): Formula | string {
  if (text.length > LONGEST) return `it is longer than ${LONGEST} characters`;
  try {
    const parser = new Parser(tokensOf(text));
    const found = parser.whole();
    return { ...parser.encoded(), outer: requireSound(withoutEncoding(found)) };
  } catch (error) {
    if (error instanceof FormulaError) return error.message;
    throw error;
  }
}

class FormulaError extends Error {}

type Token = { word: string } | { number: number } | { bytes: Buffer } | { sign: string };

const TOKEN = /\s*(?:x'((?:[0-9a-f]{2})*)'|'([^']*)'|"([^"]*)"|\$?([a-z_][\w-]*)|(\d{1,9})|(\|\|?|[+.(),]))/iy;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const rest = text.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < rest.length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(rest);
    if (!found) throw new FormulaError(`character ${at + 1} cannot be read`);
    tokens.push(tokenOf(found));
  }
  return tokens;
}

function tokenOf([, hex, single, double, word, number, sign = '']: RegExpExecArray): Token {
  const literal = single ?? double;
  if (hex !== undefined) return { bytes: Buffer.from(hex, 'hex') };
  if (literal !== undefined) return { bytes: Buffer.from(literal) };
  if (word !== undefined) return { word: plainWord(word) };
  if (number !== undefined) return { number: Number(number) };
  // PHP joins texts with a dot, SQL with two bars.
  return { sign: sign === '.' || sign === '||' ? '+' : sign };
}

const SYNONYMS: Readonly<Record<string, string>> = {
  pass: 'password',
  pwd: 'password',
  passwd: 'password',
  iterations: 'rounds',
  tolower: 'lower',
  strtolower: 'lower',
  toupper: 'upper',
  strtoupper: 'upper',
  utf16le: 'utf16',
};

/** The name of a function or a word, in one spelling. */
function plainWord(word: string): string {
  const plain = word
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/(^|-)sha-(\d{3}|1)(?!\d)/g, '$1sha$2');
  return Object.hasOwn(SYNONYMS, plain) ? (SYNONYMS[plain] as string) : plain;
}

class Parser {
  private at = 0;
  private depth = 0;
  private encoding: Formula['encoding'];
  private readonly tokens: readonly Token[];

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  whole(): Term {
    const term = this.term();
    if (this.at < this.tokens.length) throw new FormulaError('something follows its end');
    return term;
  }

  encoded(): Pick<Formula, 'encoding'> {
    return this.encoding === undefined ? {} : { encoding: this.encoding };
  }

  private term(): Term {
    const parts = [this.part()];
    while (this.take('+')) parts.push(this.part());
    return parts.length === 1 ? (parts[0] as Term) : { kind: 'join', parts };
  }

  private part(): Term {
    const token = this.tokens[this.at++];
    if (token && 'bytes' in token) return { kind: 'text', bytes: token.bytes };
    if (!token || !('word' in token)) throw new FormulaError('a word such as password or salt is missing');
    const { word } = token;
    if (this.take('(')) return this.call(word);
    if (word === 'password' || word === 'salt') return { kind: word };
    throw new FormulaError(`the word "${word}" is not known; use password, salt, and rounds as an argument`);
  }

  private call(name: string): Call {
    const shape = SHAPES.get(name);
    if (!shape) throw new FormulaError(`there is no function "${name}"`);
    if (++this.depth > DEEPEST) throw new FormulaError(`it has more than ${DEEPEST} functions inside each other`);
    const args: Term[] = [];
    let rounds: Call['rounds'];
    do {
      const given = this.rounds();
      if (given === undefined) {
        if (!this.takeEncoding()) args.push(this.term());
      } else if (rounds === undefined && shape.rounds !== 'none') rounds = given;
      else throw new FormulaError(`${name} takes no such number of rounds`);
    } while (this.take(',') || (this.isWholeOf(name) && this.take('|')));
    if (!this.take(')')) throw new FormulaError('a closing parenthesis is missing');
    this.depth--;
    if (rounds === undefined && shape.rounds === 'required') throw new FormulaError(`${name} needs the rounds`);
    const all = name.startsWith('pbkdf2-') ? saltFirst(args) : args;
    if (all.length !== shape.args && !(isWholeName(name) && all.length > 1))
      throw new FormulaError(`${name} takes another number of arguments`);
    return { kind: 'call', name, args: all, ...(rounds === undefined ? {} : { rounds }) };
  }

  /** `crypt(password | md5(password))`: users of one table may have either. */
  private isWholeOf(name: string): boolean {
    return this.depth === 1 && isWholeName(name);
  }

  /** A number, or the word for it, as an argument of its own. */
  private rounds(): Call['rounds'] {
    const token = this.tokens[this.at];
    const isNumber = token && 'number' in token;
    if (!token || !(isNumber || ('word' in token && token.word === 'rounds'))) return undefined;
    this.at++;
    return isNumber ? token.number : 'rounds';
  }

  /** The last argument of the outermost function may tell how its digest is written. */
  private takeEncoding(): boolean {
    const [token, next] = [this.tokens[this.at], this.tokens[this.at + 1]];
    const isLast = this.depth === 1 && next && 'sign' in next && next.sign === ')';
    if (!isLast || !token || !('word' in token) || (token.word !== 'hex' && token.word !== 'base64')) return false;
    this.at++;
    this.encoding = token.word;
    return true;
  }

  private take(sign: string): boolean {
    const token = this.tokens[this.at];
    if (!token || !('sign' in token) || token.sign !== sign) return false;
    this.at++;
    return true;
  }
}

/** PBKDF2 without a text is of the password; programs differ in the order of its arguments. */
function saltFirst(args: readonly Term[]): Term[] {
  const [first, second = PASSWORD, ...more] = args;
  if (!first) return [];
  return mentions(first, 'password') && !mentions(second, 'password')
    ? [second, first, ...more]
    : [first, second, ...more];
}

/** `hex(…)`, `upper(…)` around the outermost digest say how it is written, which its text tells as well. */
function withoutEncoding(term: Term): Term {
  const isAround = term.kind === 'call' && ['lower', 'upper', 'hex', 'base64', 'raw'].includes(term.name);
  return isAround ? withoutEncoding(term.args[0] as Term) : term;
}

function requireSound(term: Term): Call {
  if (term.kind !== 'call' || !(isDigest(term) || isWhole(term)))
    throw new FormulaError('its outermost part must be a digest such as sha256(…), or bcrypt(…)');
  if (!mentions(term, 'password')) throw new FormulaError('it does not contain the password');
  for (const call of callsIn(term)) {
    const [arg] = call.args as [Term];
    if (call.name === 'raw' && !isDigest(arg)) throw new FormulaError('raw takes a digest');
    if (['unhex', 'unbase64'].includes(call.name) && arg.kind !== 'salt')
      throw new FormulaError(`${call.name} takes the salt`);
    if (isWhole(call) && call !== term && !(call.name === 'bcrypt' && term.name === 'bcrypt'))
      throw new FormulaError(`${call.name} must be the outermost function`);
    if (isWhole(call) && call.args.some(isBinary))
      throw new FormulaError(`${call.name} takes text, so use hex(…) or base64(…)`);
  }
  return term;
}

/** Whether bytes that are no text get into it, other than through a digest. */
function isBinary(term: Term): boolean {
  if (term.kind === 'join') return term.parts.some(isBinary);
  if (term.kind !== 'call' || isDigest(term) || term.name === 'hex' || term.name === 'base64') return false;
  return BINARY.includes(term.name) || term.args.some(isBinary);
}

export function isWhole({ name }: Call): boolean {
  return isWholeName(name);
}

function isWholeName(name: string): boolean {
  return (WHOLE_HASHES as readonly string[]).includes(name);
}

/** Whether it is a function that makes a digest. */
export function isDigest(term: Term): boolean {
  return digestCall(term) !== undefined;
}

/** The function, if it makes a digest. */
export function digestCall(term: Term): Call | undefined {
  return term.kind === 'call' && !isWhole(term) && !OF_TEXT.includes(term.name) ? term : undefined;
}

/** The digest of a function: `sha256` of `pbkdf2-sha256`. */
export function digestOf({ name }: Call): string {
  return name.replace(/^(?:hmac|pbkdf2|symfony)-/, '').replace(/-hex$/, '');
}

/** The length of the digest of a function, in bytes. */
export function digestLength(call: Call): number {
  return DIGEST_BYTES[digestOf(call)] as number;
}

/** Whether a digest may have this many bytes. */
export function isDigestLength(bytes: number): boolean {
  return Object.values(DIGEST_BYTES).includes(bytes);
}

function partsOf(term: Term): readonly Term[] {
  if (term.kind === 'join') return term.parts;
  return term.kind === 'call' ? term.args : [];
}

/** All functions of a formula, the outermost first. */
export function callsIn(term: Term): Call[] {
  return [...(term.kind === 'call' ? [term] : []), ...partsOf(term).flatMap(callsIn)];
}

export function mentions(term: Term, kind: 'password' | 'salt'): boolean {
  return term.kind === kind || partsOf(term).some((part) => mentions(part, kind));
}

/** Whether the password itself, and not a digest of it, is in the text. */
export function hasBarePassword(term: Term): boolean {
  return term.kind === 'password' || (!isDigest(term) && partsOf(term).some(hasBarePassword));
}

/** Whether the salt is used as it is written, and not as what it encodes. */
export function hasBareSalt(term: Term): boolean {
  const isDecoded = term.kind === 'call' && ['unhex', 'unbase64'].includes(term.name);
  return term.kind === 'salt' || (!isDecoded && partsOf(term).some(hasBareSalt));
}

/** The formula without blanks, as a hash contains it. @param rounds in place of the word */
export function formulaText(term: Term, rounds?: number): string {
  if (term.kind === 'text') return literal(term.bytes);
  if (term.kind === 'join') return term.parts.map((part) => formulaText(part, rounds)).join('+');
  if (term.kind !== 'call') return term.kind;
  const number = term.rounds === 'rounds' ? (rounds ?? 'rounds') : term.rounds;
  const args = [...(number === undefined ? [] : [String(number)]), ...term.args.map((arg) => formulaText(arg, rounds))];
  return `${term.name}(${args.join(isWhole(term) ? '|' : ',')})`;
}

/** Printable characters as they are, without those that end a field of a hash. */
function literal(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  return /^[!-#%-&(-~]*$/.test(text) ? `'${text}'` : `x'${bytes.toString('hex')}'`;
}
