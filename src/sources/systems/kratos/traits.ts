/**
 * Names and addresses among the traits of a Kratos identity, by the trait names in its documentation and most schemas.
 *
 * Guarantee: no trait is lost. Traits that do not become a field go into the metadata.
 * https://www.ory.com/docs/kratos/manage-identities/identity-schema
 */
import { genderOf } from '../../gender.ts';
import type { Person } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { isFields, objectAt, textAt } from '../../values.ts';

const FIRST_NAMES = ['first', 'first_name', 'firstName', 'given', 'given_name', 'givenName'];
const LAST_NAMES = ['last', 'last_name', 'lastName', 'family', 'family_name', 'familyName', 'surname'];
const DISPLAY_NAMES = ['display_name', 'displayName', 'full_name', 'fullName', 'full', 'display', 'name'];
const NICK_NAMES = ['nickname', 'nick_name', 'nickName'];
const LANGUAGES = ['locale', 'language', 'lang', 'preferred_language', 'preferredLanguage'];
const ADDRESSES = ['email', 'email_address', 'mail'];
const PHONES = ['phone', 'phone_number', 'phoneNumber', 'mobile'];
const USER_NAMES = ['username', 'user_name', 'userName', 'preferred_username'];
const PROFILE = [FIRST_NAMES, LAST_NAMES, DISPLAY_NAMES, NICK_NAMES, LANGUAGES].flat();
const KNOWN = [...PROFILE, ...ADDRESSES, ...PHONES, ...USER_NAMES];

export function traitAddress(traits: Fields): string | undefined {
  return anyOf(traits, ADDRESSES);
}

export function traitPhone(traits: Fields): string | undefined {
  return anyOf(traits, PHONES);
}

export function traitUserName(traits: Fields): string | undefined {
  return anyOf(traits, USER_NAMES);
}

type Profile = Pick<Person, 'firstName' | 'lastName' | 'displayName' | 'nickName' | 'language' | 'gender'>;

/** `name` is a text or an object of parts; the parts may also be traits themselves. */
export function profileOf(traits: Fields): Profile {
  const parts = { ...traits, ...objectAt(traits, 'name') };
  return {
    firstName: anyOf(parts, FIRST_NAMES),
    lastName: anyOf(parts, LAST_NAMES),
    displayName: anyOf(parts, DISPLAY_NAMES),
    nickName: anyOf(traits, NICK_NAMES),
    language: anyOf(traits, LANGUAGES),
    gender: genderOf(textAt(traits, 'gender')),
  };
}

/** @param taken the values that became fields */
export function traitsLeft(traits: Fields, taken: readonly unknown[]): Fields | undefined {
  const isTaken = (record: Fields, name: string) => KNOWN.includes(name) && taken.includes(textAt(record, name));
  const left = Object.keys(traits).filter((name) => {
    const parts = traits[name];
    if (name !== 'name' || !isFields(parts)) return !isTaken(traits, name);
    return !Object.keys(parts).every((part) => isTaken(parts, part));
  });
  return left.length > 0 ? Object.fromEntries(left.map((name) => [name, traits[name]])) : undefined;
}

function anyOf(traits: Fields, names: readonly string[]): string | undefined {
  return names.map((name) => textAt(traits, name)).find((text) => text !== undefined);
}
