/**
 * A user's identities at external providers and second factors. They are in separate tables (`auth.identities`,
 * `auth.mfa_factors`), which an export may have joined as JSON columns `identities` and `factors`, as the admin API
 * does.
 *
 * https://supabase.com/docs/guides/auth/identities, https://github.com/supabase/auth (internal/models)
 */
import { readTotpSecret } from '../../../identity/totp/secret.ts';
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, ProviderLink } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { isFields, jsonAt, parseJson, textAt } from '../../values.ts';
import { appDataOf, userDataOf } from './metadata.ts';

const LINKS_DROPPED: Note = {
  id: 'LINK-NOT-EXPORTED',
  message:
    "The user logs in with an external provider, but the export lacks the user's id there: join auth.identities to it.",
};

/** GoTrue's own sign-in methods, which are not external providers. */
const ITS_OWN = ['email', 'phone', 'anonymous_users'];

export function linksOf(record: Fields, notes: Note[]): ProviderLink[] {
  const links = listAt(record, 'identities').flatMap(linkOf);
  if (links.length > 0) return links;
  const providers = providersOf(record);
  const only = providers.length === 1 ? textAt(userDataOf(record), 'provider_id') : undefined;
  if (only !== undefined)
    return [{ provider: providers[0] as string, externalUserId: only, displayName: nameOf(userDataOf(record)) }];
  if (providers.length > 0) notes.push(LINKS_DROPPED);
  return [];
}

/** The id is `provider_id`; before 2023 it was `id`, which the API still uses. */
function linkOf(identity: Fields): ProviderLink[] {
  const provider = textAt(identity, 'provider');
  const data = jsonAt(identity, 'identity_data');
  const externalUserId = textAt(identity, 'provider_id') ?? textAt(data, 'sub') ?? textAt(identity, 'id');
  if (provider === undefined || externalUserId === undefined || ITS_OWN.includes(provider)) return [];
  return [{ provider, externalUserId, displayName: nameOf(data) }];
}

function providersOf(record: Fields): string[] {
  const { provider, providers } = appDataOf(record);
  const named = Array.isArray(providers) ? providers : [provider];
  return named.filter((name) => typeof name === 'string').filter((name) => !ITS_OWN.includes(name));
}

function nameOf(data: Fields): string | undefined {
  return textAt(data, 'full_name') ?? textAt(data, 'name') ?? textAt(data, 'email');
}

/** The secret of a verified authenticator app; the API never returns it. */
export function totpOf(record: Fields, notes: Note[]): string | undefined {
  const factors = listAt(record, 'factors').filter((factor) => textAt(factor, 'status') === 'verified');
  const secrets = factors.flatMap((factor) => {
    const read = textAt(factor, 'factor_type') === 'totp' ? readTotpSecret(textAt(factor, 'secret') ?? '') : undefined;
    return read !== undefined && 'secret' in read ? [read.secret] : [];
  });
  if (factors.length > 1 || factors.length > secrets.length) notes.push(SECOND_FACTOR_LOST);
  return secrets[0];
}

/** The objects of a list, also if it is JSON text. */
function listAt(record: Fields, key: string): Fields[] {
  const value = record[key];
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) ? list.filter(isFields) : [];
}
