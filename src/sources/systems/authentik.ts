import type { Person, Skipped } from '../entry.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, fieldNames, jsonAt, restOf, textAt } from '../values.ts';

/**
 * authentik: users as its API answers `GET /api/v3/core/users/` (without hashes), and rows of its table
 * `authentik_core_user`, whose passwords are Django's. Service accounts are skipped.
 * https://docs.goauthentik.io/developer-docs/api/ (core_users_list);
 * https://github.com/goauthentik/authentik (authentik/core/models.py)
 */

const KNOWN =
  fieldNames(`pk id uuid uid username name first_name last_name email password is_active is_superuser last_login
  date_joined last_updated avatar attributes groups_obj roles_obj password_change_date type path`);

/** Of the table, and of the API. */
const TYPES = ['internal', 'external', 'service_account', 'internal_service_account'];

export const authentik: Source = {
  name: 'authentik',
  title: 'authentik',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['results', '*']],
  recognizes: isOfAuthentik,
  converter: () => convert,
};

function isOfAuthentik(record: Fields): number {
  const has = (name: string) => Object.hasOwn(record, name);
  return has('path') && has('uuid') && has('attributes') && TYPES.includes(textAt(record, 'type') ?? '') ? 1 : 0;
}

function convert(record: Fields): Person | Skipped {
  if (textAt(record, 'type')?.endsWith('service_account')) return { skip: 'A service account, not a person.' };
  const attributes = jsonAt(record, 'attributes');
  const password = textAt(record, 'password');
  return {
    userId: textAt(record, 'uuid'),
    userName: textAt(record, 'username'),
    email: textAt(record, 'email'),
    displayName: textAt(record, 'name'),
    language: textAt(jsonAt(attributes, 'settings'), 'locale'),
    state: boolAt(record, 'is_active') === false ? 'inactive' : undefined,
    // Django's mark for an unusable password.
    hash: password?.startsWith('!') ? undefined : password,
    metadata: { ...restOf(attributes, NO_FIELDS), ...restOf(record, KNOWN) },
  };
}

/** What authentik itself keeps in the attributes. */
const NO_FIELDS = fieldNames('settings goauthentik.io/user/can-change-username goauthentik.io/user/sources');
