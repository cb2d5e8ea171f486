import { identifierOf, schemeOf } from '../../passwords/registry.ts';
import type { Note, Person, Skipped } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, CONTEXT, isFields, parseJson, textAt } from '../values.ts';

/**
 * Django: users of `auth.User` or a custom user model, as `manage.py dumpdata` writes them, and rows of such a table.
 *
 * Guarantee: fields that a project added to its model are kept as metadata; other models in the same dump are skipped.
 * https://docs.djangoproject.com/en/stable/ref/django-admin/#dumpdata
 * https://docs.djangoproject.com/en/stable/ref/contrib/auth/#user-model
 */

const OTHER_MODEL: Skipped = { skip: 'An object of another model, not a user.' };

const PASSWORD_ELSEWHERE: Note = {
  id: 'PASSWORD-UNUSABLE',
  message:
    'Django marks the password as unusable: there is none, or another system checks it. No password is imported.',
};

/** Model fields that map to a field here, by the names in `AbstractUser` and most custom models. */
const TAKEN =
  'id pk username email email_verified is_email_verified password first_name last_name name full_name is_active ' +
  'phone_number phone language locale';
const BOOKKEEPING = 'last_login date_joined';
const NO_METADATA = new Set(`${TAKEN} ${BOOKKEEPING} ${CONTEXT}`.split(' '));

/** What Django's hashers write, and the mark for an unusable password. */
const PASSWORD = /^(?:(?:pbkdf2_sha256|pbkdf2_sha1|argon2|bcrypt|bcrypt_sha256|scrypt|sha1|md5)\$|!)/;

/** Fields of Django's own user models. */
const OF_A_USER = ['last_login', 'is_active', 'is_superuser', 'is_staff', 'date_joined'];

/** A custom or outdated hasher: its name, a salt, a hash. Plain text must not be mistaken for a name. */
const HASHER = /^([a-z][a-z0-9_]+)\$[^$]*\$/;

const AUTHENTIK = ['uuid', 'attributes', 'path', 'type'];

export const django: Source = {
  name: 'django',
  title: 'Django',
  formats: ['json', 'ndjson', 'csv'],
  recognizes,
  converter: () => convert,
};

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

function convert(record: Fields): Person | Skipped {
  const fields = isDumped(record) ? record.fields : record;
  if (!isUser(fields, isDumped(record) ? record.model : undefined)) return OTHER_MODEL;
  const { hash, notes } = hashOf(textAt(fields, 'password'));
  return {
    userId: textAt(record, 'pk') ?? textAt(fields, 'id'),
    userName: textAt(fields, 'username'),
    email: textAt(fields, 'email'),
    emailVerified: boolAt(fields, 'email_verified') ?? boolAt(fields, 'is_email_verified'),
    firstName: textAt(fields, 'first_name'),
    lastName: textAt(fields, 'last_name'),
    displayName: textAt(fields, 'full_name') ?? textAt(fields, 'name'),
    phone: textAt(fields, 'phone_number') ?? textAt(fields, 'phone'),
    language: textAt(fields, 'language') ?? textAt(fields, 'locale'),
    state: boolAt(fields, 'is_active') === false ? 'inactive' : undefined,
    hash,
    metadata: metadataOf(fields),
    notes,
  };
}

function hashOf(password: string | undefined): HashText {
  if (password === undefined) return {};
  if (password.startsWith('!')) return { notes: [PASSWORD_ELSEWHERE] };
  if (schemeOf(password) !== undefined) return { hash: password };
  return unsupported(HASHER.exec(password)?.[1] ?? identifierOf(password) ?? '');
}

/** Groups and permissions are numbers, or names in a dump with natural keys. */
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
