/**
 * A person is one user in a form that is independent of the source system; an entry is the user in an import's body.
 * Converts the one to the other, for every source alike: fills in missing names, and notes every change.
 *
 * Validates nothing: the service rejects invalid addresses and hashes that cannot be verified, so that such problems
 * are reported in one place and one form.
 */
import { type PasswordForm, withForms } from '../passwords/forms.ts';
import { hashProblem } from '../passwords/registry.ts';
import { e164 } from '../platform/phone.ts';
import { withoutUnseen } from '../platform/text/visible.ts';
import { type FactorEntry, type FactorsOfPerson, factorEntry } from './factor-entry.ts';
import { knownForm, plainOf } from './hash-forms.ts';
import type { Note } from './notes.ts';
import { languageNamed } from './words.ts';

export type { Note } from './notes.ts';

/** The user's account at an external identity provider. */
export interface ProviderLink {
  /** The provider's name in the other system, such as `google-oauth2`. */
  provider: string;
  externalUserId: string;
  displayName?: string | undefined;
}

/** The ways in which people signed in to the other system. */
export const OLD_WAYS = ['password', 'mailCode', 'sms', 'provider', 'enterprise', 'passkey'] as const;
/** What users had in the other system, and an import cannot bring. */
export const LOST = ['secondFactor', 'passkey', 'recoveryCodes'] as const;

/** How a user signed in to the other system, for the prediction of how they sign in here. Decides nothing else. */
export interface OldSignIn {
  /** Absent: the export does not say. */
  ways?: readonly (typeof OLD_WAYS)[number][];
  /**
   * Whether the user knows the password of the hash. `unknown`: a program made it up; the hash is not taken. `perhaps`:
   * the export does not say, and the system gives such passwords to users who sign in by other ways. Absent: they do.
   */
  password?: 'unknown' | 'perhaps';
  lost?: readonly (typeof LOST)[number][];
}

/** Fields that the export does not hold are absent; `toEntry` fills in names and nothing else. */
export interface Person extends FactorsOfPerson {
  /** The user's organization, where the export names it; `--org` takes precedence. */
  orgId?: string | undefined;
  /** As in the other system, including characters such as `|`. */
  userId?: string | undefined;
  /** Absent: the email address is used. */
  userName?: string | undefined;
  /** Absent when the export does not say: counts as unverified, with the note `EMAIL-UNSAID`. */
  emailVerified?: boolean | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
  displayName?: string | undefined;
  nickName?: string | undefined;
  /** `de`, `fr-CH`, `pt_BR`. */
  language?: string | undefined;
  gender?: 'GENDER_FEMALE' | 'GENDER_MALE' | 'GENDER_DIVERSE' | undefined;
  phoneVerified?: boolean | undefined;
  /** Absent: active. */
  state?: 'active' | 'inactive' | 'locked' | undefined;
  /** A plain password; a mask such as `****` is dropped, with a note. */
  password?: string | undefined;
  /** A plain password that may be everybody's: its user must set another one at the first sign-in. */
  initialPassword?: string | undefined;
  /** Modular Crypt Format, or any other text of a scheme that docs/passwords.md lists. */
  hash?: string | undefined;
  /** What the system did to a password before it hashed it; absent: nothing. */
  passwordForms?: readonly PasswordForm[] | undefined;
  passwordChangeRequired?: boolean | undefined;
  /** The other system was about to ask the user to add a passkey. */
  wantsPasskey?: boolean | undefined;
  /** Texts and bytes are kept as they are, everything else as JSON; undefined, null and '' are left out. */
  metadata?: Record<string, unknown>;
  links?: ProviderLink[];
  /** `lost` need not be set: `toEntry` takes it from the notes. */
  oldSignIn?: OldSignIn | undefined;
  /** What the person who converts should know about this user, in addition to the notes of `toEntry`. */
  notes?: Note[] | undefined;
}

/** A record of the export that is not a user to import, such as a deleted one. */
export interface Skipped {
  /** One sentence, the same for all records that are skipped for this reason. */
  skip: string;
}

export interface EntryUser extends FactorEntry {
  userName?: string;
  profile: {
    firstName: string;
    lastName: string;
    nickName?: string;
    displayName?: string;
    preferredLanguage?: string;
    gender?: string;
  };
  email: { email?: string; isEmailVerified: boolean };
  phone?: { phone: string; isPhoneVerified: boolean };
  password?: string;
  hashedPassword?: { value: string };
  passwordChangeRequired?: boolean;
  requestPasswordlessRegistration?: true;
  metadata?: { key: string; value: string }[];
  idps?: { configId: string; externalUserId: string; displayName?: string }[];
}

/** A line of an NDJSON body. */
export interface Entry {
  orgId: string;
  userId?: string;
  state?: 'USER_STATE_INACTIVE' | 'USER_STATE_LOCKED';
  oldSignIn?: OldSignIn;
  user: EntryUser;
}

export const NOTES = {
  emailUnsaid: {
    id: 'EMAIL-UNSAID',
    message: 'The export does not say whether the address is verified; it counts as unverified, so a mail is due.',
  },
  namesMissing: {
    id: 'NAME-MISSING',
    message: 'The first or last name is missing; it is taken from the display name or the user name.',
  },
  phoneForm: {
    id: 'PHONE-NOT-E164',
    message: 'The phone number is not in E.164 form (+41791234567); it is kept as it is.',
  },
  nameIsPhone: {
    id: 'NAME-IS-PHONE',
    message: 'The user has neither an address nor a user name; the phone number becomes the user name.',
  },
  unevenRow: {
    id: 'ROW-UNEVEN',
    message:
      'The row has more or fewer cells than the others; missing cells at its end count as empty. Check that none is missing in the middle.',
  },
  invisible: {
    id: 'INVISIBLE-REMOVED',
    message:
      'The address or the user name had characters that nobody sees or types, such as a zero width space; they are removed.',
  },
  doubtful: {
    id: 'CHARACTERS-DOUBTFUL',
    message:
      'The record has characters that are hardly text and may be garbled. Check the encoding of the file; --encoding names another one.',
  },
  dots: {
    id: 'EMAIL-DOTS',
    message:
      'The address has a dot at an end of its local part, or two in a row, which needs quotes, so the user fails; --quote-addresses adds them.',
  },
  dotsQuoted: {
    id: 'EMAIL-QUOTED',
    message:
      'The address has a dot at an end of its local part, or two in a row; it is stored in quotes, and signs in with or without them.',
  },
  masked: {
    id: 'PASSWORD-MASKED',
    message: 'The password is a mask such as ****, which is nobody’s password; it is dropped.',
  },
  keyNamed: {
    id: 'HASH-KEY-NAMED',
    message:
      'The hash names a key (keyid). If the old system added a secret key to passwords, this user cannot sign in with theirs.',
  },
  formsLeftOut: {
    id: 'PASSWORD-FORM-LEFT-OUT',
    message:
      'The hash takes too long to try all forms of a password, such as a digest or ISO-8859-1; it verifies if it is of the password as typed. If it is not, say how it was made (--hash-format, --password-form).',
  },
  unknownPassword: {
    id: 'PASSWORD-UNKNOWN',
    message: 'The hash is of a password that a program made up for a user who signs in another way; it is dropped.',
  },
  language: {
    id: 'LANGUAGE-DROPPED',
    message: 'The language is not a language tag of at most 10 characters; it is dropped.',
  },
} as const satisfies Record<string, Note>;

/**
 * @param orgId the organization of all users; undefined: each user's own, as the export names it
 * @param options quoteAddresses: an address whose dots need quotes gets them; passkeyRpId: the host of passkeys whose
 *   export does not name it
 */
export function toEntry(
  given: Person,
  orgId: string | undefined,
  {
    quoteAddresses = false,
    passkeyRpId,
  }: { quoteAddresses?: boolean | undefined; passkeyRpId?: string | undefined } = {},
): { entry: Entry; notes: Note[] } {
  const notes: Note[] = [...(given.notes ?? [])];
  const person = withDots(visible(given, notes), quoteAddresses, notes);
  const user: EntryUser = {
    ...userNameOf(person, notes),
    profile: profileOf(person, notes),
    email: {
      ...(person.email === undefined ? {} : { email: person.email }),
      isEmailVerified: person.emailVerified ?? false,
    },
    ...secretsOf(person, notes),
    ...factorEntry(person, passkeyRpId, notes),
    ...(person.wantsPasskey ? { requestPasswordlessRegistration: true } : {}),
  };
  if (person.email !== undefined && person.emailVerified === undefined) notes.push(NOTES.emailUnsaid);
  if (person.phone !== undefined) user.phone = phoneOf(person.phone, person.phoneVerified ?? false, notes);
  const metadata = metadataOf(person.metadata);
  if (metadata.length > 0) user.metadata = metadata;
  if (person.links && person.links.length > 0) user.idps = eachOnce(person.links).map(idpOf);
  const entry: Entry = {
    orgId: orgId ?? person.orgId ?? '',
    ...(person.userId === undefined ? {} : { userId: person.userId }),
    ...stateOf(person.state),
    ...oldSignInOf(person, notes),
    user,
  };
  return { entry, notes };
}

/** What a user loses, by the ids of notes. */
const LOST_BY_NOTE: Readonly<Record<string, (typeof LOST)[number]>> = {
  'SECOND-FACTOR-LOST': 'secondFactor',
  'PASSKEY-LOST': 'passkey',
  'PASSKEY-HOST-UNKNOWN': 'passkey',
  'RECOVERY-CODES-LOST': 'recoveryCodes',
  'RECOVERY-CODES-WEAK': 'recoveryCodes',
};

function oldSignInOf({ oldSignIn = {} }: Person, notes: readonly Note[]): Pick<Entry, 'oldSignIn'> {
  const noted = notes.flatMap(({ id }) => LOST_BY_NOTE[id] ?? []);
  const lost = [...new Set([...(oldSignIn.lost ?? []), ...noted])];
  const { ways = [], password } = oldSignIn;
  const said: OldSignIn = {
    ...(ways.length > 0 ? { ways } : {}),
    ...(password === undefined ? {} : { password }),
    ...(lost.length > 0 ? { lost } : {}),
  };
  return Object.keys(said).length > 0 ? { oldSignIn: said } : {};
}

/** The person without invisible characters in what they sign in with. An address has no spaces, so none is replaced. */
function visible(person: Person, notes: Note[]): Person {
  const { email: address, userName: name } = person;
  const email = address === undefined ? undefined : withoutUnseen(address, '');
  const userName = name === undefined ? undefined : withoutUnseen(name, ' ').trim();
  if (email === person.email && userName === name) return person;
  notes.push(NOTES.invisible);
  return { ...person, email: email === '' ? undefined : email, userName: userName === '' ? undefined : userName };
}

/** A dot at an end of the local part, or two in a row: some carriers in Japan gave such addresses. */
const NEEDS_QUOTES = /^(?=\.|[^"@]*\.[.@])([^\s"\\@]+)@([^@]+)$/;

/** Standards allow such dots in quotes only (RFC 5321), which are no part of the address. */
function withDots(person: Person, quoteAddresses: boolean, notes: Note[]): Person {
  const parts = NEEDS_QUOTES.exec(person.email ?? '');
  if (!parts) return person;
  notes.push(quoteAddresses ? NOTES.dotsQuoted : NOTES.dots);
  return quoteAddresses ? { ...person, email: `"${parts[1]}"@${parts[2]}` } : person;
}

function profileOf(person: Person, notes: Note[]): EntryUser['profile'] {
  const { firstName, lastName, isFilled } = namesOf(person);
  if (isFilled) notes.push(NOTES.namesMissing);
  const displayName = person.displayName ?? (isFilled ? whole(person) : undefined);
  const language = languageOf(person.language, notes);
  return {
    firstName,
    lastName,
    ...(person.nickName === undefined ? {} : { nickName: person.nickName }),
    ...(displayName === undefined ? {} : { displayName }),
    ...(language === undefined ? {} : { preferredLanguage: language }),
    ...(person.gender === undefined ? {} : { gender: person.gender }),
  };
}

/** Takes missing names from the display name: its last word is the last name; a single word serves as both names. */
function namesOf(person: Person): { firstName: string; lastName: string; isFilled: boolean } {
  const { firstName, lastName } = person;
  if (firstName !== undefined && lastName !== undefined) return { firstName, lastName, isFilled: false };
  const name = whole(person);
  // A first name that equals the whole name was put there by a program that had no other field for it.
  if (firstName !== undefined && firstName !== name) {
    const rest = name.startsWith(`${firstName} `) ? name.slice(firstName.length).trim() : '';
    return { firstName, lastName: rest || firstName, isFilled: true };
  }
  if (lastName !== undefined) {
    const rest = name.endsWith(` ${lastName}`) ? name.slice(0, -lastName.length).trim() : '';
    return { firstName: rest || lastName, lastName, isFilled: true };
  }
  const space = name.lastIndexOf(' ');
  return space < 0
    ? { firstName: name, lastName: name, isFilled: true }
    : { firstName: name.slice(0, space).trim(), lastName: name.slice(space + 1), isFilled: true };
}

/** The user's full name: the display name, else the user name, else the local part of the address. */
function whole(person: Person): string {
  const name = person.displayName ?? person.userName ?? person.email ?? person.phone ?? person.userId ?? '';
  if (person.displayName !== undefined) return name.trim();
  return name.includes('@') ? name.slice(0, name.indexOf('@')) || name : name;
}

// RFC 3066, and the underscore that POSIX locales use in place of the hyphen.
const LANGUAGE = /^[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8})*$/;

function languageOf(language: string | undefined, notes: Note[]): string | undefined {
  if (language === undefined) return undefined;
  const named = languageNamed(language);
  if (named !== undefined) return named;
  // `de_CH.UTF-8`
  const tag = language.replace(/\..*$/, '');
  if (tag.length <= 10 && LANGUAGE.test(tag)) return tag.replaceAll('_', '-');
  notes.push(NOTES.language);
  return undefined;
}

function phoneOf(phone: string, isPhoneVerified: boolean, notes: Note[]): { phone: string; isPhoneVerified: boolean } {
  const normal = e164(phone);
  if (normal === undefined) notes.push(NOTES.phoneForm);
  return { phone: normal ?? phone, isPhoneVerified };
}

function metadataOf(metadata: Record<string, unknown> | undefined): { key: string; value: string }[] {
  return Object.entries(metadata ?? {}).flatMap(([key, value]) => {
    if (value === undefined || value === null || value === '') return [];
    const bytes =
      value instanceof Uint8Array ? value : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    return [{ key, value: Buffer.from(bytes).toString('base64') }];
  });
}

function idpOf({ provider, externalUserId, displayName }: ProviderLink) {
  return { configId: provider, externalUserId, ...(displayName === undefined ? {} : { displayName }) };
}

/** People without an address signed in with their phone number. */
function userNameOf({ userName, email, phone }: Person, notes: Note[]): Pick<EntryUser, 'userName'> {
  if (userName !== undefined) return { userName };
  if (email !== undefined || phone === undefined) return {};
  notes.push(NOTES.nameIsPhone);
  return { userName: e164(phone) ?? phone };
}

function secretsOf(
  person: Person,
  notes: Note[],
): Pick<EntryUser, 'password' | 'hashedPassword' | 'passwordChangeRequired'> {
  const { initialPassword } = person;
  const plain = person.password ?? (person.hash === undefined ? undefined : plainOf(person.hash));
  const isMasked = plain !== undefined && isMask(plain);
  if (isMasked) notes.push(NOTES.masked);
  const password = initialPassword ?? (isMasked ? undefined : plain);
  const isUnknown = person.oldSignIn?.password === 'unknown';
  if (isUnknown && person.hash !== undefined) notes.push(NOTES.unknownPassword);
  const hash = person.password === plain && !isUnknown ? hashOf(person, notes) : undefined;
  if (hash !== undefined && /\$argon2[^$]*\$[^$]*\$[^$]*\bkeyid=/.test(hash)) notes.push(NOTES.keyNamed);
  return {
    ...(password === undefined ? {} : { password }),
    ...(hash === undefined ? {} : { hashedPassword: { value: hash } }),
    ...(person.passwordChangeRequired === true || initialPassword !== undefined
      ? { passwordChangeRequired: true }
      : {}),
  };
}

/** The hash in the spelling that can be verified, with as many of its forms as do not take too long. */
function hashOf({ hash, passwordForms = [] }: Person, notes: Note[]): string | undefined {
  if (hash === undefined) return undefined;
  const known = knownForm(hash);
  // A formula says of what the hash is.
  const isSaid = known.startsWith('$formula$');
  const forms = passwordForms.filter((form) => !isSaid || form !== 'digest');
  const without = (left: PasswordForm) => forms.filter((form) => form !== left);
  const possible = [forms, without('latin1'), without('digest')].map((some) => withForms(known, some));
  const formed = possible.find((one) => hashProblem(one) === undefined) ?? known;
  if (formed !== possible[0] && hashProblem(formed) === undefined) notes.push(NOTES.formsLeftOut);
  return formed;
}

function stateOf(state: Person['state']): Pick<Entry, 'state'> {
  if (state === 'inactive') return { state: 'USER_STATE_INACTIVE' };
  return state === 'locked' ? { state: 'USER_STATE_LOCKED' } : {};
}

/** Keeps the first link to an account at a provider: the service rejects a user with the same link twice. */
export function eachOnce(links: readonly ProviderLink[]): ProviderLink[] {
  const keyOf = ({ provider, externalUserId }: ProviderLink) => JSON.stringify([provider, externalUserId]);
  return [...new Map(links.toReversed().map((link) => [keyOf(link), link])).values()].reverse();
}

const REPEATED = /^([*•●∙·⚫█▪#xX?._\-–—])\1{2,}$/u;
const MASK_WORD = /^(?:[[<({*]+ *)?(?:redacted|masked|hidden|removed|filtered|protected)(?: *[\])}>*]+)?$/i;

/** Whether a program wrote this text in place of a password. It is nobody's password, as everybody knows it. */
export function isMask(password: string): boolean {
  const text = password.trim();
  return REPEATED.test(text) || MASK_WORD.test(text);
}
