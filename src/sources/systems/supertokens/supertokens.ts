/**
 * SuperTokens: request bodies of its bulk import, responses of the Core's `GET /users`, and CSV of its tables.
 *
 * A SuperTokens user is a set of login methods. The primary password method becomes the user, providers become links,
 * and methods without a counterpart are noted.
 * https://supertokens.com/docs/migration/account-migration (fields of a user in the bulk import)
 * https://github.com/supertokens/supertokens-core (CDI: GET /users; tables emailpassword_users, thirdparty_users)
 */
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { isFields, jsonAt, numberAt, objectsAt, textAt } from '../../values.ts';
import { hashOf, SIGNER_KEY_HELP, signerKeyOf } from './hash.ts';
import { isRow, type LoginMethod, methodsOf } from './methods.ts';

const RECIPES = ['emailpassword', 'thirdparty', 'passwordless', 'webauthn'];
const PERIOD_S = 30;

const SECOND_PASSWORD: Note = {
  id: 'LOGIN-METHOD-DROPPED',
  message: 'The user has another address with its own password; only the primary one is imported.',
};
const PASSWORDLESS: Note = {
  id: 'PASSWORDLESS-DROPPED',
  message: 'The user signs in with a code, a link or a passkey, which is not imported; they must set a password.',
};
export const supertokens: Source = {
  name: 'supertokens',
  title: 'SuperTokens',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['users', '*']],
  hashConfig: SIGNER_KEY_HELP,
  recognizes,
  converter(options) {
    const signerKey = signerKeyOf(options.hashConfig);
    return (record) => convert(record, signerKey);
  },
};

function recognizes(record: Fields): number {
  const has = (name: string) => Object.hasOwn(record, name);
  if (isRow(record) && has('user_id')) return has('password_hash') || has('third_party_user_id') ? 0.9 : 0;
  const isRecipe = (method: Fields) => RECIPES.includes(textAt(method, 'recipeId') ?? '');
  if (objectsAt(record, 'loginMethods').some(isRecipe)) return 1;
  return isRecipe(record) && isFields(record.user) ? 0.9 : 0;
}

function convert(record: Fields, signerKey: string | undefined): Person {
  const methods = methodsOf(record);
  const [main] = methods;
  const { hash, notes = [] } = hashOf(main?.hash, signerKey);
  const email = methods.find((method) => method.email !== undefined)?.email;
  const phone = methods.find((method) => method.phone !== undefined);
  const devices = objectsAt(record, 'totpDevices').filter((device) => textAt(device, 'secretKey') !== undefined);
  const own = jsonAt(record, isRow(record) ? 'user_metadata' : 'userMetadata');
  return {
    userId: userIdOf(record, main),
    email,
    emailVerified: isVerified(methods, email),
    firstName: textAt(own, 'first_name') ?? textAt(own, 'firstName'),
    lastName: textAt(own, 'last_name') ?? textAt(own, 'lastName'),
    displayName: textAt(own, 'name'),
    nickName: textAt(own, 'nickname'),
    phone: phone?.phone,
    phoneVerified: phone?.isVerified,
    hash,
    password: hash === undefined ? main?.password : undefined,
    totp: totpOf(devices),
    links: methods.flatMap(linkOf),
    metadata: {
      userMetadata: Object.keys(own).length > 0 ? own : undefined,
      userRoles: listOf(rolesOf(record)),
      tenantIds: listOf(tenantsOf(record)),
    },
    notes: [...notes, ...droppedOf(methods), ...(devices.length > 1 ? [SECOND_FACTOR_LOST] : [])],
  };
}

function userIdOf(record: Fields, main: LoginMethod | undefined): string | undefined {
  if (isRow(record)) return textAt(record, 'external_user_id') ?? textAt(record, 'user_id');
  const external = textAt(record, 'externalUserId') ?? main?.externalUserId;
  return external ?? textAt(record, 'id') ?? textAt(jsonAt(record, 'user'), 'id');
}

/** Roles with their tenants or, in older versions without tenants, by name alone. */
function rolesOf(record: Fields): unknown[] {
  const roles = record.userRoles ?? record.roles;
  return Array.isArray(roles) ? roles : [];
}

/** An address counts as verified if any method verified it: SuperTokens stores that per method. */
function isVerified(methods: readonly LoginMethod[], email: string | undefined): boolean | undefined {
  if (email === undefined) return undefined;
  const said = methods.filter((method) => method.email?.toLowerCase() === email.toLowerCase());
  if (said.some((method) => method.isVerified)) return true;
  return said.some((method) => method.isVerified === false) ? false : undefined;
}

function linkOf({ recipe, provider, providerUserId, email }: LoginMethod) {
  if (recipe !== 'thirdparty' || provider === undefined || providerUserId === undefined) return [];
  return [{ provider, externalUserId: providerUserId, displayName: email }];
}

/** A device with an uncommon period is passed on unchanged: the service rejects it, so it is not lost silently. */
function totpOf(devices: readonly Fields[]): string | undefined {
  const periodOf = (device: Fields) => numberAt(device, 'period') ?? PERIOD_S;
  const device = devices.find((each) => periodOf(each) === PERIOD_S) ?? devices[0];
  const secret = device && textAt(device, 'secretKey');
  if (device === undefined || secret === undefined || periodOf(device) === PERIOD_S) return secret;
  return `otpauth://totp/SuperTokens?secret=${encodeURIComponent(secret)}&period=${periodOf(device)}`;
}

function droppedOf([main, ...others]: readonly LoginMethod[]): Note[] {
  if (main === undefined) return [];
  const isByCode = [main, ...others].some(({ recipe }) => recipe === 'passwordless' || recipe === 'webauthn');
  return [
    ...(others.some(({ recipe }) => recipe === 'emailpassword') ? [SECOND_PASSWORD] : []),
    ...(main.recipe !== 'emailpassword' && isByCode ? [PASSWORDLESS] : []),
  ];
}

/** The tenants of a user; users in no other tenant are in `public`. */
function tenantsOf(record: Fields): unknown[] {
  const tenants = [record, jsonAt(record, 'user'), ...objectsAt(record, 'loginMethods')].flatMap((each) =>
    Array.isArray(each.tenantIds) ? each.tenantIds : [],
  );
  return [...new Set(tenants)].filter((tenant) => tenant !== 'public');
}

function listOf(values: unknown[]): unknown[] | undefined {
  return values.length > 0 ? values : undefined;
}
