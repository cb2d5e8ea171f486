/**
 * Password forms: what an old system made of a typed password before it hashed it, where the hash does not show it.
 * `$form$html$` before a hash means that the password is tried as it was typed and escaped as phpBB does; several forms
 * are separated by commas. The sources write it, and `--password-form`. Each form with its program: docs/passwords.md.
 *
 * Guarantee: a reading of a password is tried only for hashes that name its form. All readings of one password count as
 * work of its verification, so the bounds hold.
 */
import { hash as digestOf } from 'node:crypto';
import { defineScheme, type Scheme, type Secret } from './scheme.ts';

export const PASSWORD_FORMS = ['trim', 'html', 'nfkc', 'latin1', 'utf16', 'digest'] as const;
export type PasswordForm = (typeof PASSWORD_FORMS)[number];

/**
 * Not what was made of the password: it may be one that a program made up, and that its user never saw. The user counts
 * as one without a password until somebody signs in with it, which replaces the hash.
 */
const PERHAPS = 'perhaps';

const PREFIX = '$form$';
const MARK = /^\$form\$([a-z0-9,]{1,40})\$/;

/** The digests that programs take of a password before they hash it, in lower-case hexadecimal digits. */
const DIGESTS = ['md5', 'sha1', 'sha256', 'sha512'];
/** Programs from the time of ISO-8859-1 took no others. */
const OLD_DIGESTS = ['md5', 'sha1'];

/** The texts that a form adds to a text. */
const TEXTS: Readonly<Partial<Record<PasswordForm, (password: string) => readonly string[]>>> = {
  trim: (password) => [trimmed(password)],
  html: (password) => [escaped(password), escaped(trimmed(password))],
  nfkc: (password) => [password.normalize('NFKC')],
};

/** How many texts there are then, with the one as typed. */
const MOST_TEXTS: Readonly<Partial<Record<PasswordForm, number>>> = { trim: 2, html: 3, nfkc: 2 };

/** How many readings a password has at most. */
function mostReadings(forms: readonly PasswordForm[]): number {
  const texts = forms.reduce((product, form) => product * (MOST_TEXTS[form] ?? 1), 1);
  const latin1 = forms.includes('latin1') ? texts : 0;
  const utf16 = forms.includes('utf16') ? texts : 0;
  if (!forms.includes('digest')) return texts + latin1 + utf16;
  return (texts + utf16) * (1 + DIGESTS.length) + latin1 * (1 + OLD_DIGESTS.length);
}

/** The hash with its forms; the hash alone without a form, or if it names its own. */
export function withForms(hash: string, forms: readonly PasswordForm[]): string {
  const named = PASSWORD_FORMS.filter((form) => forms.includes(form));
  return named.length === 0 || hash.startsWith(PREFIX) ? hash : `${PREFIX}${named.join(',')}$${hash}`;
}

/** Marks a hash, with or without forms, as one of a password that its user may not know. */
export function perhapsKnown(hash: string): string {
  const { forms, hash: bare } = split(hash) ?? { forms: [], hash };
  return `${PREFIX}${[PERHAPS, ...forms].join(',')}$${bare}`;
}

/** SQL over `users u`: the user has a password that they know, as far as the import said. */
export const KNOWS_PASSWORD = `(u.password_hash is not null and u.password_hash not like '%${PREFIX}${PERHAPS}%')`;

const LASTING = `${PREFIX}trim$`;

/**
 * The form that stays when the hash of a user is replaced, as text before the new hash: who may type blanks at the ends
 * of their password today may do so tomorrow. All other forms lead to the one password that was typed.
 */
export function lastingForm(stored: string): string {
  return split(stored)?.forms.includes('trim') === true ? LASTING : '';
}

/** A hash without the form that `lastingForm` puts before it. */
export function withoutLasting(encoded: string): string {
  return encoded.startsWith(LASTING) ? encoded.slice(LASTING.length) : encoded;
}

/** Whether the hash is tried as one of the password itself and of its digests; each takes a whole verification. */
export function isTriedAsDigest(encoded: string): boolean {
  return split(encoded)?.forms.includes('digest') === true;
}

/** The hash without its forms, and how many readings a password may have at most. */
export function readingCount(encoded: string): { hash: string; count: number } {
  const { forms = [], hash } = split(encoded) ?? { hash: encoded };
  return { hash, count: mostReadings(forms) };
}

/** The hash without its forms, and what may have been hashed for this password: as typed first, without duplicates. */
export function readingsOf(encoded: string, password: string): { hash: string; readings: Secret[] } {
  const { forms = [], hash } = split(encoded) ?? { hash: encoded };
  return { hash, readings: readingsIn(forms, password, { isCheap: !forms.includes('digest') }) };
}

/**
 * The scheme of a hash with forms; undefined for any other text.
 * @param find the scheme of the hash itself
 */
export function formScheme(encoded: string, find: (hash: string) => Scheme | undefined): Scheme | undefined {
  if (!encoded.startsWith(PREFIX)) return undefined;
  const { forms, hash } = split(encoded) ?? {};
  const scheme = hash === undefined ? undefined : find(hash);
  if (forms === undefined || hash === undefined || scheme === undefined) return broken(forms === undefined);
  const isCheap = scheme.work(hash) === 0;
  return defineScheme({
    name: forms.length === 0 ? scheme.name : `${scheme.name} (${forms.join(', ')})`,
    matches: () => true,
    parse: () => scheme.check(hash) ?? { hash },
    work: () => mostReadings(forms) * scheme.work(hash),
    seesAll(password) {
      if (forms.some(isTrimming) && trimmed(password) !== password) return false;
      // A digest depends on the whole password, also where bcrypt ignores its last digits.
      return textsIn(forms, password).every((text) => scheme.seesAll(text, hash));
    },
    longest: scheme.longest + encoded.length - hash.length,
    verify: (_parts, password) =>
      (typeof password === 'string' ? readingsIn(forms, password, { isCheap }) : [password]).some((reading) =>
        scheme.verify(hash, reading),
      ),
  });
}

/** Whether blanks at the ends of a password may be ignored. */
function isTrimming(form: PasswordForm): boolean {
  return form === 'trim' || form === 'html';
}

function broken(isForm: boolean): Scheme {
  const problem = isForm
    ? `what follows $form$ is not one or more of ${PASSWORD_FORMS.join(', ')}, and $`
    : 'what follows the form is not a hash of a known scheme';
  return defineScheme({
    name: 'form',
    matches: () => true,
    parse: (): string | object => problem,
    verify: () => false,
  });
}

/** The forms alone: the mark of a password that may not be known changes nothing in its verification. */
function split(encoded: string): { forms: PasswordForm[]; hash: string } | undefined {
  const [mark, list] = MARK.exec(encoded) ?? [];
  if (mark === undefined || list === undefined) return undefined;
  const names = list.split(',').filter((name, i) => i > 0 || name !== PERHAPS);
  const forms = PASSWORD_FORMS.filter((form) => names.includes(form));
  return forms.length === names.length ? { forms, hash: encoded.slice(mark.length) } : undefined;
}

/**
 * All readings without duplicates: the text as typed, the other texts, their bytes, then the digests.
 * @param isCheap whether the hash takes no time that matters
 */
function readingsIn(forms: readonly PasswordForm[], password: string, { isCheap }: { isCheap: boolean }): Secret[] {
  const texts = textsIn(forms, password);
  const latin1 = forms.includes('latin1') ? texts.flatMap((text) => inLatin1(text, isCheap)) : [];
  const utf16 = forms.includes('utf16') ? texts.map((text) => Buffer.from(text, 'utf16le')) : [];
  const typed = [...texts, ...latin1, ...utf16];
  if (!forms.includes('digest')) return distinct(typed);
  const digests = [...digestsOf([...texts, ...utf16], DIGESTS), ...digestsOf(latin1, OLD_DIGESTS)];
  return distinct([...typed.filter((reading) => !isShapedAsDigest(reading)), ...digests]);
}

/** The password as typed, and the texts that the forms make of it. */
function textsIn(forms: readonly PasswordForm[], password: string): string[] {
  return forms.reduce((texts, form) => texts.flatMap((text) => [text, ...(TEXTS[form]?.(text) ?? [])]), [password]);
}

function distinct(readings: readonly Secret[]): Secret[] {
  return [...new Map(readings.map((reading) => [Buffer.from(reading).toString('base64'), reading])).values()];
}

function digestsOf(readings: readonly Secret[], names: readonly string[]): string[] {
  return readings.flatMap((reading) => names.map((name) => digestOf(name, reading)));
}

/**
 * A text that looks like one of these digests is not taken as it is: where the hash is of a digest, whoever knows the
 * digest, from a leaked table of another program, would sign in without knowing the password.
 */
function isShapedAsDigest(reading: Secret): boolean {
  return digestsOf([reading], DIGESTS).some((digest) => isShapedAs(reading, digest));
}

/** Whether a typed text could be a digest such as this one, also with other characters around it, by its length. */
export function isShapedAs(typed: Secret, digest: Secret): boolean {
  const [text, other] = [String(typed), String(digest)];
  return text.length === other.length && alphabetOf(other) === alphabetOf(text + other);
}

function alphabetOf(text: string): 'hex' | 'HEX' | 'base64' | undefined {
  if (/^[0-9a-f]+$/.test(text)) return 'hex';
  if (/^[0-9A-F]+$/.test(text)) return 'HEX';
  return /^[A-Za-z0-9+/=]+$/.test(text) ? 'base64' : undefined;
}

/** The characters that PHP's trim() removes. */
const BLANKS = ' \t\n\r\0\x0B';

/** Without blanks at both ends, as PHP's trim(). */
export function trimmed(password: string): string {
  let [start, end] = [0, password.length];
  while (start < end && BLANKS.includes(password.charAt(start))) start++;
  while (end > start && BLANKS.includes(password.charAt(end - 1))) end--;
  return password.slice(start, end);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** As phpBB's type_cast_helper::set_var(): PHP's htmlspecialchars() with ENT_COMPAT, and Unicode's form NFC. */
function escaped(password: string): string {
  const lines = password.replace(/\r\n?/g, '\n').replaceAll('\0', '');
  return lines.replace(/[&<>"]/g, (character) => ENTITIES[character] as string).normalize('NFC');
}

/** Bytes 128 to 159 of Windows-1252, which browsers send for ISO-8859-1. */
const UPPER = new Map(
  [...new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 32 }, (_, i) => 128 + i))].map(
    (character, i) => [character, 128 + i] as const,
  ),
);

/**
 * In Windows-1252, which has the letters of ISO-8859-1; none for a password that UTF-8 writes in the same bytes. Browsers
 * send other characters as HTML's numbers: tried where that is cheap, as few people have a password with them.
 */
function inLatin1(password: string, isCheap: boolean): Buffer[] {
  // ISO-8859-1 has a letter and its accent as one character only.
  const characters = [...password.normalize('NFC')];
  if (/^[\0-\x7f]*$/.test(password) || (!isCheap && characters.some((one) => byteOf(one) === undefined))) return [];
  return [
    Buffer.from(
      characters.flatMap((one) => {
        const byte = byteOf(one);
        return byte === undefined ? [...Buffer.from(`&#${one.codePointAt(0)};`)] : [byte];
      }),
    ),
  ];
}

function byteOf(character: string): number | undefined {
  const code = character.codePointAt(0) as number;
  return UPPER.get(character) ?? (code < 256 ? code : undefined);
}
