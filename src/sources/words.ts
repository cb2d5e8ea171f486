/**
 * What people write in tables of their own, in many languages: the names of columns, genders and forms of address, and the
 * names of languages. The words are data in `words/`; the names of languages are those of Unicode (CLDR), which Node.js
 * has.
 */
import GENDER_WORDS from './words/genders.json' with { type: 'json' };
import HEADING_WORDS from './words/headings.json' with { type: 'json' };
import MORE_LANGUAGES from './words/languages.json' with { type: 'json' };

/** The name of a column without case, accents and punctuation: `Prénom(s)` becomes `prenoms`. */
export function headingOf(column: string): string {
  return plain(withoutRemark(column));
}

/** Without case and accents; letters of all scripts stay. */
export function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ı', 'i')
    .replaceAll('ł', 'l')
    .replaceAll('ø', 'o')
    .replaceAll('đ', 'd');
}

/** Remarks that Google Workspace and others add to the names of columns. */
const REMARK = /\s*\[(?:required|read only|upload only|optional)\]/gi;

/** `Email Address [Required]` becomes `Email Address`. */
export function withoutRemark(column: string): string {
  return column.replace(REMARK, '');
}

function plain(text: string): string {
  return folded(text).replace(/[^\p{L}\p{N}]/gu, '');
}

/** Names of columns by field, as `headingOf` writes them. */
type Headings = Readonly<Record<string, readonly string[]>>;

/** By language. */
export const HEADINGS: readonly Headings[] = Object.values(HEADING_WORDS).map((fields) =>
  Object.fromEntries(Object.entries(fields).map(([field, names]) => [field, names.map(plain)])),
);

/**
 * The field of a name that says a first, a last or a whole name by the columns beside it: `Nom` is a last name beside
 * `Prénom`, `Nombre` a first name beside `Apellidos`, and each is a whole name alone.
 * @param columns those that are known, by field
 */
export function fieldOfName(
  heading: string,
  columns: { firstName?: string | undefined; lastName?: string | undefined },
): 'firstName' | 'lastName' | 'displayName' | undefined {
  let field: 'displayName' | undefined;
  for (const { familyOrFull = [], givenOrFull = [], firstName = [], lastName = [] } of HEADINGS) {
    if (!familyOrFull.includes(heading) && !givenOrFull.includes(heading)) continue;
    field = 'displayName';
    const [first, last] = [columns.firstName, columns.lastName];
    if (familyOrFull.includes(heading) && !last && first && firstName.includes(headingOf(first))) return 'lastName';
    if (givenOrFull.includes(heading) && !first && last && lastName.includes(headingOf(last))) return 'firstName';
  }
  return field;
}

export type Gender = keyof typeof GENDER_WORDS;

const GENDERS = new Map<string, Gender>(
  Object.entries(GENDER_WORDS).flatMap(([gender, words]) =>
    words.map((word): [string, Gender] => [plain(word), gender as Gender]),
  ),
);

/**
 * The gender that a word or a form of address says; undefined when it says none, or more than one.
 *
 * `female`, `GENDER_FEMALE`, `weiblich`, `Frau Dr.`, `Mme`, `Señora`, `De heer`.
 */
export function genderNamed(text: string): Gender | undefined {
  const known = GENDERS.get(plain(text.replace(/^GENDER_/i, '')));
  if (known !== undefined) return known;
  // A letter may be the beginning of anything.
  const words = text.split(/[^\p{L}]+/u).filter((word) => word.length > 1);
  const found = new Set(words.map((word) => GENDERS.get(plain(word))).filter((one) => one !== undefined));
  return found.size === 1 ? [...found][0] : undefined;
}

/** Names of languages in these languages are read, and the name of each language in itself. */
const NAMED_IN = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl'];
/** A shorter text is a language tag. */
const SHORTEST_NAME = 4;

let names: ReadonlyMap<string, string> | undefined;

/** The tag of a language that is named: `Deutsch`, `französisch`, `Español`, `English (UK)`; undefined for other texts. */
export function languageNamed(text: string): string | undefined {
  names ??= languageNames();
  const whole = plain(text);
  if (whole.length < SHORTEST_NAME) return undefined;
  return names.get(whole) ?? names.get(plain(text.replace(/\([^()]*\)\s*$/, '')));
}

function languageNames(): Map<string, string> {
  const found = new Map<string, Set<string>>();
  const add = (name: string | undefined, code: string) => {
    if (name !== undefined) found.set(plain(name), (found.get(plain(name)) ?? new Set()).add(code));
  };
  const codes = [...twoLetters()].filter((code) => Intl.getCanonicalLocales(code)[0] === code);
  const inLanguage = (of: string) => new Intl.DisplayNames([of], { type: 'language', fallback: 'none' });
  for (const language of NAMED_IN) {
    const shown = inLanguage(language);
    for (const code of codes) add(shown.of(code), code);
  }
  for (const code of codes) {
    if (Intl.DisplayNames.supportedLocalesOf([code]).length > 0) add(inLanguage(code).of(code), code);
  }
  for (const [name, code] of Object.entries(MORE_LANGUAGES)) add(name, code);
  const clear = [...found].filter(([, codesOfName]) => codesOfName.size === 1);
  return new Map(clear.map(([name, [code]]) => [name, code as string]));
}

function* twoLetters(): Generator<string> {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const first of letters) for (const second of letters) yield first + second;
}
