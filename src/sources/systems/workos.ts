/**
 * WorkOS AuthKit: users as its API answers `GET /user_management/users`. WorkOS returns no password hashes.
 * https://workos.com/docs/reference/authkit/user
 */
import { textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

export const workos = tableSource({
  name: 'workos',
  title: 'WorkOS',
  formats: JSON_ONLY,
  jsonPaths: [['data', '*']],
  recognizes: (record) =>
    record.object === 'user' &&
    (textAt(record, 'id') ?? '').startsWith('user_') &&
    Object.hasOwn(record, 'email_verified'),
  columns: {
    userId: 'id',
    email: 'email',
    emailVerified: 'email_verified',
    firstName: 'first_name',
    lastName: 'last_name',
    language: 'locale',
  },
  spread: ['metadata'],
  dropped: 'object profile_picture_url last_sign_in_at created_at updated_at',
});
