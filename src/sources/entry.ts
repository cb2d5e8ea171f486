/**
 * From a person to an entry of an import's body, the same way for every source: names that are missing are filled in,
 * and everything that was changed is noted.
 *
 * Judges nothing: an address that is none, or a hash that will not verify, is for the service to refuse, so that it is
 * told in one place and one way.
 */
import { e164 } from '../fields/phone.ts';
import { eachOnce } from './links.ts';
import type { Note, Person, ProviderLink } from './person.ts';

/** A line of an NDJSON body: contract section 4. */
export interface Entry {
  orgId: string;
  userId?: string;
  state?: 'USER_STATE_INACTIVE' | 'USER_STATE_LOCKED';
  user: EntryUser;
}

export interface EntryUser {
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
  metadata?: { key: string; value: string }[];
  idps?: { configId: string; externalUserId: string; displayName?: string }[];
  otpCode?: string;
}

export const NOTES = {
  emailUnsaid: {
    id: 'EMAIL-UNSAID',
    message: 'The export does not say whether the address is verified; it is taken as not verified, so a mail is due.',
  },
  namesMissing: {
    id: 'NAME-MISSING',
    message: 'First or last name is missing; the display name or the user name stands in.',
  },
  phoneForm: {
    id: 'PHONE-NOT-E164',
    message: 'The phone number is not in the form of E.164 (+41791234567); it is kept as it is.',
  },
  language: {
    id: 'LANGUAGE-DROPPED',
    message: 'The language is no language tag of at most 10 characters; it is dropped.',
  },
} as const satisfies Record<string, Note>;

/** @param orgId the organization of all; undefined: each user's own, as the export names it */
export function toEntry(person: Person, orgId: string | undefined): { entry: Entry; notes: Note[] } {
  const notes: Note[] = [...(person.notes ?? [])];
  const user: EntryUser = {
    ...(person.userName === undefined ? {} : { userName: person.userName }),
    profile: profileOf(person, notes),
    email: {
      ...(person.email === undefined ? {} : { email: person.email }),
      isEmailVerified: person.emailVerified ?? false,
    },
    ...secretsOf(person),
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
    user,
  };
  return { entry, notes };
}

function stateOf(state: Person['state']): Pick<Entry, 'state'> {
  if (state === 'inactive') return { state: 'USER_STATE_INACTIVE' };
  return state === 'locked' ? { state: 'USER_STATE_LOCKED' } : {};
}

function secretsOf(
  person: Person,
): Pick<EntryUser, 'password' | 'hashedPassword' | 'passwordChangeRequired' | 'otpCode'> {
  return {
    ...(person.password === undefined ? {} : { password: person.password }),
    ...(person.hash === undefined ? {} : { hashedPassword: { value: person.hash } }),
    ...(person.passwordChangeRequired === true ? { passwordChangeRequired: true } : {}),
    ...(person.totp === undefined ? {} : { otpCode: person.totp }),
  };
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

/** Where a name is missing: out of the display name, whose last word is the last name; a single word stands for both. */
function namesOf(person: Person): { firstName: string; lastName: string; isFilled: boolean } {
  const { firstName, lastName } = person;
  if (firstName !== undefined && lastName !== undefined) return { firstName, lastName, isFilled: false };
  const name = whole(person);
  // A first name that is the whole name was put there by a program that knew no other place for it.
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

/** What a user is called as a whole: the display name, else the user name, else the local part of the address. */
function whole(person: Person): string {
  const name = person.displayName ?? person.userName ?? person.email ?? person.phone ?? person.userId ?? '';
  if (person.displayName !== undefined) return name.trim();
  return name.includes('@') ? name.slice(0, name.indexOf('@')) || name : name;
}

// RFC 3066, and the underscore that POSIX locales have in place of the hyphen.
const LANGUAGE = /^[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8})*$/;

function languageOf(language: string | undefined, notes: Note[]): string | undefined {
  if (language === undefined) return undefined;
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
