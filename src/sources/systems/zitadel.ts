/**
 * ZITADEL: request bodies of its import (`dataOrgs`), responses of its export and its user searches, and request bodies
 * of version 2 that create one human user; in camelCase and snake_case.
 * https://zitadel.com/docs/guides/migrate/users (import)
 * https://zitadel.com/docs/guides/migrate/sources/zitadel (export)
 * https://zitadel.com/docs/apis/resources/user_service_v2/user-service-list-users (and …-add-human-user)
 *
 * As in all JSON forms of protobuf, false, empty and unset fields are omitted.
 */
import { decodeBase64 } from '../../passwords/scheme.ts';
import { camelCase } from '../../platform/text/names.ts';
import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST, RECOVERY_CODES_LOST, SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { ExportFormat, Fields, JsonPath, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, CONTEXT, isFields, objectAt, objectsAt, present, textAt } from '../values.ts';

const ORGS: JsonPath[] = [
  ['dataOrgs', 'orgs', '*'],
  ['data_orgs', 'orgs', '*'],
  ['orgs', '*'],
];

const MISSING: readonly Missing[] = [
  {
    id: 'ZITADEL-METHODS',
    what: 'secondFactor',
    message: 'These files do not say who has passkeys, codes by mail or text message, or recovery codes.',
    remedy: 'Add authMethodTypes of GET /v2/users/{id}/authentication_methods to each user (docs/sources/zitadel.md).',
    isIn: hasField('authMethodTypes', 'auth_method_types'),
  },
  {
    id: 'ZITADEL-GRANTS',
    what: 'roles',
    message: 'These files have the roles of users (grants) beside the users, where they are not read.',
    remedy: 'Add the grants of each user as userGrants (docs/sources/zitadel.md).',
    isIn: hasField('userGrants', 'user_grants'),
  },
];

export const zitadel: ExportFormat = {
  name: 'zitadel',
  title: 'ZITADEL',
  formats: ['json', 'ndjson'],
  jsonPaths: [
    ...ORGS.flatMap((org) => [
      [...org, 'humanUsers', '*'],
      [...org, 'human_users', '*'],
    ]),
    ['result', '*'],
  ],
  missing: MISSING,
  recognizes,
  converter: () => convert,
};

function recognizes(record: Fields): number {
  const user = camelCased(objectAt(record, 'user'));
  if (isFields(user.profile) && (isFields(user.email) || textAt(user, 'userName') !== undefined)) return 1;
  if (isFields(objectAt(record, 'human').profile)) return 1;
  if (isFields(record.profile) && Object.hasOwn(objectAt(record, 'email'), 'email')) return 0.9;
  const hasLoginNames = Object.hasOwn(record, 'loginNames') || Object.hasOwn(record, 'login_names');
  return isFields(record.machine) && hasLoginNames ? 0.9 : 0;
}

function convert(raw: Fields): Person | Skipped {
  const record = camelCased(raw);
  if (isFields(record.machine)) return { skip: 'A machine user; only people are imported.' };
  const { state, skip, notes } = readSystemState(record, STATES);
  if (skip !== undefined) return { skip };
  const user = userOf(record);
  const links = [...objectsAt(user, 'idps'), ...objectsAt(user, 'idpLinks')].flatMap(linkOf);
  const credentials = credentialsOf(user);
  const methods = methodsOf(record);
  return {
    orgId: orgIdOf(record),
    userId: textAt(record, 'userId') ?? textAt(record, 'id'),
    userName: textAt(user, 'userName') ?? textAt(record, 'userName') ?? textAt(record, 'username'),
    ...profileOf(objectAt(user, 'profile')),
    ...contactsOf(user),
    ...credentials,
    wantsPasskey: boolAt(user, 'requestPasswordlessRegistration') || undefined,
    state,
    metadata: {
      ...metadataOf(user),
      ...present({ userGrants: grantsOf(record), picture: textAt(objectAt(user, 'profile'), 'avatarUrl') }),
    },
    links,
    oldSignIn: signInOf(methods, links, credentials),
    notes: [...notes, ...lostOf(methods, credentials.totp)],
  };
}

/** Without their common beginning, from the answer or the list in it: `PASSKEY`, `OTP_SMS`. */
function methodsOf(record: Fields): string[] {
  const methods = record.authMethodTypes;
  return (Array.isArray(methods) ? methods : [])
    .filter((method) => typeof method === 'string')
    .map((method) => method.replace(/^AUTHENTICATION_METHOD_TYPE_/, ''));
}

function signInOf(
  methods: readonly string[],
  links: readonly ProviderLink[],
  { hash, password }: Pick<Person, 'hash' | 'password'>,
): OldSignIn | undefined {
  return oldSignInOf({
    password: methods.includes('PASSWORD') || hash !== undefined || password !== undefined,
    provider: methods.includes('IDP'),
    links,
    passkey: methods.includes('PASSKEY'),
  });
}

/** @param totp the secret, if the export has it */
function lostOf(methods: readonly string[], totp: string | undefined): Note[] {
  const isLost = (totp === undefined && methods.includes('TOTP')) || ['U2F', 'OTP_SMS', 'OTP_EMAIL'].some(has);
  return [
    ...(isLost ? [SECOND_FACTOR_LOST] : []),
    ...(has('PASSKEY') ? [PASSKEY_LOST] : []),
    ...(has('RECOVERY_CODE') ? [RECOVERY_CODES_LOST] : []),
  ];

  function has(method: string): boolean {
    return methods.includes(method);
  }
}

function grantsOf(record: Fields): unknown {
  const grants = record.userGrants;
  return Array.isArray(grants) && grants.length > 0 ? grants : undefined;
}

/**
 * A bulk import has the person under `user`, a search under `human` next to the user name, a single import at the top.
 */
function userOf(record: Fields): Fields {
  return [record.user, record.human].find(isFields) ?? record;
}

function orgIdOf(record: Fields): string | undefined {
  return (
    textAt(objectAt(record, CONTEXT), 'orgId') ??
    textAt(record, 'orgId') ??
    textAt(objectAt(record, 'organization'), 'orgId') ??
    textAt(objectAt(record, 'details'), 'resourceOwner')
  );
}

// https://zitadel.com/docs/apis/resources/user_service_v2/user-service-list-users (state)
const STATES = {
  words: [
    {
      field: 'state',
      active: 'user_state_active user_state_initial active initial',
      inactive: 'user_state_inactive user_state_suspend inactive',
      locked: 'user_state_locked locked',
      deleted: 'user_state_deleted deleted',
    },
  ],
};

/**
 * Metadata values are base64. Decoded values that are not text stay bytes; a value that is not base64 is kept as text.
 */
function metadataOf(user: Fields): Record<string, unknown> {
  const entries = objectsAt(user, 'metadata').map((entry): [string, unknown] => {
    const value = textAt(entry, 'value');
    const bytes = value === undefined ? undefined : decodeBase64(value);
    return [textAt(entry, 'key') ?? '', bytes === undefined ? value : textOf(bytes)];
  });
  return Object.fromEntries(entries.filter(([key]) => key !== ''));
}

function textOf(bytes: Buffer): string | Buffer {
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : bytes;
}

function linkOf(idp: Fields): ProviderLink[] {
  const provider = textAt(idp, 'configId') ?? textAt(idp, 'idpId');
  const externalUserId = textAt(idp, 'externalUserId') ?? textAt(idp, 'userId');
  if (provider === undefined || externalUserId === undefined) return [];
  return [{ provider, externalUserId, displayName: textAt(idp, 'displayName') ?? textAt(idp, 'userName') }];
}

function profileOf(profile: Fields) {
  const language = textAt(profile, 'preferredLanguage');
  return {
    firstName: textAt(profile, 'firstName') ?? textAt(profile, 'givenName'),
    lastName: textAt(profile, 'lastName') ?? textAt(profile, 'familyName'),
    nickName: textAt(profile, 'nickName'),
    displayName: textAt(profile, 'displayName'),
    // "undetermined": Go's value for no language
    language: language === 'und' ? undefined : language,
    gender: genderOf(textAt(profile, 'gender')),
  };
}

function genderOf(gender: string | undefined): Person['gender'] {
  return gender === 'GENDER_FEMALE' || gender === 'GENDER_MALE' || gender === 'GENDER_DIVERSE' ? gender : undefined;
}

function contactsOf(user: Fields) {
  const email = objectAt(user, 'email');
  const phone = objectAt(user, 'phone');
  return {
    email: textAt(email, 'email'),
    emailVerified: boolAt(email, 'isEmailVerified') ?? boolAt(email, 'isVerified') ?? false,
    phone: textAt(phone, 'phone'),
    phoneVerified: boolAt(phone, 'isPhoneVerified') ?? boolAt(phone, 'isVerified'),
  };
}

/** In version 2 the password is an object, which also says whether it must be changed. */
function credentialsOf(user: Fields) {
  const hashed = objectAt(user, 'hashedPassword');
  const plain = objectAt(user, 'password');
  const password = isFields(user.password) ? plain.password : user.password;
  const isRequired = [boolAt(hashed, 'changeRequired'), boolAt(plain, 'changeRequired')].includes(true);
  return {
    password: typeof password === 'string' && password !== '' ? password : undefined,
    hash: textAt(hashed, 'value') ?? textAt(hashed, 'hash'),
    passwordChangeRequired: boolAt(user, 'passwordChangeRequired') ?? (isRequired ? true : undefined),
    totp: textAt(user, 'otpCode') ?? textAt(user, 'totpSecret'),
  };
}

/** A record, its user, the user's profile: deeper levels hold no known names, and may be nested without limit. */
const LEVELS = 3;

/**
 * Converts field names to camelCase, nested ones included: programs send `user_name` as well as `userName`, and
 * ZITADEL's API accepts both. Keys of metadata are values in ZITADEL, so they stay unchanged.
 */
function camelCased(record: Fields, levels = LEVELS): Fields {
  const inner = (value: unknown) => (levels > 1 && isFields(value) ? camelCased(value, levels - 1) : value);
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name === CONTEXT ? name : camelCase(name),
      Array.isArray(value) ? value.map(inner) : inner(value),
    ]),
  );
}
