/**
 * A user's credentials in Keycloak: the first password and the first authenticator app are imported.
 *
 * They come in three forms: JSON texts `secretData` and `credentialData` (Keycloak 8 and later), separate fields such
 * as `hashedSaltedValue` (before), and a plain `value` (realms written by hand).
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
  message: 'The password is a placeholder for an environment variable, which only Keycloak replaces; it is dropped.',
};
const FEDERATED: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message: 'A user federation such as LDAP keeps the password; it is not in the export.',
};
const CREDENTIAL_DROPPED: Note = {
  id: 'CREDENTIAL-DROPPED',
  message: 'Passkeys, recovery codes and all credentials other than a password and an authenticator app are dropped.',
};

const PASSWORD = 'password';
/** `totp` and `hotp` are the types of old exports. */
const APPS = ['otp', 'totp', 'hotp'];
/** Former passwords, which Keycloak keeps to prevent their reuse. */
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
  // `totp` says that the user has an app, whether or not its secret is in the export.
  const hasApp = apps.length > 0 || boolAt(record, 'totp') === true;
  if (apps.length > 1 || (hasApp && taken.totp === undefined)) taken.notes.push(SECOND_FACTOR_LOST);
  const known = ofTypes(PASSWORD, HISTORY, ...APPS);
  if (known.length < credentials.length) taken.notes.push(CREDENTIAL_DROPPED);
  return taken;
}

/** Keycloak asks for the credential with the lowest number first; exports without numbers are already in that order. */
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
  // Without its replacement, the placeholder is a password known to every reader of the file.
  if (/^\$\{.*\}$/.test(value)) return { passwordChangeRequired, notes: [PLACEHOLDER] };
  return { passwordChangeRequired, password: value, notes: [] };
}
