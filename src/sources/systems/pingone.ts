/**
 * PingOne: users as its API answers `GET /environments/{id}/users`. PingOne returns no password hashes.
 * https://developer.pingidentity.com/pingone-api/platform/users/users-1.html
 * Joined to a user: `linkedAccounts` (…/users/{id}/linkedAccounts?expand=identityProvider) and `devices` (…/devices).
 * https://developer.pingidentity.com/pingone-api/platform/users/linked-accounts.html, …/mfa/users/mfa-devices.html
 */
import type { Note, Person, ProviderLink } from '../entry.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST, SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { Fields, Missing } from '../source.ts';
import { boolAt, objectAt, objectsAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

const MISSING: readonly Missing[] = [
  {
    id: 'PINGONE-LINKS',
    what: 'links',
    message: 'The list of users does not contain their accounts at external identity providers.',
    remedy:
      'Add the answer of GET /environments/{id}/users/{id}/linkedAccounts to each user (docs/sources/pingone.md).',
    isIn: hasField('linkedAccounts'),
  },
  {
    id: 'PINGONE-DEVICES',
    what: 'secondFactor',
    message: 'The list of users does not say which devices of second factors and which passkeys users have.',
    remedy: 'Add the answer of GET /environments/{id}/users/{id}/devices to each user (docs/sources/pingone.md).',
    isIn: hasField('devices'),
  },
  {
    id: 'PINGONE-GROUPS',
    what: 'roles',
    message: 'The list of users does not contain their groups.',
    remedy:
      'Add the answer of GET /environments/{id}/users/{id}/memberOfGroups to each user (docs/sources/pingone.md).',
    isIn: hasField('memberOfGroups'),
  },
];

export const pingone = tableSource({
  name: 'pingone',
  title: 'PingOne',
  missing: MISSING,
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
  parts: [factorsOf],
  links: linksOf,
  signIn(record, { links = [] }) {
    const providers = [objectAt(record, 'identityProvider'), ...accountsOf(record).map(providerOf)];
    const types = providers.map((provider) => textAt(provider, 'type')).filter((type) => type !== 'PING_ONE');
    const isSocial = (type: string | undefined) => type !== undefined && SOCIAL.includes(type);
    return oldSignInOf({
      // The type of a linked account is known only if it was expanded.
      provider: types.some(isSocial) || (links.length > 0 && !types.some((type) => type !== undefined)),
      enterprise: types.some((type) => type !== undefined && !isSocial(type)),
      passkey: devicesOf(record).some(isPasskey),
    });
  },
  dropped: `_links environment account createdAt updatedAt enabled identityProvider lastSignOn lifecycle mfaEnabled
    population verifyStatus password linkedAccounts devices`,
  metadata: (record, rest) => ({ population: textAt(objectAt(record, 'population'), 'id'), ...rest }),
});

/** https://developer.pingidentity.com/pingone-api/platform/identity-provider-management/identity-providers.html */
const SOCIAL = 'AMAZON APPLE FACEBOOK GITHUB GOOGLE LINKEDIN LINKEDIN_OIDC MICROSOFT PAYPAL TWITTER YAHOO'.split(' ');

/** The list itself, or the whole answer with it. */
function joinedList(record: Fields, name: string): Fields[] {
  const inside = objectAt(objectAt(record, name), '_embedded');
  return [...objectsAt(record, name), ...objectsAt(inside, name)];
}

function accountsOf(record: Fields): Fields[] {
  return joinedList(record, 'linkedAccounts');
}

/** Its name and type are in the answer if it was asked to expand them. */
function providerOf(account: Fields): Fields {
  return { ...objectAt(account, 'identityProvider'), ...objectAt(objectAt(account, '_embedded'), 'identityProvider') };
}

function linksOf(record: Fields): ProviderLink[] {
  return accountsOf(record).flatMap((account) => {
    const provider = textAt(providerOf(account), 'name') ?? textAt(providerOf(account), 'id');
    const externalUserId = textAt(account, 'externalId');
    return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
  });
}

function devicesOf(record: Fields): Fields[] {
  return joinedList(record, 'devices').filter((device) => (textAt(device, 'status') ?? 'ACTIVE') === 'ACTIVE');
}

function isPasskey(device: Fields): boolean {
  return ['FIDO2', 'PLATFORM', 'SECURITY_KEY'].includes(textAt(device, 'type') ?? '');
}

const ELSEWHERE: Note = {
  id: 'PINGONE-PASSWORD-ELSEWHERE',
  message: 'An external identity provider, not PingOne, signs the user in; there is no password.',
};

/** `mfaEnabled` says that the user has a factor, the devices which one. */
function factorsOf(record: Fields): Partial<Person> {
  const devices = devicesOf(record);
  const isLost = devices.length > 0 ? !devices.every(isPasskey) : boolAt(record, 'mfaEnabled') === true;
  const provider = textAt(objectAt(record, 'identityProvider'), 'type') ?? 'PING_ONE';
  return {
    notes: [
      ...(isLost ? [SECOND_FACTOR_LOST] : []),
      ...(devices.some(isPasskey) ? [PASSKEY_LOST] : []),
      ...(provider === 'PING_ONE' ? [] : [ELSEWHERE]),
    ],
  };
}
