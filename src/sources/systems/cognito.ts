/**
 * Amazon Cognito: the users of a pool as `aws cognito-idp list-users` prints them, page after page, and CSV with the
 * header of its import jobs. Users have no passwords, because Cognito exports no hashes.
 *
 * Guarantee: an id that Cognito generated never becomes a user name.
 * https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_ListUsers.html
 * https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-using-import-tool-csv-header.html
 */
import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { type Factors, openFactors } from '../factors.ts';
import { signedInBy } from '../old-sign-in.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, CONTEXT, genderOf, isFields, objectsAt, parseJson, textAt } from '../values.ts';

const FEDERATED: Note = {
  id: 'COGNITO-FEDERATED',
  message: 'The user signs in with an external provider and has no password; the link to that account is kept.',
};

const MISSING: readonly Missing[] = [
  {
    id: 'COGNITO-PASSWORDS',
    what: 'password',
    message: 'Cognito exports no passwords.',
    remedy:
      'Set up a password source of Cognito and import with --password-source, so that users keep their passwords.',
    isIn: () => false,
  },
  {
    id: 'COGNITO-SECOND-FACTORS',
    what: 'secondFactor',
    message: 'The answers of list-users do not say who has a second factor.',
    remedy:
      'Add UserMFASettingList of the answer of `aws cognito-idp admin-get-user` to each user, under the same name.',
    isIn: (record) => Object.hasOwn(record, 'UserMFASettingList') || Object.hasOwn(record, 'cognito:mfa_enabled'),
  },
  {
    id: 'COGNITO-PASSKEYS',
    what: 'passkey',
    message: 'Cognito lists passkeys to their owners only, so no export says who has one, or signs in by codes.',
    remedy: 'Nothing gets it: ListWebAuthnCredentials needs the access token of the user.',
    isIn: () => false,
  },
  {
    id: 'COGNITO-GROUPS',
    what: 'roles',
    message: 'The answers of list-users contain no groups.',
    remedy:
      'Add Groups of the answer of `aws cognito-idp admin-list-groups-for-user` to each user, under the same name; their names become the metadata groups.',
    isIn: (record) => Object.hasOwn(record, 'Groups'),
  },
];

export const cognito: ExportFormat = {
  name: 'cognito',
  title: 'Amazon Cognito',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['Users', '*']],
  recognizes: (record) =>
    Object.hasOwn(record, 'cognito:username') ||
    (Object.hasOwn(record, 'Username') && attributeList(record).some((one) => Object.hasOwn(one, 'Name')))
      ? 1
      : 0,
  missing: MISSING,
  converter: () => convert,
};

function convert(record: Fields): Person | Skipped {
  const attributes = attributesOf(record);
  const status = textAt(record, 'UserStatus');
  const { state, skip, notes } = readSystemState(record, STATES);
  if (skip !== undefined) return { skip };
  const isFederated = status === 'EXTERNAL_PROVIDER';
  const userName = textAt(record, 'Username') ?? textAt(record, 'cognito:username');
  const contacts = contactsOf(attributes, status);
  const factors = factorsOf(record).fields(contacts);
  return {
    userId: textAt(attributes, 'sub') ?? (UUID.test(userName ?? '') ? userName : undefined),
    userName: userNameOf(userName, isFederated, attributes),
    firstName: textAt(attributes, 'given_name'),
    lastName: textAt(attributes, 'family_name'),
    displayName: textAt(attributes, 'name'),
    nickName: textAt(attributes, 'nickname'),
    language: textAt(attributes, 'locale'),
    gender: genderOf(textAt(attributes, 'gender')),
    ...contacts,
    state,
    ...factors,
    metadata: { ...metadataOf(attributes), ...groupsOf(record) },
    links: linksOf(attributes, isFederated ? userName : undefined),
    oldSignIn: waysOf(attributes, isFederated),
    notes: [...notes, ...(isFederated ? [FEDERATED] : []), ...factors.notes],
  };
}

/** The list of attributes; `admin-get-user` calls it UserAttributes. */
function attributeList(record: Fields): Fields[] {
  const attributes = objectsAt(record, 'Attributes');
  return attributes.length > 0 ? attributes : objectsAt(record, 'UserAttributes');
}

/** The attributes by name; in CSV these are the columns. */
function attributesOf(record: Fields): Fields {
  if (Object.hasOwn(record, 'cognito:username')) return record;
  return Object.fromEntries(
    attributeList(record).flatMap((one) => {
      const name = textAt(one, 'Name');
      return name === undefined ? [] : [[name, one.Value]];
    }),
  );
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The user name is a generated id in pools where people sign in with their address, and for accounts of a provider. */
function userNameOf(name: string | undefined, isFederated: boolean, attributes: Fields): string | undefined {
  const isMade = isFederated || name === textAt(attributes, 'sub') || UUID.test(name ?? '');
  return isMade ? textAt(attributes, 'preferred_username') : name;
}

/**
 * Cognito no longer sets ARCHIVED and COMPROMISED, but older users still have them.
 * https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UserType.html (UserStatus)
 */
const WORDS = {
  active: 'confirmed unconfirmed external_provider reset_required force_change_password unknown',
  inactive: 'archived compromised disabled',
};
const STATES = {
  active: ['Enabled'],
  words: [
    { field: 'UserStatus', ...WORDS },
    { field: 'cognito:user_status', ...WORDS },
  ],
};

function contactsOf(attributes: Fields, status: string | undefined) {
  return {
    email: textAt(attributes, 'email'),
    // A user who has not confirmed the sign-up has not proved ownership of the address either.
    emailVerified: boolAt(attributes, 'email_verified') ?? (status === 'UNCONFIRMED' ? false : undefined),
    phone: textAt(attributes, 'phone_number'),
    phoneVerified: boolAt(attributes, 'phone_number_verified'),
  };
}

/**
 * Codes by text message and mail go to the attributes of the user. Secrets of apps are not exported, and the column of
 * CSV files does not say what the factor is.
 * https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_AdminGetUser.html (UserMFASettingList)
 */
function factorsOf(record: Fields): Factors {
  const factors = openFactors();
  const kinds = Array.isArray(record.UserMFASettingList) ? record.UserMFASettingList : [];
  const media = objectsAt(record, 'MFAOptions').map((option) => textAt(option, 'DeliveryMedium'));
  for (const kind of [...kinds, ...media]) {
    if (kind === 'SMS_MFA' || kind === 'SMS') factors.sms();
    else if (kind === 'EMAIL_OTP' || kind === 'EMAIL') factors.mail();
    else factors.lost('secondFactor');
  }
  if (boolAt(record, 'cognito:mfa_enabled') === true) factors.lost('secondFactor');
  return factors;
}

const TAKEN = (
  'sub cognito:username email email_verified given_name family_name name nickname locale gender phone_number ' +
  'phone_number_verified identities'
).split(' ');
const DROPPED = ['updated_at', 'cognito:mfa_enabled', 'cognito:user_status', CONTEXT];

/** Custom attributes keep their full name, as a user may have both `custom:picture` and `picture`. */
function metadataOf(attributes: Fields): Fields {
  const entries = Object.entries(attributes);
  return Object.fromEntries(entries.filter(([key]) => !TAKEN.includes(key) && !DROPPED.includes(key)));
}

function groupsOf(record: Fields): { groups?: string[] } {
  const names = objectsAt(record, 'Groups').flatMap((group) => textAt(group, 'GroupName') ?? []);
  return names.length > 0 ? { groups: names } : {};
}

/** Types of providers that everybody may have an account at; the others are SAML and OIDC. */
const SOCIAL = ['google', 'facebook', 'signinwithapple', 'loginwithamazon'];

function waysOf(attributes: Fields, isFederated: boolean): OldSignIn | undefined {
  const kinds = identitiesOf(textAt(attributes, 'identities') ?? '').flatMap((identity) => {
    const kind = textAt(identity, 'providerType') ?? textAt(identity, 'providerName');
    return kind === undefined ? [] : [SOCIAL.includes(kind.toLowerCase()) ? 'provider' : 'enterprise'];
  });
  const isSocial = kinds.includes('provider') || (isFederated && kinds.length === 0);
  return signedInBy({ password: !isFederated, provider: isSocial, enterprise: kinds.includes('enterprise') });
}

/** @param userName of a user of an external provider: `Google_1234` */
function linksOf(attributes: Fields, userName: string | undefined): ProviderLink[] {
  const links = identitiesOf(textAt(attributes, 'identities') ?? '').flatMap((identity) => {
    const provider = textAt(identity, 'providerName');
    const externalUserId = textAt(identity, 'userId');
    return provider && externalUserId ? [{ provider, externalUserId }] : [];
  });
  const [, provider, externalUserId] = /^([^_]+)_(.+)$/.exec(userName ?? '') ?? [];
  return links.length > 0 || !provider || !externalUserId ? links : [{ provider, externalUserId }];
}

/** JSON text of an array; some tools write its elements without the brackets. */
function identitiesOf(text: string): Fields[] {
  const parsed = parseJson(text) ?? parseJson(`[${text}]`);
  return (Array.isArray(parsed) ? parsed : [parsed]).filter(isFields);
}
