/**
 * Finds every password hash in a record, to a depth of 32 fields, also in cells that hold JSON as text.
 *
 * Guarantee: visits each value once, and each takes time that does not grow with the record. Names a place by its field
 * names, never by the values in them.
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
/** Names of schemes in a sibling field of the hash: `password-bcrypt`, `SHA-512`. */
const SCHEME_NAME = /sha|md5|pbkdf|crypt|argon|phpass|hash/i;
const LONGEST_NAME = 40;
/** Exports are not nested deeper. Each value is judged by all names that lead to it. */
const DEEPEST = 32;
/** Every JSON text that holds a hash matches this. */
const MENTION = /\$|pass|pwd|hash|credential/i;

/** The hashes of a record, in its order. */
export function hashesIn(record: Fields): FoundHash[] {
  const search = new Search();
  search.visit(record, isUntyped);
  return search.found;
}

/** Whether the object that holds a value names a scheme. */
type IsTyped = () => boolean;

const isUntyped: IsTyped = () => false;

/** Searches the object once, however many of its values ask. */
function typedBy(around: Fields): IsTyped {
  let known: boolean | undefined;
  return () => {
    known ??= Object.values(around).some(isSchemeName);
    return known;
  };
}

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

function isSchemeName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_NAME && !value.includes('$') && SCHEME_NAME.test(value);
}

/**
 * The place as people write it: `password.value`, `credentials[].hash`. A key that is data, not a name, becomes `*`.
 */
export function placeOf({ path }: FoundHash): string {
  const shown = path.map((name) => (name === ELEMENT || /^[a-z_][\w .:-]{0,39}$/i.test(name) ? name : '*'));
  return shown.join('.').replaceAll(`.${ELEMENT}`, ELEMENT);
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
