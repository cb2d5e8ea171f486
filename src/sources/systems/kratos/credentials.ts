/**
 * The credentials of a Kratos identity: password, authenticator app and accounts at external providers.
 *
 * The API returns the `config` of a credential only on request; without it the credential cannot be imported, which is
 * noted. Tokens of providers are never read.
 * https://www.ory.com/docs/kratos/reference/api#tag/identity/operation/listIdentities
 */
import { readTotpSecret } from '../../../identity/totp/secret.ts';
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person, ProviderLink } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { boolAt, isFields, jsonAt, objectAt, objectsAt, textAt } from '../../values.ts';
import { hashOf } from './hash.ts';

const NOT_EXPORTED: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message: 'The export lacks the password hash, if the user has one: call the API with include_credential=password.',
};
const BY_HOOK: Note = {
  id: 'PASSWORD-ELSEWHERE',
  message:
    "The password is still in the system before Kratos, checked by Kratos' migration hook; the export has no hash of it.",
};
const CREDENTIAL_DROPPED: Note = {
  id: 'CREDENTIAL-DROPPED',
  message: 'Passkeys, security keys and recovery codes are dropped.',
};
const DROPPED = ['webauthn', 'passkey', 'lookup_secret', 'deviceauthn'];

export function credentialsOf(
  record: Fields,
): Pick<Person, 'password' | 'hash' | 'totp' | 'links'> & { notes: Note[] } {
  const credentials = objectAt(record, 'credentials');
  const { notes: passwordNotes = [], ...password } = passwordOf(credentials);
  const notes = [...passwordNotes];
  if (DROPPED.some((kind) => Object.hasOwn(credentials, kind))) notes.push(CREDENTIAL_DROPPED);
  return {
    ...password,
    totp: totpOf(credentials, notes),
    links: ['oidc', 'saml'].flatMap((kind) => linksOf(objectAt(credentials, kind))),
    notes,
  };
}

/** The identifiers for logging in by password: addresses, numbers, names. */
export function identifiersOf(record: Fields): string[] {
  return textsAt(objectAt(objectAt(record, 'credentials'), 'password'), 'identifiers');
}

/** A credential without a hash also exists if the schema requires one while the user logs in by other means. */
function passwordOf(credentials: Fields): Pick<Person, 'password' | 'hash'> & { notes?: Note[] } {
  const credential = objectAt(credentials, 'password');
  if (Object.keys(credential).length === 0) return {};
  const { password, ...config } = jsonAt(credential, 'config');
  const hash = textAt(config, 'hashed_password');
  if (hash !== undefined) return hashOf(hash);
  // Bodies for importing into Kratos have a plain password.
  if (typeof password === 'string' && password !== '') return { password };
  if (boolAt(config, 'use_password_migration_hook') === true) return { notes: [BY_HOOK] };
  return 'config' in credential ? {} : { notes: [NOT_EXPORTED] };
}

function totpOf(credentials: Fields, notes: Note[]): string | undefined {
  if (!isFields(credentials.totp)) return undefined;
  const address = textAt(jsonAt(credentials.totp, 'config'), 'totp_url');
  const read = readTotpSecret(address ?? '');
  if ('secret' in read) return read.secret;
  notes.push(SECOND_FACTOR_LOST);
  return undefined;
}

/** Links from the providers or, if the API was not asked for them, from identifiers such as `google:123`. */
function linksOf(credential: Fields): ProviderLink[] {
  const providers = objectsAt(jsonAt(credential, 'config'), 'providers').map((provider) => {
    return { provider: textAt(provider, 'provider'), externalUserId: textAt(provider, 'subject') };
  });
  const identifiers = textsAt(credential, 'identifiers').map((identifier) => {
    const [, provider, externalUserId] = /^([^:]+):(.+)$/.exec(identifier) ?? [];
    return { provider, externalUserId };
  });
  return (providers.length > 0 ? providers : identifiers).flatMap(({ provider, externalUserId }) =>
    provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }],
  );
}

function textsAt(record: Fields, key: string): string[] {
  const values = record[key];
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
}
