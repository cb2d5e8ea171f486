/**
 * Tells which entries of a directory are persons: by known object classes, else by their attributes, as many
 * directories have custom classes.
 *
 * RFC 4519 (person, organizationalPerson, residentialPerson), RFC 2798 (inetOrgPerson), RFC 2307 (posixAccount), RFC
 * 4524 (account), RFC 1274 (pilotPerson)
 */

import type { Fields } from '../../source.ts';
import { classesOf, firstOf, valuesOf } from './values.ts';

/** Persons who can sign in, and persons of an address book; Active Directory's contacts are excluded below. */
const PERSON_CLASSES = [
  ...['person', 'organizationalperson', 'residentialperson', 'inetorgperson', 'pilotperson', 'newpilotperson'],
  ...['posixaccount', 'user', 'inetuser', 'account'],
];
/** Whatever its other classes, such an entry is not a person who signs in. */
const OTHER_CLASSES = [
  ...['computer', 'contact', 'group', 'groupofnames', 'ipahost', 'ipaservice', 'device', 'trusteddomain'],
  ...['organizationalrole', 'msds-managedserviceaccount', 'msds-groupmanagedserviceaccount'],
];
/** Parts of class names for other things; a directory's own configuration has prefixes. */
const THINGS =
  /group|unit|organi[sz]ation|country|locality|domain|dcobject|role|list|alias|referral|subentry|policy|container|service|application|device|host|machine|computer|server|printer|network|protocol|rpc|zone|config|schema|^olc|^monitor|^olm|^nis|^automount/;
/** Auxiliary classes do not tell what an entry is: each may be added to a person. */
const AUXILIARY = ['hostobject', 'authorizedserviceobject', 'domainrelatedobject', 'extensibleobject'];
/** Parts of class names for people: `acmeOrganizationalPerson` is not an organization. */
const PEOPLE = /person|people|user|employee|student|staff|customer|subscriber/;
const MEMBERS = ['member', 'uniquemember', 'memberuid', 'rfc822mailmember', 'mgrprfc822mailmember', 'memberurl'];
const NAMES_TO_SIGN_IN = ['uid', 'userid', 'samaccountname', 'userprincipalname', 'mail', 'rfc822mailbox'];

export function isPerson(entry: Fields): boolean {
  const classes = classesOf(entry);
  if (OTHER_CLASSES.some((name) => classes.has(name))) return false;
  if (PERSON_CLASSES.some((name) => classes.has(name))) return true;
  if (MEMBERS.some((name) => valuesOf(entry, name).length > 0)) return false;
  const signsIn = firstOf(entry, ...NAMES_TO_SIGN_IN) !== undefined;
  if (classes.size === 0) return signsIn && firstOf(entry, 'cn', 'sn') !== undefined;
  const names = [...classes].filter((name) => !AUXILIARY.includes(name));
  const hasSurname = firstOf(entry, 'sn', 'surname') !== undefined;
  const isPeople = hasSurname && names.some((name) => PEOPLE.test(name));
  if (!isPeople && names.some((name) => THINGS.test(name))) return false;
  // Only persons have a surname.
  return hasSurname || (signsIn && isCalled(entry));
}

/** Anything may have a common name, so it counts only together with a password. */
function isCalled(entry: Fields): boolean {
  if (firstOf(entry, 'givenname', 'gn') !== undefined) return true;
  return firstOf(entry, 'cn', 'displayname') !== undefined && firstOf(entry, 'userpassword') !== undefined;
}
