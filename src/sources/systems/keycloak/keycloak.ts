/**
 * Keycloak: users of realm exports, users files, realms written by hand, and the admin API.
 *
 * Guarantee: a user who could not log in to Keycloak cannot log in here. A user without `enabled` is disabled in both.
 *
 * https://www.keycloak.org/server/importExport
 * https://www.keycloak.org/docs-api/latest/rest-api/index.html#UserRepresentation
 */
import { genderOf } from '../../gender.ts';
import type { Note, Person, ProviderLink, Skipped } from '../../person.ts';
import { CONTEXT } from '../../read/json.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, objectAt, objectsAt, textAt } from '../../values.ts';
import { firstOf, metadataOf } from './attributes.ts';
import { credentialsOf } from './credentials.ts';

const ACTION_DROPPED: Note = {
  id: 'REQUIRED-ACTION-DROPPED',
  message: 'Required actions other than UPDATE_PASSWORD and VERIFY_EMAIL have no counterpart here; they are dropped.',
};

/** Actions with a counterpart: a required password change, and the mail that every unverified address gets. */
const UPDATE_PASSWORD = 'UPDATE_PASSWORD';
const MATCHED_ACTIONS = [UPDATE_PASSWORD, 'VERIFY_EMAIL'];

export const keycloak: Source = {
  name: 'keycloak',
  title: 'Keycloak',
  formats: ['json', 'ndjson'],
  jsonPaths: [
    ['users', '*'],
    ['*', 'users', '*'],
  ],
  recognizes(record) {
    if (isOfRealm(record)) return 0.9;
    if (textAt(record, 'username') === undefined) return isRealm(record) ? 0.5 : 0;
    if (['createdTimestamp', 'disableableCredentialTypes', 'serviceAccountClientId'].some((key) => key in record))
      return 1;
    if (objectsAt(record, 'credentials').some((credential) => 'secretData' in credential)) return 1;
    if (objectsAt(record, 'credentials').some((credential) => 'hashedSaltedValue' in credential)) return 1;
    return typeof record.enabled === 'boolean' && isWrittenByHand(record) ? 0.8 : 0;
  },
  converter: () => convert,
};

const REALM_ONLY = 'A realm without users; an export in several files has them in <realm>-users-0.json and so on.';

function isRealm(record: Fields): boolean {
  return typeof record.realm === 'string' && (Array.isArray(record.users) || 'keycloakVersion' in record);
}

/**
 * Whether a named realm contains the record: realms written by hand may hold no more of a user than name and address.
 */
function isOfRealm(record: Fields): boolean {
  const hasName = ['username', 'email'].some((key) => textAt(record, key) !== undefined);
  return hasName && textAt(objectAt(record, CONTEXT), 'realm') !== undefined;
}

function isWrittenByHand(record: Fields): boolean {
  return ['credentials', 'requiredActions', 'realmRoles', 'federatedIdentities'].some((key) =>
    Array.isArray(record[key]),
  );
}

function convert(record: Fields): Person | Skipped {
  if (textAt(record, 'serviceAccountClientId') !== undefined) return { skip: 'The service account of a client.' };
  if (textAt(record, 'username') === undefined && isRealm(record)) return { skip: REALM_ONLY };
  const { notes, ...credentials } = credentialsOf(record);
  const actions = actionsOf(record);
  if (actions.some((action) => !MATCHED_ACTIONS.includes(action))) notes.push(ACTION_DROPPED);
  const attributes = objectAt(record, 'attributes');
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'emailVerified'),
    firstName: textAt(record, 'firstName'),
    lastName: textAt(record, 'lastName'),
    nickName: firstOf(attributes, 'nickname'),
    gender: genderOf(firstOf(attributes, 'gender')),
    language: firstOf(attributes, 'locale'),
    phone: firstOf(attributes, 'phoneNumber'),
    phoneVerified: firstOf(attributes, 'phoneNumberVerified')?.toLowerCase() === 'true',
    state: boolAt(record, 'enabled') === true ? 'active' : 'inactive',
    ...credentials,
    passwordChangeRequired: credentials.passwordChangeRequired || actions.includes(UPDATE_PASSWORD),
    metadata: metadataOf(record),
    links: objectsAt(record, 'federatedIdentities').flatMap(linkOf),
    notes,
  };
}

/** The required actions in capitals; old exports have them in lower case. */
function actionsOf(record: Fields): string[] {
  const actions = record.requiredActions;
  if (!Array.isArray(actions)) return [];
  return actions.filter((action) => typeof action === 'string').map((action) => action.toUpperCase());
}

function linkOf(identity: Fields): ProviderLink[] {
  const provider = textAt(identity, 'identityProvider');
  const externalUserId = textAt(identity, 'userId');
  if (provider === undefined || externalUserId === undefined) return [];
  return [{ provider, externalUserId, displayName: textAt(identity, 'userName') }];
}
