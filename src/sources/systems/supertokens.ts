/**
 * SuperTokens: request bodies of its bulk import, responses of the Core's `GET /users`, and CSV of its tables.
 *
 * A SuperTokens user is a set of login methods. The primary password method becomes the user, providers become links,
 * and methods without a counterpart are noted.
 * https://supertokens.com/docs/migration/account-migration (fields of a user in the bulk import)
 * https://supertokens.com/docs/migration/legacy/account-creation/user-creation (hashes)
 * https://github.com/supertokens/supertokens-core (CDI: GET /users; tables emailpassword_users, thirdparty_users)
 */
import { decodeBase64 } from '../../passwords/scheme.ts';
import type { Note, OldSignIn, Person, Skipped } from '../entry.ts';
import { openFactors } from '../factors.ts';
import { type HashText, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { UsageError } from '../read/records.ts';
import { PASSKEY_LOST } from '../second-factor.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { commonRules, readState, readSystemState, type StateRead } from '../states.ts';
import { boolAt, isFields, jsonAt, listAt, numberAt, objectAt, objectsAt, parseJson, textAt } from '../values.ts';

const SIGNER_KEY_HELP =
  'Users that came from Firebase need the signer key (firebase_password_hashing_signer_key of the Core): a file with ' +
  'the key in base64, alone or as {"signerKey":"…"}.';

const MISSING: readonly Missing[] = [
  {
    id: 'SUPERTOKENS-PASSWORDS',
    what: 'password',
    message: 'The Core answers GET /users without password hashes.',
    remedy: 'Export its tables, or the bodies of its bulk import (docs/sources/supertokens.md).',
    isIn: (record) =>
      hasField('password_hash')(record) || objectsAt(record, 'loginMethods').some(hasField('passwordHash')),
  },
  {
    id: 'SUPERTOKENS-FACTORS',
    what: 'secondFactor',
    message: 'These files do not contain second factors.',
    remedy: 'Join the devices of totp_user_devices to each user as totpDevices (docs/sources/supertokens.md).',
    isIn: hasField('totpDevices'),
  },
  {
    id: 'SUPERTOKENS-ROLES',
    what: 'roles',
    message: 'These files do not contain the roles of users.',
    remedy: 'Join the rows of user_roles to each user as userRoles (docs/sources/supertokens.md).',
    isIn: hasField('userRoles', 'roles'),
  },
];

export const supertokens: ExportFormat = {
  name: 'supertokens',
  title: 'SuperTokens',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['users', '*']],
  hashConfig: SIGNER_KEY_HELP,
  missing: MISSING,
  recognizes,
  converter(options) {
    const signerKey = signerKeyOf(options.hashConfig);
    return (record) => convert(record, signerKey);
  },
};

const RECIPES = ['emailpassword', 'thirdparty', 'passwordless', 'webauthn'];

function recognizes(record: Fields): number {
  const has = (name: string) => Object.hasOwn(record, name);
  if (isRow(record) && has('user_id')) return has('password_hash') || has('third_party_user_id') ? 0.9 : 0;
  const isRecipe = (method: Fields) => RECIPES.includes(textAt(method, 'recipeId') ?? '');
  if (objectsAt(record, 'loginMethods').some(isRecipe)) return 1;
  return isRecipe(record) && isFields(record.user) ? 0.9 : 0;
}

/** Whether a record is a row of the tables, and not JSON of the Core. */
function isRow(record: Fields): boolean {
  return Object.hasOwn(record, 'time_joined');
}

/** SuperTokens has no states: its users write their own, beside the documented fields or into the metadata. */
const NO_STATES = {};

function statesOf(record: Fields, own: Fields): StateRead {
  // A word under `status` may be that of a customer there.
  const [outside, inside] = [readSystemState(record, NO_STATES), readState(own, commonRules(Object.keys(own)))];
  const skip = outside.skip ?? inside.skip;
  const isInactive = [outside.state, inside.state].includes('inactive');
  const state = isInactive ? 'inactive' : (outside.state ?? inside.state);
  return { state, notes: [...outside.notes, ...inside.notes], ...(skip === undefined ? {} : { skip }) };
}

function convert(record: Fields, signerKey: string | undefined): Person | Skipped {
  const methods = methodsOf(record);
  const [main] = methods;
  const { hash, notes = [] } = hashOf(main?.hash, signerKey);
  const email = methods.find((method) => method.email !== undefined)?.email;
  const phone = methods.find((method) => method.phone !== undefined);
  const factors = devicesOf(record);
  const own = jsonAt(record, isRow(record) ? 'user_metadata' : 'userMetadata');
  const { state, skip, notes: unread } = statesOf(record, own);
  if (skip !== undefined) return { skip };
  return {
    userId: userIdOf(record, main),
    state,
    email,
    emailVerified: isVerified(methods, email),
    firstName: textAt(own, 'first_name') ?? textAt(own, 'firstName'),
    lastName: textAt(own, 'last_name') ?? textAt(own, 'lastName'),
    displayName: textAt(own, 'name'),
    nickName: textAt(own, 'nickname'),
    phone: phone?.phone,
    // A number that signs in by codes is one that has received them.
    phoneVerified: phone?.isVerified ?? (phone?.recipe === 'passwordless' ? true : undefined),
    hash,
    password: hash === undefined ? main?.password : undefined,
    ...factors,
    links: methods.flatMap(linkOf),
    oldSignIn: signInOf(methods),
    metadata: {
      userMetadata: Object.keys(own).length > 0 ? own : undefined,
      userRoles: listOf(rolesOf(record)),
      tenantIds: listOf(tenantsOf(record)),
    },
    notes: [...unread, ...notes, ...droppedOf(methods), ...factors.notes],
  };
}

interface LoginMethod {
  /** The user's id in the previous system, if the method has its own. */
  externalUserId: string | undefined;
  /** `emailpassword`, `thirdparty`, `passwordless`, `webauthn`. */
  recipe: string | undefined;
  email: string | undefined;
  phone: string | undefined;
  isVerified: boolean | undefined;
  isPrimary: boolean;
  /** Milliseconds since 1970; a method without a date is the newest. */
  joined: number;
  provider: string | undefined;
  providerUserId: string | undefined;
  hash: string | undefined;
  /** Unchanged, spaces included. */
  password: string | undefined;
}

function userIdOf(record: Fields, main: LoginMethod | undefined): string | undefined {
  if (isRow(record)) return textAt(record, 'external_user_id') ?? textAt(record, 'user_id');
  const external = textAt(record, 'externalUserId') ?? main?.externalUserId;
  return external ?? textAt(record, 'id') ?? textAt(jsonAt(record, 'user'), 'id');
}

/** An address counts as verified if any method verified it: SuperTokens stores that per method. */
function isVerified(methods: readonly LoginMethod[], email: string | undefined): boolean | undefined {
  if (email === undefined) return undefined;
  const said = methods.filter((method) => method.email?.toLowerCase() === email.toLowerCase());
  if (said.some((method) => method.isVerified)) return true;
  return said.some((method) => method.isVerified === false) ? false : undefined;
}

/** Devices that the user has finished setting up; those of a bulk import are. */
function devicesOf(record: Fields) {
  const factors = openFactors();
  for (const device of listAt(record, 'totpDevices')) {
    if (boolAt(device, 'verified') === false) continue;
    const secret = textAt(device, 'secretKey') ?? textAt(device, 'secret_key');
    const name = textAt(device, 'deviceName') ?? textAt(device, 'device_name');
    factors.app({ secret, period: numberAt(device, 'period'), name });
  }
  return factors.fields({});
}

function linkOf({ recipe, provider, providerUserId, email }: LoginMethod) {
  if (recipe !== 'thirdparty' || provider === undefined || providerUserId === undefined) return [];
  return [{ provider, externalUserId: providerUserId, displayName: email }];
}

function listOf(values: unknown[]): unknown[] | undefined {
  return values.length > 0 ? values : undefined;
}

/** Roles with their tenants or, in older versions without tenants, by name alone. */
function rolesOf(record: Fields): unknown[] {
  const roles = record.userRoles ?? record.roles;
  const list = typeof roles === 'string' ? parseJson(roles) : roles;
  return Array.isArray(list) ? list : [];
}

/** The tenants of a user; users in no other tenant are in `public`. */
function tenantsOf(record: Fields): unknown[] {
  const tenants = [record, jsonAt(record, 'user'), ...objectsAt(record, 'loginMethods')].flatMap((each) =>
    Array.isArray(each.tenantIds) ? each.tenantIds : [],
  );
  return [...new Set(tenants)].filter((tenant) => tenant !== 'public');
}

const SECOND_PASSWORD: Note = {
  id: 'LOGIN-METHOD-DROPPED',
  message: 'The user has another address with its own password; only the primary one is imported.',
};

const PASSWORDLESS: Note = {
  id: 'PASSWORDLESS-DROPPED',
  message: 'The user signs in with a code, a link or a passkey, which is not imported; they must set a password.',
};

function droppedOf([main, ...others]: readonly LoginMethod[]): Note[] {
  if (main === undefined) return [];
  const isByCode = [main, ...others].some(({ recipe }) => recipe === 'passwordless' || recipe === 'webauthn');
  return [
    ...(others.some(({ recipe }) => recipe === 'emailpassword') ? [SECOND_PASSWORD] : []),
    ...(main.recipe !== 'emailpassword' && isByCode ? [PASSWORDLESS] : []),
    ...([main, ...others].some(({ recipe }) => recipe === 'webauthn') ? [PASSKEY_LOST] : []),
  ];
}

function signInOf(methods: readonly LoginMethod[]): OldSignIn | undefined {
  const ofRecipe = (name: string) => methods.filter(({ recipe }) => recipe === name);
  const byCode = ofRecipe('passwordless');
  return oldSignInOf({
    password: ofRecipe('emailpassword').length > 0,
    mailCode: byCode.some(({ email }) => email !== undefined),
    sms: byCode.some(({ phone }) => phone !== undefined),
    links: methods.flatMap(linkOf),
    passkey: ofRecipe('webauthn').length > 0,
  });
}

/**
 * The user's login methods, in any form that the Core and its tables use. The main one, as in SuperTokens, is first:
 * the one marked primary, else the oldest.
 */
function methodsOf(record: Fields): LoginMethod[] {
  const methods = rawMethods(record).map(methodOf);
  const main = mainOf(methods.filter(({ recipe }) => recipe === 'emailpassword')) ?? mainOf(methods);
  return main === undefined ? [] : [main, ...methods.filter((method) => method !== main)];
}

function rawMethods(record: Fields): Fields[] {
  if (Array.isArray(record.loginMethods)) return objectsAt(record, 'loginMethods');
  if (isRow(record)) return [ofRow(record)];
  // Core API before account linking: {"recipeId": …, "user": {…}}
  return isFields(record.user) ? [{ ...record.user, recipeId: record.recipeId }] : [];
}

function ofRow(row: Fields): Fields {
  const recipeId = textAt(row, 'password_hash') !== undefined ? 'emailpassword' : 'passwordless';
  return {
    recipeId: textAt(row, 'third_party_id') === undefined ? recipeId : 'thirdparty',
    email: row.email,
    phoneNumber: row.phone_number,
    isVerified: row.is_verified,
    timeJoined: row.time_joined,
    passwordHash: row.password_hash,
    thirdPartyId: row.third_party_id,
    thirdPartyUserId: row.third_party_user_id,
  };
}

function methodOf(raw: Fields): LoginMethod {
  const thirdParty = objectAt(raw, 'thirdParty');
  // The Core accepts the first name, its documentation uses the second.
  const plain = raw.plainTextPassword ?? raw.plaintextPassword;
  return {
    externalUserId: textAt(raw, 'externalUserId'),
    recipe: textAt(raw, 'recipeId'),
    email: textAt(raw, 'email'),
    phone: textAt(raw, 'phoneNumber'),
    isVerified: boolAt(raw, 'isVerified') ?? boolAt(raw, 'verified'),
    isPrimary: boolAt(raw, 'isPrimary') ?? false,
    joined: numberAt(raw, 'timeJoinedInMSSinceEpoch') ?? numberAt(raw, 'timeJoined') ?? Number.POSITIVE_INFINITY,
    provider: textAt(raw, 'thirdPartyId') ?? textAt(thirdParty, 'id'),
    providerUserId: textAt(raw, 'thirdPartyUserId') ?? textAt(thirdParty, 'userId'),
    hash: textAt(raw, 'passwordHash'),
    password: typeof plain === 'string' && plain !== '' ? plain : undefined,
  };
}

function mainOf(methods: readonly LoginMethod[]): LoginMethod | undefined {
  const byAge = methods.toSorted((a, b) => (a.joined < b.joined ? -1 : a.joined > b.joined ? 1 : 0));
  return methods.find(({ isPrimary }) => isPrimary) ?? byAge[0];
}

/** In JSON, or in the hash config of Firebase's console. */
const NAMED_KEY = /signer_?key"?\s*[:=]\s*"?([A-Za-z0-9+/]+=*)/i;

/** @throws UsageError when the text holds no key */
function signerKeyOf(hashConfig: string | undefined): string | undefined {
  if (hashConfig === undefined) return undefined;
  const key = NAMED_KEY.exec(hashConfig)?.[1] ?? hashConfig.trim();
  if (key !== '' && decodeBase64(key) !== undefined) return key;
  throw new UsageError(`The --hash-config file has no signer key. ${SIGNER_KEY_HELP}`);
}

const PREFIX = '$f_scrypt$';

/**
 * Bcrypt and argon2 are standard. Firebase's scrypt is `$f_scrypt$hash$salt$m=14$r=8$s=separator`, whose signer key is
 * in the Core's configuration, not in the hash.
 */
function hashOf(text: string | undefined, signerKey: string | undefined): HashText {
  if (text === undefined) return {};
  return text.startsWith(PREFIX) ? firebase(text.slice(PREFIX.length), signerKey) : { hash: text };
}

const SCHEME = 'firebase-scrypt';
const COUNT = /^[1-9][0-9]{0,5}$/;

const NO_KEY: Note = {
  id: 'HASH-CONFIG-MISSING',
  message: "The hash is Firebase's and cannot be verified without its signer key: pass it with --hash-config.",
};

function firebase(body: string, signerKey: string | undefined): HashText {
  const [digest = '', salt = '', ...settings] = body.split('$');
  const setting = (name: string) => settings.find((text) => text.startsWith(name))?.slice(name.length) ?? '';
  const [cost, rounds, separator] = [setting('m='), setting('r='), setting('s=')];
  const isWhole = settings.length === 3 && COUNT.test(cost) && COUNT.test(rounds);
  const areBytes = [digest, salt, separator].every((part) => part !== '' && decodeBase64(part) !== undefined);
  if (!isWhole || !areBytes) return unsupported(SCHEME);
  if (signerKey === undefined) return { ...unsupported(SCHEME), notes: [NO_KEY] };
  return { hash: `$fbscrypt$v=1,n=${cost},r=${rounds},p=1,ss=${separator},sk=${signerKey}$${salt}$${digest}` };
}
