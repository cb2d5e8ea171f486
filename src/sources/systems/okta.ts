/**
 * Okta: users as its API lists or accepts them, and rows of its CSV files: its import template (`login,firstName,…`),
 * paths (`profile.login`), and reports (`First name`, `Okta user status`). Okta does not export its own hashes.
 *
 * Guarantee: no address counts as verified, because Okta has no reliable flag for it: `credentials.emails` says VERIFIED
 * even for users whom an admin has just created, and Okta itself warns against relying on its claim `email_verified`.
 * UNVERIFIED is believed.
 * https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/
 * https://support.okta.com/help/s/article/how-to-return-the-email-verified-claim
 * https://help.okta.com/en-us/content/topics/users-groups-profiles/usgp-import-users-csv.htm
 * Joined to a user, under names of our own: `factors` (…/users/{id}/factors), `links` (…/idps/{idp}/users, with the name
 * and the type of the provider) and `groups` (…/users/{id}/groups).
 * https://developer.okta.com/docs/api/openapi/okta-management/management/tag/UserFactor/, …/IdentityProviderUsers/
 */
import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { bytesOf, type HashText, pbkdf2Text, saltedDigest, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST, SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { isFields, numberAt, objectAt, objectsAt, present, textAt } from '../values.ts';

const MISSING: readonly Missing[] = [
  {
    id: 'OKTA-FACTORS',
    what: 'secondFactor',
    message: 'The list of users does not say who has second factors or passkeys.',
    remedy: 'Add the answer of GET /api/v1/users/{id}/factors to each user as factors (docs/sources/okta.md).',
    isIn: hasField('factors'),
  },
  {
    id: 'OKTA-LINKS',
    what: 'links',
    message: 'The list of users does not contain their accounts at identity providers.',
    remedy: 'Add the answers of GET /api/v1/idps/{id}/users to the users as links (docs/sources/okta.md).',
    isIn: hasField('links'),
  },
  {
    id: 'OKTA-GROUPS',
    what: 'roles',
    message: 'The list of users does not contain their groups.',
    remedy: 'Add the answer of GET /api/v1/users/{id}/groups to each user as groups (docs/sources/okta.md).',
    isIn: hasField('groups'),
  },
];

export const okta: ExportFormat = {
  name: 'okta',
  title: 'Okta',
  formats: ['json', 'ndjson', 'csv'],
  missing: MISSING,
  recognizes: certaintyOf,
  fields: { isTable: false, isRead: (name) => ['statusChanged', 'transitioningToStatus'].includes(name) },
  converter: () => convert,
};

const STATUSES = 'ACTIVE STAGED PROVISIONED RECOVERY PASSWORD_EXPIRED LOCKED_OUT SUSPENDED DEPROVISIONED'.split(' ');

function certaintyOf(record: Fields): number {
  if (isRow(record)) return 1;
  const profile = objectAt(record, 'profile');
  if (!Object.hasOwn(profile, 'login')) return 0;
  const isListed = STATUSES.includes(textAt(record, 'status') ?? '') && Object.hasOwn(record, 'id');
  return isListed || isFields(record.credentials) || Object.hasOwn(profile, 'secondEmail') ? 1 : 0.6;
}

/** Whether a row has columns that only Okta's files have. */
function isRow(record: Fields): boolean {
  const has = (...columns: string[]) => columns.every((column) => Object.hasOwn(record, column));
  return has('profile.login') || has('login', 'secondEmail') || has('login', 'honorificPrefix') || has('Okta username');
}

const STAGED: Note = {
  id: 'OKTA-STAGED',
  message: 'The user was not activated yet; they are imported as inactive, so that no mail is sent.',
};

const PASSWORD_ELSEWHERE: Note = {
  id: 'OKTA-PASSWORD-ELSEWHERE',
  message: 'Another directory or provider keeps the password, not Okta; the user must set a new one here.',
};

function convert(record: Fields): Person | Skipped {
  const user = asUser(record);
  const profile = objectAt(user, 'profile');
  const credentials = objectAt(user, 'credentials');
  const password = objectAt(credentials, 'password');
  const { hash, notes = [] } = oktaHash(objectAt(password, 'hash'));
  const status = textAt(user, 'status');
  const { state, skip, notes: unread } = readSystemState(user, Object.hasOwn(user, 'id') ? STATES_OF_API : STATES);
  if (skip !== undefined) return { skip };
  const provider = providerOf(credentials);
  const phone = keyOf(profile, 'mobilePhone', 'primaryPhone');
  const language = keyOf(profile, 'preferredLanguage', 'locale');
  const links = objectsAt(user, 'links').flatMap(linkOf);
  const plain = hash === undefined ? textAt(password, 'value') : undefined;
  return {
    userId: textAt(user, 'id'),
    userName: textAt(profile, 'login'),
    email: textAt(profile, 'email'),
    emailVerified: isUnverified(profile, credentials) ? false : undefined,
    firstName: textAt(profile, 'firstName'),
    lastName: textAt(profile, 'lastName'),
    displayName: textAt(profile, 'displayName'),
    nickName: textAt(profile, 'nickName'),
    language: textAt(profile, language),
    phone: textAt(profile, phone),
    state,
    hash,
    password: plain,
    passwordChangeRequired: status === 'PASSWORD_EXPIRED' || status === 'RECOVERY' ? true : undefined,
    metadata: {
      ...rest(profile, [phone, language]),
      'credentials.provider': provider,
      ...present({ groups: groupsOf(user) }),
    },
    ...(links.length > 0 ? { links } : {}),
    oldSignIn: signInOf(user, links, { password: hash !== undefined || plain !== undefined }),
    notes: [
      ...unread,
      ...notes,
      ...(status === 'STAGED' ? [STAGED] : []),
      ...(provider ? [PASSWORD_ELSEWHERE] : []),
      ...factorNotes(user),
    ],
  };
}

/** Types of identity providers that companies connect; all others are social. */
const ENTERPRISE = ['SAML2', 'OIDC', 'OKTA_INTEGRATION', 'X509', 'IDV_PERSONA', 'ADFS', 'AMFA'];

/** A user whom the list of a provider's users names, with the provider's name and type beside the id. */
function linkOf(link: Fields): ProviderLink[] {
  const provider = textAt(link, 'provider') ?? textAt(link, 'type');
  const externalUserId = textAt(link, 'externalId');
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

function signInOf(
  user: Fields,
  links: readonly ProviderLink[],
  { password }: { password: boolean },
): OldSignIn | undefined {
  const types = objectsAt(user, 'links').map((link) => textAt(link, 'type')?.toUpperCase() ?? '');
  const elsewhere = textAt(providerOf(objectAt(user, 'credentials')) ?? {}, 'type');
  return oldSignInOf({
    password,
    provider: elsewhere === 'SOCIAL' || (links.length > 0 && types.some((type) => !ENTERPRISE.includes(type))),
    enterprise: (elsewhere !== undefined && elsewhere !== 'SOCIAL') || types.some((type) => ENTERPRISE.includes(type)),
    passkey: factorsOf(user).some(isPasskey),
  });
}

/** Those that the user has set up. */
function factorsOf(user: Fields): Fields[] {
  return objectsAt(user, 'factors').filter((factor) => (textAt(factor, 'status') ?? 'ACTIVE') === 'ACTIVE');
}

function isPasskey(factor: Fields): boolean {
  return textAt(factor, 'factorType') === 'webauthn';
}

function factorNotes(user: Fields): Note[] {
  const factors = factorsOf(user);
  const [hasPasskey, hasOther] = [factors.some(isPasskey), factors.some((factor) => !isPasskey(factor))];
  return [...(hasPasskey ? [PASSKEY_LOST] : []), ...(hasOther ? [SECOND_FACTOR_LOST] : [])];
}

function groupsOf(user: Fields): string[] | undefined {
  const names = objectsAt(user, 'groups').flatMap((group) => textAt(objectAt(group, 'profile'), 'name') ?? []);
  return names.length > 0 ? names : undefined;
}

/** The system that checks the password, if not Okta: ACTIVE_DIRECTORY, LDAP, FEDERATION, SOCIAL. */
function providerOf(credentials: Fields): Fields | undefined {
  const provider = objectAt(credentials, 'provider');
  const type = textAt(provider, 'type');
  return type === undefined || type === 'OKTA' || type === 'IMPORT' ? undefined : provider;
}

/** The first of the two attributes that is present. */
function keyOf(profile: Fields, first: string, second: string): string {
  return textAt(profile, first) === undefined ? second : first;
}

function isUnverified(profile: Fields, credentials: Fields): boolean {
  const email = textAt(profile, 'email')?.toLowerCase();
  const primary = objectsAt(credentials, 'emails').find(
    (one) => one.type === 'PRIMARY' && textAt(one, 'value')?.toLowerCase() === email,
  );
  return primary?.status === 'UNVERIFIED';
}

/**
 * A user is active only if they could have signed in to Okta, at least with the last mail it sent.
 * https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/ (status)
 */
const STATES = {
  words: [
    {
      field: 'status',
      active: 'active provisioned password_expired recovery',
      inactive: 'staged suspended deprovisioned quarantined',
      locked: 'locked_out',
    },
  ],
  // When the user was activated first.
  ignored: ['activated'],
};
/** Files to create users from have neither id nor status. */
const STATES_OF_API = { ...STATES, required: ['status'] };

const TAKEN = ['login', 'email', 'firstName', 'lastName', 'displayName', 'nickName'];

/** The attributes without a field, both Okta's and the organization's own. */
function rest(profile: Fields, alsoTaken: readonly string[]): Fields {
  return Object.fromEntries(
    Object.entries(profile).filter(([key]) => !TAKEN.includes(key) && !alsoTaken.includes(key)),
  );
}

/** By heading in lower case, without spaces; all other columns are attributes of the profile. */
const HEADINGS: Readonly<Record<string, string>> = {
  login: 'login',
  oktausername: 'login',
  email: 'email',
  primaryemail: 'email',
  secondaryemail: 'secondEmail',
  secondemail: 'secondEmail',
  firstname: 'firstName',
  lastname: 'lastName',
  displayname: 'displayName',
  userfullname: 'displayName',
  nickname: 'nickName',
  mobilephone: 'mobilePhone',
  primaryphone: 'primaryPhone',
  preferredlanguage: 'preferredLanguage',
  locale: 'locale',
};

const IDS = ['id', 'userid', 'oktauserid'];
const STATUS = ['status', 'userstatus', 'oktauserstatus'];
/** Times that matter only to Okta. */
const DROPPED = ['created', 'activated', 'statuschanged', 'lastlogin', 'lastupdated', 'passwordchanged'];

/** The user of a row, as in Okta's API; a user from JSON stays unchanged. */
function asUser(record: Fields): Fields {
  if (!Object.values(record).every((value) => typeof value === 'string')) return record;
  const user: Fields = {};
  const profile: [string, unknown][] = [];
  for (const [column, value] of Object.entries(record)) {
    const name = column.replace(/^profile\./, '');
    const heading = name.toLowerCase().replace(/[^a-z]/g, '');
    if (IDS.includes(heading)) user.id = value;
    else if (STATUS.includes(heading)) user.status = statusOf(value as string);
    else if (!DROPPED.includes(heading) && value !== '') {
      profile.push([Object.hasOwn(HEADINGS, heading) ? (HEADINGS[heading] as string) : name, value]);
    }
  }
  return { ...user, profile: Object.fromEntries(profile) };
}

/** Okta's console has other words for these states. */
const STATUS_WORDS: Readonly<Record<string, string>> = {
  PENDING_USER_ACTION: 'PROVISIONED',
  PASSWORD_RESET: 'RECOVERY',
  DEACTIVATED: 'DEPROVISIONED',
};

function statusOf(text: string): string {
  const word = text
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, '_');
  return Object.hasOwn(STATUS_WORDS, word) ? (STATUS_WORDS[word] as string) : word;
}

/**
 * A hash in the form that Okta's API accepts, `credentials.password.hash`.
 * https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/#create-user-with-imported-hashed-password
 */
function oktaHash(hash: Fields): HashText {
  const algorithm = textAt(hash, 'algorithm')?.toUpperCase();
  const value = textAt(hash, 'value');
  if (algorithm === undefined) return {};
  if (value === undefined) return unsupported(algorithm);
  switch (algorithm) {
    case 'BCRYPT':
      return bcrypt(hash, value);
    case 'PBKDF2':
      return pbkdf2(hash, value);
    case 'MD5':
    case 'SHA-1':
    case 'SHA-256':
    case 'SHA-512':
      return digest(algorithm, hash, value);
    default:
      return unsupported(algorithm);
  }
}

/** Joins the parts of a bcrypt text. `$2a$` is its oldest prefix; all prefixes name the same algorithm. */
function bcrypt(hash: Fields, value: string): HashText {
  const salt = textAt(hash, 'salt');
  const cost = numberAt(hash, 'workFactor');
  if (value.startsWith('$2')) return { hash: value };
  if (salt === undefined || cost === undefined) return unsupported('bcrypt');
  return { hash: `$2a$${String(cost).padStart(2, '0')}$${salt}${value}` };
}

function pbkdf2(hash: Fields, value: string): HashText {
  const algorithm = /^(SHA(?:1|224|256|384|512))_?HMAC$/.exec(
    textAt(hash, 'digestAlgorithm')?.toUpperCase() ?? '',
  )?.[1];
  const rounds = numberAt(hash, 'iterationCount');
  const salt = bytesOf(textAt(hash, 'salt') ?? '', 'base64');
  const bytes = bytesOf(value, 'base64');
  if (algorithm === undefined || rounds === undefined || !salt || !bytes) return unsupported('pbkdf2');
  return { hash: pbkdf2Text(algorithm.toLowerCase(), rounds, salt, bytes) };
}

/** The order of salt and password must be given; Okta requires it too. */
function digest(algorithm: string, hash: Fields, value: string): HashText {
  const salt = bytesOf(textAt(hash, 'salt') ?? '', 'base64');
  const bytes = bytesOf(value, 'base64');
  const order = textAt(hash, 'saltOrder')?.toUpperCase() ?? (salt?.length === 0 ? 'PREFIX' : undefined);
  if (!salt || !bytes || (order !== 'PREFIX' && order !== 'POSTFIX')) return unsupported(algorithm);
  const name = algorithm.toLowerCase().replace('-', '');
  return { hash: saltedDigest(name, order === 'PREFIX' ? 'prefix' : 'suffix', salt, bytes) };
}
