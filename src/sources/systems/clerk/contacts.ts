/**
 * Addresses and phone numbers of a user at Clerk. The CSV names the primary one and lists the verified and unverified
 * ones; the API has a list of objects and the id of the primary one. Migration tools write the CSV's columns as JSON,
 * with a list of all addresses that does not say which of them are verified.
 */
import type { Fields } from '../../source.ts';
import { isFields, objectAt, objectsAt, textAt } from '../../values.ts';

export interface Contact {
  value: string;
  /** Absent: the export has no list of verified contacts. */
  isVerified: boolean | undefined;
  isPrimary: boolean;
  /** It is the primary contact, but in none of the export's lists. */
  isUnlisted: boolean;
}

/** @param one `email_address` @param many `email_addresses` */
export function contactsOf(record: Fields, one: string, many: string): Contact[] {
  const list = record[many];
  const isOfApi = Array.isArray(list) && (list.some(isFields) || !Object.hasOwn(record, `primary_${one}`));
  return isOfApi ? fromObjects(record, one, many) : fromColumns(record, one, many);
}

/** The primary contact, else the first verified one, else the first. */
export function primaryOf(contacts: readonly Contact[]): Contact | undefined {
  return contacts.find(({ isPrimary }) => isPrimary) ?? contacts.find(({ isVerified }) => isVerified) ?? contacts[0];
}

/** All contacts but the one of `primaryOf`, for the metadata. */
export function others(contacts: readonly Contact[]): { value: string; verified: boolean }[] | undefined {
  const primary = primaryOf(contacts);
  const rest = contacts.filter((contact) => contact !== primary);
  return rest.length === 0
    ? undefined
    : rest.map(({ value, isVerified }) => ({ value, verified: isVerified === true }));
}

function fromObjects(record: Fields, one: string, many: string): Contact[] {
  const primaryId = textAt(record, `primary_${one}_id`);
  return objectsAt(record, many).flatMap((contact) => {
    const value = textAt(contact, one);
    if (value === undefined) return [];
    const isVerified = textAt(objectAt(contact, 'verification'), 'status') === 'verified';
    return [{ value, isVerified, isPrimary: primaryId !== undefined && contact.id === primaryId, isUnlisted: false }];
  });
}

function fromColumns(record: Fields, one: string, many: string): Contact[] {
  const primary = textAt(record, `primary_${one}`);
  const verified = listAt(record, `verified_${many}`);
  const unverified = listAt(record, `unverified_${many}`);
  const isSaid = Object.hasOwn(record, `verified_${many}`) || Object.hasOwn(record, `unverified_${many}`);
  const isPrimary = (value: string) => value.toLowerCase() === primary?.toLowerCase();
  const contact = (value: string, isVerified: boolean | undefined) => {
    return { value, isVerified, isPrimary: isPrimary(value), isUnlisted: false };
  };
  const said = [...verified.map((value) => contact(value, true)), ...unverified.map((value) => contact(value, false))];
  const isNew = (value: string) => !said.some((one) => one.value.toLowerCase() === value.toLowerCase());
  const listed: Contact[] = [
    ...said,
    ...listAt(record, many)
      .filter(isNew)
      .map((value) => contact(value, isSaid ? false : undefined)),
  ];
  if (primary === undefined || listed.some((contact) => contact.isPrimary)) return listed;
  return [{ value: primary, isVerified: isSaid ? false : undefined, isPrimary: true, isUnlisted: isSaid }, ...listed];
}

/** Values in one cell are separated by a bar, comma or semicolon; in JSON they are a list. */
function listAt(record: Fields, key: string): string[] {
  const value = record[key];
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string');
  return (textAt(record, key) ?? '')
    .split(/[|,;]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
