/**
 * LDIF: the persons among the entries of a directory, such as OpenLDAP, 389 Directory Server, FreeIPA or Active
 * Directory.
 *
 * Guarantee: entries that are not persons, such as groups and computers, are skipped. Attributes without a field are
 * kept as metadata, except for secrets. RFC 2849 (LDIF); attributes: RFC 4519 and 2798 (person, inetOrgPerson), RFC
 * 2307 (posixAccount),
 * https://learn.microsoft.com/windows/win32/adschema/c-user
 */

import type { Person, Skipped } from '../../person.ts';
import type { Fields, Format, Source } from '../../source.ts';
import { guidText } from './guid.ts';
import { isPerson } from './is-person.ts';
import { metadataOf } from './metadata.ts';
import { passwordOf } from './password.ts';
import { stateOf } from './state.ts';
import { firstOf, integerOf, isTrue, valuesOf } from './values.ts';

const NO_PERSON: Skipped = { skip: 'An entry that is not a person, such as a group, a computer or a unit.' };
const DELETED: Skipped = { skip: 'A deleted person that the directory keeps.' };

export const ldif: Source = {
  name: 'ldif',
  title: 'LDIF (LDAP, Active Directory, FreeIPA)',
  formats: ['ldif'],
  recognizes: (record: Fields, format: Format) => (format === 'ldif' && typeof record.dn === 'string' ? 1 : 0),
  converter() {
    const now = Date.now();
    return (entry) => convert(entry, now);
  },
};

/** FreeIPA has separate trees for removed users and for new ones; Active Directory marks deleted entries. */
const PRESERVED = /,cn=deleted users,cn=accounts,cn=provisioning,/i;
const STAGED = /,cn=staged users,cn=accounts,cn=provisioning,/i;

function convert(entry: Fields, now: number): Person | Skipped {
  const dn = typeof entry.dn === 'string' ? entry.dn : '';
  if (!isPerson(entry)) return NO_PERSON;
  if (PRESERVED.test(dn) || isTrue(entry, 'isdeleted')) return DELETED;
  const { password, hash, isLocked, notes } = passwordOf(entry);
  const state = STAGED.test(dn) ? 'inactive' : stateOf(entry, now);
  const hasPassword = hash !== undefined || password !== undefined;
  const userName = firstOf(entry, 'uid', 'userid', 'samaccountname');
  return {
    userId: firstOf(entry, 'entryuuid') ?? guidText(valuesOf(entry, 'objectguid')[0]) ?? firstOf(entry, 'nsuniqueid'),
    userName,
    email: firstOf(entry, 'mail', 'rfc822mailbox'),
    firstName: firstOf(entry, 'givenname', 'gn'),
    lastName: firstOf(entry, 'sn', 'surname'),
    displayName: displayNameOf(entry, userName),
    language: languageOf(entry),
    phone: firstOf(entry, 'mobile', 'telephonenumber'),
    state: state ?? (isLocked ? 'locked' : undefined),
    password,
    hash,
    passwordChangeRequired: hasPassword && mustChange(entry) ? true : undefined,
    metadata: metadataOf(withoutTaken(entry)),
    notes,
  };
}

/** `cn` is also the name of the entry: where it equals the user name, it is not a person's name. */
function displayNameOf(entry: Fields, userName: string | undefined): string | undefined {
  const cn = firstOf(entry, 'cn');
  const called = cn === userName ? undefined : cn;
  return firstOf(entry, 'displayname') ?? called ?? firstOf(entry, 'gecos')?.split(',', 1)[0];
}

/** One language, or a list with weights as in HTTP's Accept-Language (RFC 2798 section 2.7). */
function languageOf(entry: Fields): string | undefined {
  return firstOf(entry, 'preferredlanguage')?.split(/[,;]/, 1)[0]?.trim();
}

/** slapo-ppolicy has a flag for it; Active Directory sets `pwdLastSet` to zero. */
function mustChange(entry: Fields): boolean {
  return isTrue(entry, 'pwdreset') || integerOf(entry, 'pwdlastset') === 0;
}

/** Removes the values that became fields, so that only further values go into the metadata. */
function withoutTaken(entry: Fields): Fields {
  const rest = { ...entry, mail: valuesOf(entry, 'mail').slice(1) };
  const isPhone = firstOf(entry, 'mobile') === undefined;
  return isPhone ? { ...rest, telephonenumber: valuesOf(entry, 'telephonenumber').slice(1) } : rest;
}
