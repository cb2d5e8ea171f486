/**
 * authentik: users as its API answers `GET /api/v3/core/users/` (without hashes), and rows of its table
 * `authentik_core_user`, whose passwords are Django's. Service accounts are skipped.
 * https://docs.goauthentik.io/developer-docs/api/ (core_users_list);
 * https://github.com/goauthentik/authentik (authentik/core/models.py)
 */
import { Secret } from 'otpauth';
import type { Person, ProviderLink } from '../entry.ts';
import { type Factors, openFactors } from '../factors.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { boolAt, fieldNames, firstText, jsonAt, listAt, numberAt, objectAt, restOf, textAt } from '../values.ts';
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
        'Export the users with the query of docs/sources/authentik.md, which joins the tables of devices as devices; or add the answer of GET /api/v3/authenticators/admin/all/?user={pk}, which has no secrets, to each user under that name.',
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

/** The name of a kind of device in the API (`type`, `meta_model_name`), in lower case. */
function kindOf(device: Fields): string {
  return (firstText(device, ['type', 'meta_model_name']) ?? '').toLowerCase();
}

/** Devices of the tables, with their secrets, and those of the API, without. */
function devicesOf(record: Fields): Partial<Person> {
  const confirmed = listAt(record, 'devices').filter((device) => boolAt(device, 'confirmed') !== false);
  const factors = openFactors();
  for (const device of confirmed) addDevice(device, factors);
  const connections = listAt(record, 'user_connections');
  const password = textAt(record, 'password');
  return {
    ...factors.fields({ email: textAt(record, 'email') }),
    oldSignIn: signedInBy({
      password: password !== undefined && !password.startsWith('!'),
      provider: connections.some((one) => !isEnterprise(one)),
      enterprise: connections.some(isEnterprise),
      passkey: confirmed.some((device) => kindOf(device).includes('webauthn')),
    }),
  };
}

/**
 * WebAuthn devices are a second factor or the only one, as the flow says: they come as passkeys, and where their keys are
 * not in the export, both are lost. Codes by mail and text message need the address and the number of the device; of some
 * numbers only a hash is stored.
 */
function addDevice(device: Fields, factors: Factors): void {
  const kind = kindOf(device);
  const name = textAt(device, 'name');
  const number = textAt(device, 'phone_number');
  if (kind.includes('static')) addTokens(device, factors);
  else if (kind.includes('webauthn')) addKey(device, factors);
  else if (kind.includes('totp')) factors.app({ ...appOf(device), name });
  else if (kind.includes('sms') && number !== undefined && !number.startsWith('hash:')) factors.sms(number);
  else if (kind.includes('email') && textAt(device, 'email') !== undefined) factors.mail(textAt(device, 'email'));
  else factors.lost('secondFactor');
}

function addTokens(device: Fields, factors: Factors): void {
  const { tokens } = device;
  const codes = Array.isArray(tokens) ? tokens.filter((token) => typeof token === 'string') : [];
  if (Array.isArray(tokens)) factors.recoveryCodes(codes);
  else factors.lost('recoveryCodes');
}

function addKey(device: Fields, factors: Factors): void {
  const isTaken = factors.passkey({
    credentialId: device.credential_id,
    publicKey: device.public_key,
    signCount: numberAt(device, 'sign_count'),
    rpId: textAt(device, 'rp_id'),
    name: textAt(device, 'name'),
  });
  if (!isTaken) factors.lost('secondFactor');
}

/** The key is in hexadecimal digits. Codes that are counted from another time than 1970 are lost. */
function appOf(device: Fields) {
  const key = textAt(device, 'key') ?? '';
  const isReadable = /^(?:[0-9a-f]{2})+$/i.test(key) && (numberAt(device, 't0') ?? 0) === 0;
  return {
    secret: isReadable ? Secret.fromHex(key).base32 : undefined,
    digits: numberAt(device, 'digits'),
    period: numberAt(device, 'step'),
  };
}
