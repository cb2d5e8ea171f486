/**
 * authentik: users as its API answers `GET /api/v3/core/users/` (without hashes), and rows of its table
 * `authentik_core_user`, whose passwords are Django's. Service accounts are skipped.
 * https://docs.goauthentik.io/developer-docs/api/ (core_users_list);
 * https://github.com/goauthentik/authentik (authentik/core/models.py)
 */
import { fieldNames, jsonAt, restOf, textAt } from '../values.ts';
import { tableSource } from './table.ts';

/** Types of users, in the table and in the API. */
const TYPES = ['internal', 'external', 'service_account', 'internal_service_account'];
/** What authentik itself keeps in the attributes. */
const NO_FIELDS = fieldNames('settings goauthentik.io/user/can-change-username goauthentik.io/user/sources');

export const authentik = tableSource({
  name: 'authentik',
  title: 'authentik',
  jsonPaths: [['results', '*']],
  recognizes: (record) =>
    ['path', 'uuid', 'attributes'].every((name) => Object.hasOwn(record, name)) &&
    TYPES.includes(textAt(record, 'type') ?? ''),
  skip: (record) =>
    textAt(record, 'type')?.endsWith('service_account') ? 'A service account, not a person.' : undefined,
  states: { active: ['is_active'] },
  columns: {
    userId: 'uuid',
    userName: 'username',
    email: 'email',
    displayName: 'name',
    language: 'attributes.settings.locale',
    hash(record) {
      const password = textAt(record, 'password');
      // Django's mark for an unusable password.
      return password?.startsWith('!') ? undefined : password;
    },
  },
  dropped: `pk id uid first_name last_name password is_active is_superuser last_login date_joined last_updated avatar
    groups_obj roles_obj password_change_date type path`,
  metadata: (record, rest) => ({ ...restOf(jsonAt(record, 'attributes'), NO_FIELDS), ...rest }),
});
