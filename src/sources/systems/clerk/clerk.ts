/**
 * Clerk: the CSV of its dashboard, which has the hashes, and the users of its backend API, which have the metadata.
 *
 * Guarantee: an address counts as verified only if the export lists it as verified.
 * https://clerk.com/docs/guides/development/migrating/export-from-clerk
 * https://clerk.com/docs/reference/backend-api/tag/users
 */

import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person, ProviderLink } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, objectsAt, textAt } from '../../values.ts';
import { type Contact, contactsOf, others, primaryOf } from './contacts.ts';
import { clerkHash } from './hash.ts';

const PRIMARY_UNLISTED: Note = {
  id: 'CLERK-PRIMARY-UNLISTED',
  message:
    'The primary address is in neither the list of verified nor of unverified addresses; it counts as unverified.',
};

export const clerk: Source = {
  name: 'clerk',
  title: 'Clerk',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['data', '*']],
  recognizes(record) {
    const has = (key: string) => Object.hasOwn(record, key);
    if (has('email_addresses') && has('primary_email_address_id')) return 1;
    if (has('password_hasher') && has('email_addresses')) return 1;
    if (!has('primary_email_address') && !has('verified_email_addresses')) return 0;
    return has('password_hasher') || textAt(record, 'id')?.startsWith('user_') === true ? 1 : 0;
  },
  converter: () => convert,
};

function convert(record: Fields): Person {
  const emails = contactsOf(record, 'email_address', 'email_addresses');
  const phones = contactsOf(record, 'phone_number', 'phone_numbers');
  const email = primaryOf(emails);
  const phone = primaryOf(phones);
  const { hash, notes = [] } = clerkHash(record);
  const totp = textAt(record, 'totp_secret');
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email: email?.value,
    emailVerified: email?.isVerified,
    firstName: textAt(record, 'first_name'),
    lastName: textAt(record, 'last_name'),
    language: textAt(record, 'locale'),
    phone: phone?.value,
    phoneVerified: phone?.isVerified,
    state: stateOf(record),
    hash,
    totp,
    metadata: metadataOf(record, emails, phones),
    links: linksOf(record),
    notes: [
      ...notes,
      ...(email?.isUnlisted === true ? [PRIMARY_UNLISTED] : []),
      ...(totp === undefined && hasSecondFactor(record) ? [SECOND_FACTOR_LOST] : []),
    ],
  };
}

function stateOf(record: Fields): Person['state'] {
  if (boolAt(record, 'banned') === true) return 'inactive';
  return boolAt(record, 'locked') === true ? 'locked' : undefined;
}

function hasSecondFactor(record: Fields): boolean {
  const flags = ['two_factor_enabled', 'totp_enabled'];
  return flags.some((flag) => boolAt(record, flag) === true) || objectsAt(record, 'passkeys').length > 0;
}

const KEPT = 'external_id public_metadata private_metadata unsafe_metadata legal_accepted_at'.split(' ');

function metadataOf(record: Fields, emails: readonly Contact[], phones: readonly Contact[]): Fields {
  const kept = KEPT.filter((key) => Object.hasOwn(record, key) && !isEmpty(record[key]));
  return {
    ...Object.fromEntries(kept.map((key) => [key, record[key]])),
    image_url: boolAt(record, 'has_image') === true ? textAt(record, 'image_url') : undefined,
    other_email_addresses: others(emails),
    other_phone_numbers: others(phones),
  };
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** The same account may be in several of the lists. */
function linksOf(record: Fields): ProviderLink[] {
  const accounts = ['external_accounts', 'enterprise_accounts', 'saml_accounts'].flatMap((key) =>
    objectsAt(record, key),
  );
  const links = new Map<string, ProviderLink>();
  for (const account of accounts) {
    const provider = textAt(account, 'provider');
    const externalUserId = textAt(account, 'provider_user_id') ?? textAt(account, 'google_id');
    if (!provider || !externalUserId) continue;
    const displayName = textAt(account, 'username') ?? textAt(account, 'email_address');
    links.set(JSON.stringify([provider, externalUserId]), { provider, externalUserId, displayName });
  }
  return [...links.values()];
}
