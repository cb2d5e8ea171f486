import type { Person } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { fieldNames, genderOf, isFields, objectAt, objectsAt, restOf, textAt } from '../values.ts';

/**
 * Akamai Identity Cloud (Janrain): records of the entity type `user`, as its API answers `entity.find`, or one a line
 * as its data exporter writes them. https://identitydocs.akamai.com/home/entity-find,
 * https://identitydocs.akamai.com/home/the-akamai-hosted-login-v2-standard-schema
 */

const KNOWN =
  fieldNames(`id uuid created lastUpdated lastLogin email emailVerified mobileNumber mobileNumberVerified givenName
  familyName middleName displayName gender password primaryAddress profiles photos deactivateAccount currentLocation statuses
  clients legalAcceptances`);

export const akamai: Source = {
  name: 'akamai',
  title: 'Akamai Identity Cloud',
  formats: ['json', 'ndjson'],
  jsonPaths: [['results', '*']],
  recognizes: (record) =>
    ['uuid', 'emailVerified', 'primaryAddress', 'givenName'].every((name) => Object.hasOwn(record, name)) ? 1 : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  const address = objectAt(record, 'primaryAddress');
  const { hash, notes = [] } = hashOf(record.password);
  return {
    userId: textAt(record, 'uuid'),
    email: textAt(record, 'email'),
    // A date, or null.
    emailVerified: textAt(record, 'emailVerified') !== undefined,
    firstName: textAt(record, 'givenName'),
    lastName: textAt(record, 'familyName'),
    displayName: textAt(record, 'displayName'),
    gender: genderOf(textAt(record, 'gender')),
    phone: textAt(record, 'mobileNumber') ?? textAt(address, 'mobile') ?? textAt(address, 'phone'),
    phoneVerified: textAt(record, 'mobileNumberVerified') === undefined ? undefined : true,
    state: textAt(record, 'deactivateAccount') === undefined ? undefined : 'inactive',
    hash,
    links: objectsAt(record, 'profiles').flatMap((profile) => {
      const [provider, externalUserId] = [textAt(profile, 'domain'), textAt(profile, 'identifier')];
      return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
    }),
    metadata: { primaryAddress: Object.keys(address).length > 0 ? address : undefined, ...restOf(record, KNOWN) },
    notes,
  };
}

/** `{"type":"password-bcrypt","value":"$2a$…"}`; the API shows it only to clients that may read it. */
function hashOf(password: unknown): HashText {
  if (!isFields(password)) return {};
  const [type = '', value] = [textAt(password, 'type'), textAt(password, 'value')];
  if (value === undefined) return {};
  return ['password-bcrypt', 'password-md5'].includes(type) || value.startsWith('$')
    ? { hash: value }
    : unsupported(type);
}
