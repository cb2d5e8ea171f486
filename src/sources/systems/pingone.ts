import type { Person } from '../entry.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, fieldNames, objectAt, restOf, textAt } from '../values.ts';

/**
 * PingOne: users as its API answers `GET /environments/{id}/users`. PingOne returns no password hashes.
 * https://developer.pingidentity.com/pingone-api/platform/users/users-1.html
 */

const KNOWN =
  fieldNames(`_links id environment account createdAt updatedAt email enabled emailVerified identityProvider lastSignOn
  lifecycle mfaEnabled name population username verifyStatus nickname preferredLanguage locale mobilePhone primaryPhone password`);

export const pingone: Source = {
  name: 'pingone',
  title: 'PingOne',
  formats: ['json', 'ndjson'],
  jsonPaths: [['_embedded', 'users', '*']],
  recognizes: (record) =>
    textAt(objectAt(record, 'environment'), 'id') !== undefined &&
    Object.hasOwn(record, 'username') &&
    Object.hasOwn(record, 'population')
      ? 1
      : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  const name = objectAt(record, 'name');
  const isLocked = textAt(objectAt(record, 'account'), 'status') === 'LOCKED';
  const isOff = boolAt(record, 'enabled') === false || boolAt(objectAt(record, 'account'), 'canAuthenticate') === false;
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'emailVerified'),
    firstName: textAt(name, 'given'),
    lastName: textAt(name, 'family'),
    displayName: textAt(name, 'formatted'),
    nickName: textAt(record, 'nickname'),
    language: textAt(record, 'preferredLanguage') ?? textAt(record, 'locale'),
    phone: textAt(record, 'mobilePhone') ?? textAt(record, 'primaryPhone'),
    state: isLocked ? 'locked' : isOff ? 'inactive' : undefined,
    metadata: { population: textAt(objectAt(record, 'population'), 'id'), ...restOf(record, KNOWN) },
  };
}
