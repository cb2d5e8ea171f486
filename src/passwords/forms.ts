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
const MARKS = [PERHAPS, ...PASSWORD_FORMS] as const;
type Mark = (typeof MARKS)[number];

const PREFIX = '$form$';
const MARK = /^\$form\$([a-z0-9,]{1,40})\$/;

/** The digests that programs take of a password before they hash it, in lower-case hexadecimal digits. */
const DIGESTS = ['md5', 'sha1', 'sha256', 'sha512'];

/** The readings that a form adds to a text; in the order of PASSWORD_FORMS, as bytes are only digested. */
const READINGS: Readonly<Record<Exclude<PasswordForm, 'digest'>, (password: string) => readonly Secret[]>> = {
  trim: (password) => [trimmed(password)],
  html: (password) => [escaped(password), escaped(trimmed(password))],
  nfkc: (password) => [password.normalize('NFKC')],
  latin1: (password) => [windows1252(password)],
  utf16: (password) => [Buffer.from(password, 'utf16le')],
};

/** With the password as typed. */
const MOST: Readonly<Record<PasswordForm, number>> = {
  trim: 2,
  html: 3,
  nfkc: 2,
  latin1: 2,
  utf16: 2,
  digest: 1 + DIGESTS.length,
};

/** The hash with its forms; the hash alone without a form, or if it names its own. */
export function withForms(hash: string, forms: readonly PasswordForm[]): string {
  const named = PASSWORD_FORMS.filter((form) => forms.includes(form));
  return named.length === 0 || hash.startsWith(PREFIX) ? hash : `${PREFIX}${named.join(',')}$${hash}`;
}

/** The hash of a password that its user may not know. Other text than a hash is returned as it is. */
export function perhapsKnown(hash: string): string {
  const { forms, hash: bare } = split(hash) ?? { forms: [], hash };
  return `${PREFIX}${[PERHAPS, ...forms.filter((form) => form !== PERHAPS)].join(',')}$${bare}`;
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

/** The hash without its forms, and what may have been hashed for this password: as typed first, without duplicates. */
export function readingsOf(encoded: string, password: string): { hash: string; readings: Secret[] } {
  const { forms = [], hash } = split(encoded) ?? { hash: encoded };
  return { hash, readings: readingsIn(forms, password) };
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
  const named = formsIn(forms);
  const most = named.reduce((product, form) => product * MOST[form], 1);
  return defineScheme({
    name: named.length === 0 ? scheme.name : `${scheme.name} (${named.join(', ')})`,
    matches: () => true,
    parse: () => scheme.check(hash) ?? { hash },
    work: () => most * scheme.work(hash),
    seesAll(password) {
      if (forms.some(isTrimming) && trimmed(password) !== password) return false;
      // A digest depends on the whole password, also where bcrypt ignores its last digits.
      const texts = readingsIn(
        forms.filter((form) => form !== 'digest'),
        password,
      );
      return seesAll(scheme, hash, texts);
    },
    longest: scheme.longest + encoded.length - hash.length,
    verify: (_parts, password) =>
      (typeof password === 'string' ? readingsIn(forms, password) : [password]).some((reading) =>
        scheme.verify(hash, reading),
      ),
  });
}

/** Whether blanks at the ends of a password may be ignored. */
function isTrimming(form: Mark): boolean {
  return form === 'trim' || form === 'html';
}

function seesAll(scheme: Scheme, hash: string, readings: readonly Secret[]): boolean {
  return readings.every((reading) => typeof reading !== 'string' || scheme.seesAll(reading, hash));
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

function split(encoded: string): { forms: Mark[]; hash: string } | undefined {
  const [mark, list] = MARK.exec(encoded) ?? [];
  if (mark === undefined || list === undefined) return undefined;
  const names = list.split(',');
  const forms = MARKS.filter((form) => names.includes(form));
  return forms.length === names.length ? { forms, hash: encoded.slice(mark.length) } : undefined;
}

function formsIn(marks: readonly Mark[]): PasswordForm[] {
  return marks.filter((mark) => mark !== PERHAPS);
}

function readingsIn(marks: readonly Mark[], password: string): Secret[] {
  let readings: Secret[] = [password];
  for (const form of formsIn(marks)) {
    if (form === 'digest') readings = readings.flatMap(withDigests);
    else {
      readings = readings.flatMap((reading) =>
        typeof reading === 'string' ? [reading, ...READINGS[form](reading)] : [reading],
      );
    }
  }
  return [...new Map(readings.map((reading) => [Buffer.from(reading).toString('base64'), reading])).values()];
}

/**
 * A text that looks like one of these digests is not taken as it is: where the hash is of a digest, whoever knows the
 * digest, from a leaked table of another program, would sign in without knowing the password.
 */
function withDigests(reading: Secret): Secret[] {
  const digests = DIGESTS.map((name) => digestOf(name, reading));
  return digests.some((digest) => isShapedAs(reading, digest)) ? digests : [reading, ...digests];
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

/** In Windows-1252; other characters as HTML's numbers, as browsers send them. */
function windows1252(password: string): Buffer {
  const bytes = [...password].flatMap((character) => {
    const code = character.codePointAt(0) as number;
    const upper = UPPER.get(character);
    if (upper !== undefined) return [upper];
    return code < 256 ? [code] : [...Buffer.from(`&#${code};`)];
  });
  return Buffer.from(bytes);
}
