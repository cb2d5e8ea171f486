import type { Person } from '../entry.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, fieldNames, objectAt, restOf, textAt } from '../values.ts';

/**
 * WorkOS AuthKit: users as its API answers `GET /user_management/users`. WorkOS returns no password hashes.
 * https://workos.com/docs/reference/authkit/user
 */

const KNOWN = fieldNames(`object id email email_verified first_name last_name profile_picture_url last_sign_in_at
  created_at updated_at locale metadata`);

export const workos: Source = {
  name: 'workos',
  title: 'WorkOS',
  formats: ['json', 'ndjson'],
  jsonPaths: [['data', '*']],
  recognizes: (record) =>
    record.object === 'user' &&
    (textAt(record, 'id') ?? '').startsWith('user_') &&
    Object.hasOwn(record, 'email_verified')
      ? 1
      : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  return {
    userId: textAt(record, 'id'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'email_verified'),
    firstName: textAt(record, 'first_name'),
    lastName: textAt(record, 'last_name'),
    language: textAt(record, 'locale'),
    metadata: { ...objectAt(record, 'metadata'), ...restOf(record, KNOWN) },
  };
}
