/**
 * Casdoor: users of its API (`GET /api/get-users`), of an init_data file, and rows of its table `user`, as JSON or CSV.
 * The API shows `***` in place of the password unless the caller is a global administrator.
 * https://casdoor.org/docs/basic/core-concepts; https://casdoor.org/docs/organization/password-type;
 * https://github.com/casdoor/casdoor (object/user.go, cred/)
 */
import type { Note, Person, ProviderLink } from '../entry.ts';
import { codesIn, type Factors, goPasskey, openFactors } from '../factors.ts';
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../hashes.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { boolAt, fieldNames, firstBool, firstText, jsonAt, listAt, parseJson, textAt } from '../values.ts';
import { tableSource } from './table.ts';

/** Each kind of provider has a column with the user's id there. */
const PROVIDERS = [
  ...fieldNames(`github google qq wechat facebook dingtalk weibo gitee linkedin wecom lark gitlab adfs baidu alipay casdoor
    infoflow apple azuread azureadb2c slack steam bilibili okta douyin kwai line amazon auth0 battlenet bitbucket box
    cloudfoundry dailymotion deezer digitalocean discord dropbox eveonline fitbit gitea heroku influxcloud instagram
    intercom kakao lastfm mailru meetup microsoftonline naver nextcloud onedrive oura patreon paypal salesforce shopify
    soundcloud spotify strava stripe telegram tiktok tumblr twitch twitter typetalk uber vk wepay xero yahoo yammer yandex
    zoom metamask web3onboard openid keycloak aliyunidaas genericsaml custom custom2 custom3 custom4 custom5 custom6 custom7
    custom8 custom9 custom10`),
];
/** Columns worth keeping; the others belong to a shop and a forum. */
const METADATA = [
  ...fieldNames(
    'externalId external_id avatar gender birthday title affiliation location region tag bio homepage groups roles properties',
  ),
];
const TOTP = ['totpSecret', 'totp_secret'];
const PREFERRED = ['preferredMfaType', 'preferred_mfa_type'];
const BY_SMS = ['mfaPhoneEnabled', 'mfa_phone_enabled'];
const BY_MAIL = ['mfaEmailEnabled', 'mfa_email_enabled'];
const ELSEWHERE = [...fieldNames('mfaRadiusEnabled mfa_radius_enabled mfaPushEnabled mfa_push_enabled')];
const PASSKEYS = ['webauthnCredentials', 'webauthn_credentials'];
const RECOVERY_CODES = ['recoveryCodes', 'recovery_codes'];

export const casdoor = tableSource({
  name: 'casdoor',
  title: 'Casdoor',
  mayBePlain: true,
  jsonPaths: [
    ['data', '*'],
    ['users', '*'],
  ],
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    // A user in an init_data file may have no type of password: Casdoor hashes it when it loads the file.
    const isJson = has('isForbidden') && (has('passwordType') || has('signupApplication'));
    return has('owner') && has('name') && (isJson || (has('password_type') && has('is_forbidden')));
  },
  states: { inactive: ['isForbidden', 'is_forbidden'], deleted: ['isDeleted', 'is_deleted'] },
  columns: {
    userId: 'id',
    userName: 'name',
    email: 'email',
    emailVerified: ['emailVerified', 'email_verified'],
    firstName: ['firstName', 'first_name'],
    lastName: ['lastName', 'last_name'],
    displayName: ['displayName', 'display_name'],
    language: 'language',
    phone: 'phone',
  },
  parts: [passwordOf, waysOf],
  links: linksOf,
  metadata: (record) => Object.fromEntries(METADATA.map((name) => [name, fieldOf(record, name)])),
});

function linksOf(record: Fields): ProviderLink[] {
  return PROVIDERS.flatMap((provider) => {
    const externalUserId = textAt(record, provider);
    return externalUserId === undefined ? [] : [{ provider, externalUserId }];
  });
}

function waysOf(record: Fields): Partial<Person> {
  const isList = (names: readonly string[]) => names.some((name) => isFilledList(record, name));
  const links = linksOf(record);
  const passkey = isList(PASSKEYS);
  return {
    ...factorsOf(record).fields({ email: textAt(record, 'email'), phone: textAt(record, 'phone') }),
    oldSignIn: signedInBy({
      password: textAt(record, 'password') !== undefined,
      provider: links.some(({ provider }) => !isOfCompany(provider)),
      // The column `ldap` has the id of a user whose password a directory checks.
      enterprise: links.some(({ provider }) => isOfCompany(provider)) || textAt(record, 'ldap') !== undefined,
      passkey,
    }),
  };
}

/**
 * Secrets of apps (SHA-1, 6 digits, 30 s) and recovery codes are plain in the table; the API leaves them out. Casdoor asks
 * for a key of WebAuthn in place of the password.
 */
function factorsOf(record: Fields): Factors {
  const factors = openFactors();
  const secret = firstText(record, TOTP);
  const [bySms, byMail] = [firstBool(record, BY_SMS) === true, firstBool(record, BY_MAIL) === true];
  if (secret !== undefined) factors.app({ secret });
  if (bySms) factors.sms();
  if (byMail) factors.mail();
  const isElsewhere = ELSEWHERE.some((flag) => boolAt(record, flag) === true);
  const isKnown = secret !== undefined || bySms || byMail;
  if (isElsewhere || (firstText(record, PREFERRED) !== undefined && !isKnown)) factors.lost('secondFactor');
  for (const key of PASSKEYS.flatMap((name) => listAt(record, name))) factors.passkey(goPasskey(key));
  factors.recoveryCodes(RECOVERY_CODES.flatMap((name) => codesIn(record[name]) ?? []));
  return factors;
}

/** A list, also as the text of a column. */
function isFilledList(record: Fields, name: string): boolean {
  const value = record[name];
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) && list.length > 0;
}

function fieldOf(record: Fields, name: string): unknown {
  const value = Object.keys(jsonAt(record, name)).length > 0 ? jsonAt(record, name) : record[name];
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

const MASKED: Note = {
  id: 'PASSWORD-MASKED',
  message: 'The export shows *** in place of the password; no password is imported. Export as a global administrator.',
};
const WHOLE = ['bcrypt', 'argon2id', 'pbkdf2-django'];
/** Digest of the hexadecimal digest and the salt; without a salt, of the password alone. */
const SALTED = ['salt', 'sha512-salt', 'md5-salt'];
const ROUNDS = 27_500;

/** `password` and `password_salt`, as `password_type` says. */
function passwordOf(record: Fields): HashText & Pick<Person, 'password'> {
  const text = textAt(record, 'password');
  if (text === undefined) return {};
  if (text === '***') return { notes: [MASKED] };
  const type = firstText(record, ['passwordType', 'password_type']) ?? 'plain';
  const salt = firstText(record, ['passwordSalt', 'password_salt']);
  if (type === 'plain') return { password: text };
  if (WHOLE.includes(type)) return { hash: text };
  if (SALTED.includes(type)) return { hash: salt === undefined ? text : `${text}:${salt}` };
  const [saltBytes, digest] = [bytesOf(salt ?? '', 'base64'), bytesOf(text, 'base64')];
  if (type !== 'pbkdf2-salt' || !saltBytes || !digest) return unsupported(type);
  return { hash: pbkdf2Text('sha256', ROUNDS, saltBytes, digest) };
}
