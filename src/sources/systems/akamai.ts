/**
 * Akamai Identity Cloud (Janrain): records of the entity type `user`, as its API answers `entity.find`, or one a line
 * as its data exporter writes them. https://identitydocs.akamai.com/home/entity-find,
 * https://identitydocs.akamai.com/home/the-akamai-hosted-login-v2-standard-schema
 */
import { type HashText, unsupported } from '../hashes.ts';
import { signedInBy } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { genderOf, isFields, objectAt, objectsAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

export const akamai = tableSource({
  name: 'akamai',
  title: 'Akamai Identity Cloud',
  formats: JSON_ONLY,
  jsonPaths: [['results', '*']],
  recognizes: ['uuid', 'emailVerified', 'primaryAddress', 'givenName'],
  states: { inactive: ['deactivateAccount'] },
  columns: {
    userId: 'uuid',
    email: 'email',
    // A date, or null.
    emailVerified: (record) => textAt(record, 'emailVerified') !== undefined,
    firstName: 'givenName',
    lastName: 'familyName',
    displayName: 'displayName',
    gender: (record) => genderOf(textAt(record, 'gender')),
    phone: ['mobileNumber', 'primaryAddress.mobile', 'primaryAddress.phone'],
    phoneVerified: (record) => (textAt(record, 'mobileNumberVerified') === undefined ? undefined : true),
  },
  missing: [
    {
      id: 'AKAMAI-PASSWORDS',
      what: 'password',
      message: 'These records have no password hashes: the API shows them only to clients that may read them.',
      remedy: 'Call entity.find with a client whose access schema includes the attribute password.',
      isIn: (record) => Object.hasOwn(record, 'password'),
    },
  ],
  parts: [
    hashOf,
    (record) => ({
      oldSignIn: signedInBy({
        password: isFields(record.password),
        provider: objectsAt(record, 'profiles').length > 0,
      }),
    }),
  ],
  links: { list: 'profiles', provider: ['domain'], id: ['identifier'] },
  dropped: `id created lastUpdated lastLogin emailVerified mobileNumberVerified gender password
    deactivateAccount currentLocation statuses clients`,
  metadata(record, rest) {
    const address = objectAt(record, 'primaryAddress');
    return { primaryAddress: Object.keys(address).length > 0 ? address : undefined, ...rest };
  },
});

/** `{"type":"password-bcrypt","value":"$2a$…"}`; the API shows it only to clients that may read it. */
function hashOf({ password }: Fields): HashText {
  if (!isFields(password)) return {};
  const [type = '', value] = [textAt(password, 'type'), textAt(password, 'value')];
  if (value === undefined) return {};
  return ['password-bcrypt', 'password-md5'].includes(type) || value.startsWith('$')
    ? { hash: value }
    : unsupported(type);
}
