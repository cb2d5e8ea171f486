/**
 * Reads the JSON columns of a Supabase user: names, which each application writes its own way, and all other data.
 *
 * Guarantee: nothing that an application wrote is lost. Data that does not become a field goes into the metadata.
 * https://supabase.com/docs/guides/auth/managing-user-data
 */
import { genderOf } from '../../gender.ts';
import type { Person } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { jsonAt, textAt } from '../../values.ts';

const FIRST_NAMES = ['first_name', 'given_name', 'firstName', 'givenName'];
const LAST_NAMES = ['last_name', 'family_name', 'lastName', 'familyName'];
const DISPLAY_NAMES = ['full_name', 'display_name', 'name', 'displayName', 'fullName'];
const NICK_NAMES = ['nickname', 'nickName'];
const LANGUAGES = ['locale', 'language'];
const PROFILE = [FIRST_NAMES, LAST_NAMES, DISPLAY_NAMES, NICK_NAMES, LANGUAGES].flat();
/** Written by GoTrue itself. */
const BOOKKEEPING = ['sub', 'iss', 'provider_id', 'email_verified', 'phone_verified', 'provider', 'providers'];

type Profile = Pick<Person, 'firstName' | 'lastName' | 'displayName' | 'nickName' | 'language' | 'gender'>;

/** The user's own data: `raw_user_meta_data` in the table, `user_metadata` in the API. */
export function userDataOf(record: Fields): Fields {
  return { ...jsonAt(record, 'user_metadata'), ...jsonAt(record, 'raw_user_meta_data') };
}

/** The application's data, such as roles: `raw_app_meta_data`, `app_metadata`. */
export function appDataOf(record: Fields): Fields {
  return { ...jsonAt(record, 'app_metadata'), ...jsonAt(record, 'raw_app_meta_data') };
}

/** Columns that were joined to the table take precedence over the user's own data. */
export function profileOf(record: Fields): Profile {
  const data = userDataOf(record);
  const anyOf = (names: readonly string[]) =>
    [record, data].flatMap((fields) => names.map((name) => textAt(fields, name))).find((text) => text !== undefined);
  return {
    firstName: anyOf(FIRST_NAMES),
    lastName: anyOf(LAST_NAMES),
    displayName: anyOf(DISPLAY_NAMES),
    nickName: anyOf(NICK_NAMES),
    language: anyOf(LANGUAGES),
    gender: genderOf(textAt(data, 'gender')),
  };
}

export function userMetadataOf(record: Fields): Fields | undefined {
  const profile: readonly unknown[] = Object.values(profileOf(record));
  const data = userDataOf(record);
  return rest(data, (name) => {
    if (name === 'email' || name === 'phone') return textAt(data, name) === textAt(record, name);
    return PROFILE.includes(name) && profile.includes(textAt(data, name));
  });
}

export function appMetadataOf(record: Fields): Fields | undefined {
  return rest(appDataOf(record), () => false);
}

function rest(data: Fields, isSaid: (name: string) => boolean): Fields | undefined {
  const left = Object.keys(data).filter((name) => !BOOKKEEPING.includes(name) && data[name] !== null && !isSaid(name));
  return left.length > 0 ? Object.fromEntries(left.map((name) => [name, data[name]])) : undefined;
}
