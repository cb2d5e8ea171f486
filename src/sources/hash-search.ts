/**
 * Finds every password hash in a record, however deep, also in cells that hold JSON as text.
 *
 * Guarantee: looks at each value once; places are told by the names of fields, never by what stands in them.
 */
import { hashProblem } from '../passwords/registry.ts';
import { hashAt, isOfPassword, namedHash } from './hash-like.ts';
import { CONTEXT } from './read/json.ts';
import type { Fields } from './source.ts';
import { isFields, parseJson } from './values.ts';

export interface FoundHash {
  text: string;
  /** As messages name it. */
  scheme: string;
  /** Names of the fields that lead to it, the outermost first; `[]` for an element of a list. */
  path: readonly string[];
}

const ELEMENT = '[]';
/** What names a scheme beside its hash: `password-bcrypt`, `SHA-512`. */
const SCHEME_NAME = /sha|md5|pbkdf|crypt|argon|phpass|hash/i;
const LONGEST_NAME = 40;
const JSON_TEXT = /^\s*[{[]/;
/** What is in every text of JSON that holds a hash. */
const MENTION = /\$|pass|pwd|hash|credential/i;

/** In the order of the record. */
export function hashesIn(record: Fields): FoundHash[] {
  const found: FoundHash[] = [];
  look(record, [], false, found);
  return found;
}

function look(value: unknown, path: readonly string[], isTyped: boolean, found: FoundHash[]): void {
  if (typeof value === 'string') lookAtText(value, path, isTyped, found);
  else if (Array.isArray(value)) {
    const inside = [...path, ELEMENT];
    for (const element of value) look(element, inside, isTyped, found);
  } else if (isFields(value)) {
    const values = Object.entries(value);
    const namesScheme = path.length > 0 && values.some(([, text]) => isSchemeName(text));
    for (const [name, inner] of values) if (name !== CONTEXT) look(inner, [...path, name], namesScheme, found);
  }
}

function lookAtText(text: string, path: readonly string[], isTyped: boolean, found: FoundHash[]): void {
  const trimmed = text.trim();
  const scheme = hashAt(trimmed, path, isTyped);
  if (scheme !== undefined) found.push({ text: trimmed, scheme, path });
  else if (JSON_TEXT.test(text) && MENTION.test(text)) {
    const inner = parseJson(text);
    if (typeof inner === 'object') look(inner, path, false, found);
  }
}

function isSchemeName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_NAME && !value.includes('$') && SCHEME_NAME.test(value);
}

/** What people call the place: `password.value`, `credentials[].hash`. Keys that are data and no names are `*`. */
export function placeOf({ path }: FoundHash): string {
  const shown = path.map((name) => (name === ELEMENT || /^[a-z_][\w .:-]{0,39}$/i.test(name) ? name : '*'));
  return shown.join('.').replaceAll(`.${ELEMENT}`, ELEMENT);
}

/** Names that say that a hash is not, or no longer, the one to log in with. */
const NOT_CURRENT =
  /old|prev|hist|legacy|former|last|temp|backup|archiv|reset|token|recover|(?:^|_)pin(?:_|$)|question|answer|secret|api|code|otp|device|key/i;
const OF_THE_LOGIN = /^(?:hash|bcrypt|digest|pw_?hash)$/i;

/** The one hash of a record that is clearly its user's password and can be verified; undefined when there is none, or several. */
export function passwordHashIn(record: Fields): FoundHash | undefined {
  const usable = hashesIn(record).filter(({ text, path }) => {
    const isLogin = isOfPassword(path) || path.some((name) => OF_THE_LOGIN.test(name));
    const isWhole = namedHash(text) !== undefined && hashProblem(text) === undefined;
    return isWhole && isLogin && !path.some((name) => NOT_CURRENT.test(name));
  });
  const [first] = usable;
  return first && usable.every(({ text }) => text === first.text) ? first : undefined;
}
