/**
 * PingOne: users as its API answers `GET /environments/{id}/users`. PingOne returns no password hashes.
 * https://developer.pingidentity.com/pingone-api/platform/users/users-1.html
 */
import { objectAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

export const pingone = tableSource({
  name: 'pingone',
  title: 'PingOne',
  formats: JSON_ONLY,
  jsonPaths: [['_embedded', 'users', '*']],
  recognizes: (record) =>
    textAt(objectAt(record, 'environment'), 'id') !== undefined &&
    Object.hasOwn(record, 'username') &&
    Object.hasOwn(record, 'population'),
  states: {
    active: ['enabled', 'account.canAuthenticate'],
    words: [{ field: 'account.status', active: 'ok', locked: 'locked' }],
  },
  columns: {
    userId: 'id',
    userName: 'username',
    email: 'email',
    emailVerified: 'emailVerified',
    firstName: 'name.given',
    lastName: 'name.family',
    displayName: 'name.formatted',
    nickName: 'nickname',
    language: ['preferredLanguage', 'locale'],
    phone: ['mobilePhone', 'primaryPhone'],
  },
  dropped: `_links environment account createdAt updatedAt enabled identityProvider lastSignOn lifecycle mfaEnabled
    population verifyStatus password`,
  metadata: (record, rest) => ({ population: textAt(objectAt(record, 'population'), 'id'), ...rest }),
});
