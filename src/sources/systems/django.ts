/**
 * Django: users of `auth.User` or a custom user model, as `manage.py dumpdata` writes them, and rows of such a table.
 *
 * Guarantee: fields that a project added to its model are kept as metadata; other models in the same dump are skipped.
 * https://docs.djangoproject.com/en/stable/ref/django-admin/#dumpdata
 * https://docs.djangoproject.com/en/stable/ref/contrib/auth/#user-model
 */
import { identifierOf, schemeOf } from '../../passwords/registry.ts';
import type { Note } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { boolAt, CONTEXT, fieldNames, isFields, parseJson, textAt } from '../values.ts';
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
    emailVerified: ['email_verified', 'is_email_verified'],
    firstName: 'first_name',
    lastName: 'last_name',
    displayName: ['full_name', 'name'],
    phone: ['phone_number', 'phone'],
    language: ['language', 'locale'],
  },
  parts: [hashOf],
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
  full_name is_active phone_number phone language locale last_login date_joined ${CONTEXT}`);

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
