/**
 * authentik: users as its API answers `GET /api/v3/core/users/` (without hashes), and rows of its table
 * `authentik_core_user`, whose passwords are Django's. Service accounts are skipped.
 * https://docs.goauthentik.io/developer-docs/api/ (core_users_list);
 * https://github.com/goauthentik/authentik (authentik/core/models.py)
 */
import type { Person, ProviderLink } from '../entry.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import { lostNotes } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { boolAt, fieldNames, firstText, jsonAt, listAt, objectAt, restOf, textAt } from '../values.ts';
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
  missing: [
    {
      id: 'AUTHENTIK-SOURCES',
      what: 'links',
      message: 'The users of authentik come without their accounts at outside sources.',
      remedy:
        'Add the results of GET /api/v3/sources/user_connections/all/?user={pk} to each user, as the property user_connections.',
      isIn: (record) => Object.hasOwn(record, 'user_connections'),
    },
    {
      id: 'AUTHENTIK-DEVICES',
      what: 'secondFactor',
      message: 'The users of authentik come without passkeys, second factors and recovery codes.',
      remedy:
        'Add the answer of GET /api/v3/authenticators/admin/all/?user={pk} to each user, as the property devices.',
      isIn: (record) => Object.hasOwn(record, 'devices'),
    },
    {
      id: 'AUTHENTIK-GROUPS',
      what: 'roles',
      message: 'The table authentik_core_user contains no groups.',
      remedy:
        'Read the users with GET /api/v3/core/users/, or join the names of the groups as JSON in the column groups.',
      isIn: (record) => Object.hasOwn(record, 'groups') || Object.hasOwn(record, 'groups_obj'),
    },
  ],
  parts: [devicesOf],
  links: (record) => listAt(record, 'user_connections').flatMap(linkOf),
  dropped: `pk id uid devices user_connections first_name last_name password is_active is_superuser last_login date_joined last_updated avatar
    groups_obj roles_obj password_change_date type path`,
  metadata(record, rest) {
    const groups = listAt(record, 'groups_obj').flatMap((group) => textAt(group, 'name') ?? []);
    return {
      ...restOf(jsonAt(record, 'attributes'), NO_FIELDS),
      ...rest,
      ...(groups.length > 0 ? { groups } : {}),
    };
  },
});

/** A connection of the API has its source as an object; one of the table may have its name. */
function linkOf(connection: Fields): ProviderLink[] {
  const source = textAt(objectAt(connection, 'source_obj'), 'slug') ?? textAt(connection, 'source');
  const externalUserId = textAt(connection, 'identifier');
  return source === undefined || externalUserId === undefined ? [] : [{ provider: source, externalUserId }];
}

/** Whether the source of a connection is of a company: of the kinds of sources, only OAuth and Plex are for everybody. */
function isEnterprise(connection: Fields): boolean {
  const kind = textAt(objectAt(connection, 'source_obj'), 'component') ?? '';
  return /saml|ldap|kerberos|scim/.test(kind) || (kind === '' && isOfCompany(firstText(connection, ['source']) ?? ''));
}

/** WebAuthn devices are a second factor or the only one, as the flow says, so they count as both. */
function devicesOf(record: Fields): Partial<Person> {
  const confirmed = listAt(record, 'devices').filter((device) => boolAt(device, 'confirmed') !== false);
  const kinds = confirmed.map((device) => (firstText(device, ['type', 'meta_model_name']) ?? '').toLowerCase());
  const is = (word: string) => kinds.some((kind) => kind.includes(word));
  const connections = listAt(record, 'user_connections');
  const password = textAt(record, 'password');
  return {
    notes: lostNotes({
      secondFactor: kinds.some((kind) => !kind.includes('static')),
      passkey: is('webauthn'),
      recoveryCodes: is('static'),
    }),
    oldSignIn: signedInBy({
      password: password !== undefined && !password.startsWith('!'),
      provider: connections.some((one) => !isEnterprise(one)),
      enterprise: connections.some(isEnterprise),
      passkey: is('webauthn'),
    }),
  };
}
