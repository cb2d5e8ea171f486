/**
 * A user's credentials in Keycloak, of which the first password and the first authenticator app are taken.
 *
 * They come in three forms: JSON texts `secretData` and `credentialData` (Keycloak 8 and later), single fields such as
 * `hashedSaltedValue` (before), and a plain `value` (realms written by hand).
 * https://www.keycloak.org/docs-api/latest/rest-api/index.html#CredentialRepresentation
 */
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { boolAt, numberAt, objectsAt, textAt } from '../../values.ts';
import { hashOf } from './hash.ts';
import { totpOf } from './totp.ts';

const PLACEHOLDER: Note = {
  id: 'PASSWORD-PLACEHOLDER',
  message:
    'The password is a placeholder for a variable of the environment, which only Keycloak fills in; it is dropped.',
};
const FEDERATED: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message: 'The password is kept by a user federation such as LDAP and is not in the export.',
};
const CREDENTIAL_DROPPED: Note = {
  id: 'CREDENTIAL-DROPPED',
  message: 'Passkeys, recovery codes and other credentials besides a password and an authenticator app are dropped.',
};

const PASSWORD = 'password';
/** `totp` and `hotp` are the types of old exports. */
const APPS = ['otp', 'totp', 'hotp'];
/** Old passwords, kept to refuse them when they come again. */
const HISTORY = 'password-history';

type Taken = Pick<Person, 'password' | 'hash' | 'passwordChangeRequired' | 'totp'> & { notes: Note[] };

export function credentialsOf(record: Fields): Taken {
  const credentials = inOrder(objectsAt(record, 'credentials'));
  const ofTypes = (...types: string[]) => credentials.filter((credential) => types.includes(typeOf(credential)));
  const [password] = ofTypes(PASSWORD);
  const isFederated = textAt(record, 'federationLink') !== undefined;
  const taken: Taken = password ? passwordOf(password) : { notes: isFederated ? [FEDERATED] : [] };
  const apps = ofTypes(...APPS);
  taken.totp = apps.map(totpOf).find((secret) => secret !== undefined);
  // `totp` says that there is one, whether or not it is in the export.
  const hasApp = apps.length > 0 || boolAt(record, 'totp') === true;
  if (apps.length > 1 || (hasApp && taken.totp === undefined)) taken.notes.push(SECOND_FACTOR_LOST);
  const known = ofTypes(PASSWORD, HISTORY, ...APPS);
  if (known.length < credentials.length) taken.notes.push(CREDENTIAL_DROPPED);
  return taken;
}

/** Keycloak asks for the one with the lowest number first; exports without numbers stand in that order. */
function inOrder(credentials: Fields[]): Fields[] {
  const rank = (credential: Fields) => numberAt(credential, 'priority') ?? Number.MAX_SAFE_INTEGER;
  return credentials.sort((a, b) => rank(a) - rank(b));
}

function typeOf(credential: Fields): string {
  return textAt(credential, 'type') ?? PASSWORD;
}

function passwordOf(credential: Fields): Taken {
  const { value } = credential;
  const passwordChangeRequired = boolAt(credential, 'temporary') === true;
  if (typeof value !== 'string' || value === '') {
    const { hash, notes = [] } = hashOf(credential);
    return { passwordChangeRequired, hash, notes: [...notes] };
  }
  // As it stands, anyone who reads the file would know it.
  if (/^\$\{.*\}$/.test(value)) return { passwordChangeRequired, notes: [PLACEHOLDER] };
  return { passwordChangeRequired, password: value, notes: [] };
}
