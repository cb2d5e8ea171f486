/**
 * The fields of a user, each validated in one place, for single calls and imports; and rules between the fields of a
 * body, which are reported together with the body's other problems.
 * Limits count Unicode code points; NUL and lone surrogates are refused.
 */
import { z } from 'zod';
import { comparedName, unseenProblem } from './text/visible.ts';

/** What is wrong with a string of at most `max` code points; undefined if it is valid. */
export function textProblem(s: string, max: number): string | undefined {
  if (!fits(s, max)) return `must have at most ${max} characters`;
  if (s.includes('\0')) return 'must not contain NUL';
  if (!s.isWellFormed()) return 'must not contain a lone surrogate';
  return undefined;
}

/** Whether `s` has at most `max` code points. */
function fits(s: string, max: number): boolean {
  if (s.length <= max) return true;
  if (s.length > 2 * max) return false;
  let n = 0;
  for (const _ of s) n++;
  return n <= max;
}

/** The default display name; cut to the limit of 200 code points. */
export function displayNameOf(givenName: string, familyName: string): string {
  const name = `${givenName} ${familyName}`;
  return fits(name, 200) ? name : Array.from(name).slice(0, 200).join('');
}

/** A string of at most `max` code points, possibly empty. */
export function text(max: number) {
  return z
    .string('must be a string')
    .superRefine((s, ctx) => {
      const problem = textProblem(s, max);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ maxLength: max });
}

/** A string of 1 to `max` code points. */
export function requiredText(max: number) {
  return z
    .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((s, ctx) => {
      const problem = s === '' ? 'must not be empty' : textProblem(s, max);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ minLength: 1, maxLength: max });
}

/** A user name of 1 to 200 code points, none of which is invisible. */
export function userName() {
  return requiredText(200).superRefine((s, ctx) => {
    const problem = typeof s === 'string' ? unseenProblem(s) : undefined;
    if (problem && textProblem(s, 200) === undefined) ctx.addIssue({ code: 'custom', message: problem });
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the rule is about control characters
const UNPRINTABLE = /[\x00-\x1f\x7f]/;

/** What is wrong with an id; undefined if it is valid: 1 to 200 printable characters, not `.` or `..`. */
export function idProblem(s: string): string | undefined {
  if (s === '') return 'must not be empty';
  if (s === '.' || s === '..') return 'must not be "." or ".."';
  if (UNPRINTABLE.test(s)) return 'must contain only printable characters';
  return textProblem(s, 200);
}

/** `idProblem` for the OpenAPI document. Viewers show the type "never" if `not` has no type. */
const PRINTABLE = { pattern: '^[^\\x00-\\x1f\\x7f]+$', not: { type: 'string', enum: ['.', '..'] } } as const;

/** A caller-chosen id. */
export function id() {
  return z
    .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((s, ctx) => {
      const problem = idProblem(s);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ minLength: 1, maxLength: 200, ...PRINTABLE, examples: ['01930c2f-4e5b', 'auth0|60425dc4'] });
}

/** `idProblem` of a new user: the history of changes calls the service itself `system`. */
export function userIdProblem(s: string): string | undefined {
  return /^\s*system\s*$/i.test(s.normalize('NFKC')) ? 'must not be "system"' : idProblem(s);
}

/** The id that a caller chooses for a new user. */
export function newUserId() {
  return id().superRefine((s, ctx) => {
    if (userIdProblem(s) !== idProblem(s)) ctx.addIssue({ code: 'custom', message: 'must not be "system"' });
  });
}

// RFC 2822 section 3.4.1 addr-spec with the UTF-8 of RFC 6532: dot-atom or quoted local part, dot-atom or literal
// domain; no comments, no folding, no obsolete forms.
const ATEXT = "[A-Za-z0-9!#$%&'*+\\-/=?^_`{|}~\\u0080-\\u{10ffff}]+";
const DOT_ATOM = `${ATEXT}(?:\\.${ATEXT})*`;
const QUOTED = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\u0080-\\u{10ffff}]|\\\\[\\x20-\\x7e])*"';
const LITERAL = '\\[[\\x21-\\x5a\\x5e-\\x7e]*\\]';
const ADDR_SPEC = new RegExp(`^(?:${DOT_ATOM}|${QUOTED})@(?:${DOT_ATOM}|${LITERAL})$`, 'u');

/** Whether `s` is an addr-spec: `a@localhost` is one, `Ann <a@b.c>` is not. */
export function isEmailAddress(s: string): boolean {
  return ADDR_SPEC.test(s);
}

/** An email address of at most 200 code points. */
export function emailAddress() {
  return z
    .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((s, ctx) => {
      const problem =
        s === ''
          ? 'must not be empty'
          : (textProblem(s, 200) ??
            (isEmailAddress(s) ? unseenProblem(s) : 'must be an email address such as ann@example.com'));
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ minLength: 1, maxLength: 200, format: 'idn-email', examples: ['ann@example.com'] });
}

// RFC 3066 section 2.1: 1*8ALPHA *("-" 1*8(ALPHA / DIGIT))
const LANGUAGE_TAG = /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*$/;

/** Whether `s` is a language tag of RFC 3066. */
export function isLanguageTag(s: string): boolean {
  return LANGUAGE_TAG.test(s);
}

/** A language tag of at most 10 characters; empty means none. */
export function language() {
  return z
    .string('must be a string')
    .superRefine((s, ctx) => {
      if (s === '') return;
      if (!fits(s, 10)) ctx.addIssue({ code: 'custom', message: 'must have at most 10 characters' });
      else if (!isLanguageTag(s))
        ctx.addIssue({ code: 'custom', message: 'must be a language tag such as en or de-CH' });
    })
    .meta({ maxLength: 10, pattern: `^$|${LANGUAGE_TAG.source}`, examples: ['en', 'de-CH'] });
}

export const GENDERS = ['GENDER_UNSPECIFIED', 'GENDER_FEMALE', 'GENDER_MALE', 'GENDER_DIVERSE'] as const;

/** The gender enum by name; stored as its index in `GENDERS`. */
export function gender() {
  return z.enum(GENDERS, `must be one of ${GENDERS.join(', ')}`);
}

/** A boolean; no other values are converted. */
export function bool() {
  return z.boolean('must be true or false');
}

/**
 * Compares as its lower case: ASCII without a quote at its beginning, and letters of Latin scripts that are NFKC, as are
 * their small forms.
 */
const PLAIN = /^(?!")[\x20-\x7e\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u012f\u0131\u0134-\u013e\u0141-\u0148\u014a-\u017e]*$/;

/**
 * The form in which user names, login names and addresses are compared: names that look equal are one
 * (`comparedName`). Computed here and not in SQL, so that the database's locale does not matter.
 */
export function nameKey(name: string): string {
  const lower = name.toLowerCase();
  return PLAIN.test(name) && !lower.includes('xn--') ? lower : comparedName(name);
}

/** For a schema's check that runs even if its fields are invalid; it must accept any values. */
const atOnce = { when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null };

/** For `schema.check`: refuses `field` together with `other`. */
export function notWith<F extends string, O extends string>(field: F, other: O) {
  return z.superRefine<{ [name in F | O]?: unknown }>((body, ctx) => {
    if (body[field] === undefined || body[other] === undefined) return;
    ctx.addIssue({ code: 'custom', path: [field], message: `must not be combined with ${other}` });
  }, atOnce);
}

/** For `schema.check` of a list: refuses an element with the same values in all `fields` as an earlier one. */
export function eachOnce<F extends string>(...fields: [...F[], last: F]) {
  return z.superRefine<Array<{ [name in F]: unknown }>>((list, ctx) => {
    if (!Array.isArray(list)) return;
    const seen = new Set<string>();
    for (const [i, element] of list.entries()) {
      const values = fields.map((field) => (element as { [name in F]?: unknown } | null)?.[field]);
      if (values.some((value) => typeof value !== 'string')) continue;
      const key = JSON.stringify(values);
      if (seen.has(key)) ctx.addIssue({ code: 'custom', path: [i, fields.at(-1) as F], message: 'is given twice' });
      seen.add(key);
    }
  }, atOnce);
}
