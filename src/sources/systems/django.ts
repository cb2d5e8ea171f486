/**
 * Django: users of `auth.User` or a custom user model, as `manage.py dumpdata` writes them, and rows of such a table.
 *
 * Guarantee: fields that a project added to its model are kept as metadata; other models in the same dump are skipped.
 * https://docs.djangoproject.com/en/stable/ref/django-admin/#dumpdata
 * https://docs.djangoproject.com/en/stable/ref/contrib/auth/#user-model
 */
import { identifierOf, schemeOf } from '../../passwords/registry.ts';
import type { Note, Person, ProviderLink } from '../entry.ts';
import { openFactors } from '../factors.ts';
import { type HashText, unsupported } from '../hashes.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { boolAt, CONTEXT, fieldNames, firstBool, isFields, jsonAt, listAt, parseJson, textAt } from '../values.ts';
import { tableSource } from './table.ts';

/** What Django's hashers write, and the mark for an unusable password. */
const PASSWORD = /^(?:(?:pbkdf2_sha256|pbkdf2_sha1|argon2|bcrypt|bcrypt_sha256|scrypt|sha1|md5)\$|!)/;
/** Fields of Django's own user models. */
const OF_A_USER = ['last_login', 'is_active', 'is_superuser', 'is_staff', 'date_joined'];
const AUTHENTIK = ['uuid', 'attributes', 'path', 'type'];

/** The names of fields are those of `AbstractUser` and of most custom models. */
export const django = tableSource({
  name: 'django',
  title: 'Django',
  recognizes,
  row: (record) => (isDumped(record) ? record.fields : record),
  skip: (fields, { record }) =>
    isUser(fields, isDumped(record) ? record.model : undefined) ? undefined : 'An object of another model, not a user.',
  states: { active: ['is_active'] },
  stateRow: (record) => (isDumped(record) ? record.fields : record),
  columns: {
    userId: (fields, { record }) => textAt(record, 'pk') ?? textAt(fields, 'id'),
    userName: 'username',
    email: 'email',
    emailVerified: (fields) => firstBool(fields, ['email_verified', 'is_email_verified']) ?? isListedVerified(fields),
    firstName: 'first_name',
    lastName: 'last_name',
    displayName: ['full_name', 'name'],
    phone: ['phone_number', 'phone'],
    language: ['language', 'locale'],
  },
  missing: [
    {
      id: 'DJANGO-SOCIAL-ACCOUNTS',
      what: 'links',
      message: 'The users of Django come without their accounts at providers, which django-allauth keeps in a table.',
      remedy:
        'Join the rows of socialaccount_socialaccount (provider, uid) as JSON in the field social_accounts, as docs/sources/django.md shows.',
      isIn: hasField('social_accounts'),
    },
    {
      id: 'DJANGO-AUTHENTICATORS',
      what: 'secondFactor',
      message: 'The users of Django come without passkeys, second factors and recovery codes of django-allauth.',
      remedy: 'Join the rows of mfa_authenticator (type, data) as JSON in the field authenticators.',
      isIn: hasField('authenticators'),
    },
    {
      id: 'DJANGO-ADDRESSES',
      what: 'ways',
      message: 'Django does not say which addresses are verified; django-allauth keeps that in a table.',
      remedy: 'Join the rows of account_emailaddress (email, verified, primary) as JSON in the field email_addresses.',
      isIn: hasField('email_addresses'),
    },
  ],
  parts: [hashOf, joinedOf],
  links: (fields) => listAt(fields, 'social_accounts').flatMap(linkOf),
  metadata: metadataOf,
});

function recognizes(record: Fields): number {
  if (isDumped(record)) return isUser(record.fields, record.model) ? 1 : 0.5;
  // authentik is built on Django, and adds these columns.
  if (AUTHENTIK.every((name) => Object.hasOwn(record, name))) return 0;
  if (!Object.hasOwn(record, 'is_active') && !Object.hasOwn(record, 'last_login')) return 0;
  const isOurs = Object.hasOwn(record, 'is_superuser') && Object.hasOwn(record, 'password');
  return isOurs || PASSWORD.test(textAt(record, 'password') ?? '') ? 0.95 : 0;
}

/** An object of a dump names its model as `app.model`. */
function isDumped(record: Fields): record is { model: string; fields: Fields } {
  return typeof record.model === 'string' && /^\w+\.\w+$/.test(record.model) && isFields(record.fields);
}

/** Other models have a name and a password too: accounts at other systems, with passwords that are not hashes. */
function isUser(fields: Fields, model = 'user'): boolean {
  const has = (name: string) => Object.hasOwn(fields, name);
  if (!has('password') || !(has('email') || has('username'))) return false;
  return /user$/i.test(model) || OF_A_USER.some(has) || PASSWORD.test(textAt(fields, 'password') ?? '');
}

function hasField(name: string): (record: Fields) => boolean {
  return (record) => Object.hasOwn(isDumped(record) ? record.fields : record, name);
}

/** A row of django-allauth's socialaccount_socialaccount. */
function linkOf(account: Fields): ProviderLink[] {
  const [provider, externalUserId] = [textAt(account, 'provider'), textAt(account, 'uid')];
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

/** Whether django-allauth has the user's address as verified; undefined where its table is not joined. */
function isListedVerified(fields: Fields): boolean | undefined {
  const email = textAt(fields, 'email')?.toLowerCase();
  const listed = listAt(fields, 'email_addresses').find((one) => textAt(one, 'email')?.toLowerCase() === email);
  return listed && boolAt(listed, 'verified');
}

/** What the joined tables of django-allauth say. https://docs.allauth.org/en/latest/mfa/index.html (types: totp, …) */
function joinedOf(fields: Fields): Partial<Person> {
  const authenticators = listAt(fields, 'authenticators');
  const ofType = (type: string) => authenticators.filter((one) => textAt(one, 'type') === type);
  const factors = openFactors();
  for (const app of ofType('totp')) factors.app({ secret: textAt(jsonAt(app, 'data'), 'secret') });
  if (ofType('recovery_codes').length > 0) factors.lost('recoveryCodes');
  // A key of WebAuthn may be asked for after the password, too.
  if (ofType('webauthn').length > 0) factors.lost('secondFactor', 'passkey');
  const passkey = ofType('webauthn').length > 0;
  const links = listAt(fields, 'social_accounts').flatMap(linkOf);
  const password = textAt(fields, 'password');
  return {
    ...factors.fields({}),
    oldSignIn: signedInBy({
      password: password !== undefined && !password.startsWith('!'),
      provider: links.some(({ provider }) => !isOfCompany(provider)),
      enterprise: links.some(({ provider }) => isOfCompany(provider)),
      passkey,
    }),
  };
}

const PASSWORD_ELSEWHERE: Note = {
  id: 'PASSWORD-UNUSABLE',
  message:
    'Django marks the password as unusable: there is none, or another system checks it. No password is imported.',
};
/** A custom or outdated hasher: its name, a salt, a hash. Plain text must not be mistaken for a name. */
const HASHER = /^([a-z][a-z0-9_]+)\$[^$]*\$/;

function hashOf(fields: Fields): HashText {
  const password = textAt(fields, 'password');
  if (password === undefined) return {};
  if (password.startsWith('!')) return { notes: [PASSWORD_ELSEWHERE] };
  if (schemeOf(password) !== undefined) return { hash: password };
  return unsupported(HASHER.exec(password)?.[1] ?? identifierOf(password) ?? '');
}

const NO_METADATA = fieldNames(`id pk username email email_verified is_email_verified password first_name last_name name
  full_name social_accounts authenticators email_addresses is_active phone_number phone language locale last_login date_joined ${CONTEXT}`);

/** Groups and permissions are numbers, or names in a dump with natural keys. A flag becomes metadata if it is set. */
function metadataOf(fields: Fields): Fields {
  const kept = Object.entries(fields).filter(([key]) => !NO_METADATA.has(key));
  const told = kept.map(([key, value]) => [key, key.startsWith('is_') ? flagOf(fields, key) : value] as const);
  return Object.fromEntries(told.filter(([, value]) => !isNothing(value)));
}

/** True for a set flag, undefined for one that is not set; any other value as it is. */
function flagOf(fields: Fields, key: string): unknown {
  const flag = boolAt(fields, key);
  if (flag === undefined) return fields[key];
  return flag ? true : undefined;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  const list = typeof value === 'string' ? parseJson(value) : value;
  return typeof list === 'object' && list !== null && Object.keys(list).length === 0;
}
