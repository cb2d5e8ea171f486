/**
 * The identifiers of a Kratos identity: the login name, the address and the phone number.
 *
 * Kratos allows several login identifiers, Muster one user name. An identifier that is neither an address nor a number
 * takes precedence, because it would otherwise be lost.
 * https://www.ory.com/docs/kratos/concepts/credentials
 */

import type { Note, Person } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { boolAt, objectsAt, textAt } from '../../values.ts';
import { identifiersOf } from './credentials.ts';
import { traitAddress, traitPhone, traitUserName } from './traits.ts';

const ADDRESS_NO_NAME: Note = {
  id: 'LOGIN-BY-NAME-ONLY',
  message: 'The user could log in with a user name or the address; here only with the user name.',
};

interface Address {
  value: string;
  isVerified: boolean;
}

/** `emailVerified` is undefined where Kratos keeps no record of the address: its schema does not verify it. */
export function namesOf(
  record: Fields,
  traits: Fields,
  notes: Note[],
): Pick<Person, 'userName' | 'email' | 'emailVerified' | 'phone' | 'phoneVerified'> {
  const identifiers = identifiersOf(record);
  const address = addressOf(record, 'email', traitAddress(traits));
  const email = address?.value ?? traitAddress(traits) ?? identifiers.find((identifier) => identifier.includes('@'));
  const number = addressOf(record, 'sms', traitPhone(traits));
  const userName = userNameOf(identifiers, traits, email);
  if (userName !== undefined && hasName(identifiers, email)) notes.push(ADDRESS_NO_NAME);
  return {
    userName,
    email,
    emailVerified: address?.isVerified,
    phone: number?.value ?? traitPhone(traits),
    phoneVerified: number?.isVerified ?? false,
  };
}

/** Undefined: the address is the user name. Identifiers are in lower case, traits as the user wrote them. */
function userNameOf(identifiers: string[], traits: Fields, email: string | undefined): string | undefined {
  const trait = traitUserName(traits);
  if (identifiers.length === 0 || hasName(identifiers, trait)) return trait;
  const name = identifiers.find((identifier) => !/@|^\+[0-9]/.test(identifier));
  return name ?? (hasName(identifiers, email) ? undefined : identifiers[0]);
}

function hasName(identifiers: string[], name: string | undefined): boolean {
  return identifiers.some((identifier) => identifier.toLowerCase() === name?.toLowerCase());
}

/** Of several addresses, the one that the traits name, else the first. */
function addressOf(record: Fields, via: string, usual: string | undefined): Address | undefined {
  const addresses = objectsAt(record, 'verifiable_addresses').flatMap((address) => {
    const value = textAt(address, 'value');
    return value === undefined || textAt(address, 'via') !== via
      ? []
      : [{ value, isVerified: boolAt(address, 'verified') === true }];
  });
  return addresses.find(({ value }) => value.toLowerCase() === usual?.toLowerCase()) ?? addresses[0];
}
