/**
 * Validates one entry of an import and turns it into an item: the row from which the workers write the user.
 *
 * Field names are normalised first: snake_case becomes camelCase, aliases become the names of an import, null becomes
 * absent, and unknown fields are reported, never dropped silently. Then the schema validates single fields, and
 * `crossProblems` what it cannot. An entry in camelCase without nulls or unknown fields is not changed.
 *
 * Guarantee: never throws, whatever the entry is; an invalid entry becomes a failed item that names every invalid
 * field; a plain password and the secret of a second factor are encrypted in the item.
 */
import { z } from 'zod';
import { entryWithoutEmail, type ImportEntry, importEntry, MAX_ELEMENTS } from '../../contract/import-entry.ts';
import { perhapsKnown } from '../../passwords/forms.ts';
import { markOf } from '../../passwords/marks.ts';
import { hashProblem, longestHash } from '../../passwords/registry.ts';
import { TOTP_PURPOSE } from '../../passwords/totp-secret.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { errorBody, type FieldViolation } from '../../platform/errors.ts';
import { displayNameOf, GENDERS, nameKey, textProblem } from '../../platform/fields.ts';
import { newId } from '../../platform/ids.ts';
import { camelCase, fieldPath } from '../../platform/text/names.ts';
import type { OldSignIn } from '../../sources/entry.ts';
import { appsOf, crossFactors, extrasOf } from './factors.ts';
import { fastPathItem } from './fast-path.ts';
import { type Item, PASSWORD_PURPOSE, USER_STATES } from './item.ts';
import { sealEntry } from './secrets.ts';

const ENTRY_SHAPE = shapeOf(importEntry) as Shape;

/** What an import asks of its entries. */
export interface EntryRules {
  /** Unknown fields fail the user instead of being warnings. */
  strict: boolean;
  /** Users without an email address are allowed. */
  withoutEmail: boolean;
}

export const USUAL_RULES: EntryRules = { strict: false, withoutEmail: false };

const MAX_PATHS = 100;
const MAX_PATH_LENGTH = 300;

/**
 * Names of the calls for users (`/v2beta/users`), by what they mean in an import. Ignored, `isVerified` would send a
 * mail to each user whose address is verified.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = { isVerified: ['isEmailVerified', 'isPhoneVerified'] };

/**
 * @param entry one element of `humanUsers`, anything JSON can hold
 * @param plain no string of the entry was written with an escape
 */
export function toItem(entry: unknown, secrets: Secrets, warnings: Warnings, rules: EntryRules, plain = false): Item {
  return fastPathItem(entry, plain) ?? validateEntry(entry, secrets, warnings, rules);
}

/** `toItem` without the fast path: the schema validates. */
export function validateEntry(entry: unknown, secrets: Secrets, warnings: Warnings, rules: EntryRules): Item {
  const { strict, withoutEmail } = rules;
  const violations: FieldViolation[] = [];
  renameFields(entry, ENTRY_SHAPE, '', (path) => {
    warnings.unknown(path);
    if (strict) violations.push({ field: storable(path), description: 'is not a known field' });
  });
  const parsed = (withoutEmail ? entryWithoutEmail : importEntry).safeParse(entry);
  for (const { path, message } of parsed.error?.issues ?? []) {
    violations.push({ field: fieldPath(path) || 'humanUsers[]', description: message });
  }
  violations.push(...crossProblems(entry, withoutEmail));
  return parsed.success && violations.length === 0 ? pending(parsed.data, secrets) : failed(entry, violations, secrets);
}

function pending({ userId, state, user, oldSignIn }: ImportEntry, secrets: Secrets): Item {
  const email = user.email?.email ?? null;
  // One of the two is there.
  const userName = (user.userName ?? email) as string;
  const { profile, phone } = user;
  const apps = appsOf(user);
  return {
    state: 'pending',
    userId: userId ?? newId(),
    userName,
    userNameKey: nameKey(userName),
    userState: USER_STATES[state ?? 'USER_STATE_ACTIVE'],
    givenName: profile.firstName,
    familyName: profile.lastName,
    nickName: profile.nickName ?? '',
    displayName: profile.displayName || displayNameOf(profile.firstName, profile.lastName),
    preferredLanguage: profile.preferredLanguage ?? '',
    gender: profile.gender ? GENDERS.indexOf(profile.gender) : 0,
    email,
    emailKey: email === null ? null : nameKey(email),
    emailVerified: user.email?.isEmailVerified ?? false,
    phone: phone?.phone ?? null,
    phoneVerified: phone?.isPhoneVerified ?? false,
    passwordHash: knownHash(user, oldSignIn) ?? sourceMark(user),
    passwordSealed: knowsPlain(user, oldSignIn) ? secrets.seal(user.password, PASSWORD_PURPOSE) : null,
    totpSealed: apps[0] === undefined ? null : secrets.seal(apps[0].text, TOTP_PURPOSE),
    passwordChangeRequired: user.passwordChangeRequired ?? false,
    extras: extrasOf(user, apps, secrets),
    oldSignIn: (oldSignIn as OldSignIn | undefined) ?? null,
    error: null,
  };
}

/** Nobody knows a password that a program made up. */
function knowsPlain<U extends ImportEntry['user']>(
  user: U,
  old: ImportEntry['oldSignIn'],
): user is U & { password: string } {
  return user.password !== undefined && old?.password !== 'unknown';
}

/** As `knowsPlain`, of a hash. */
function knownHash({ hashedPassword }: ImportEntry['user'], old: ImportEntry['oldSignIn']): string | undefined {
  if (hashedPassword === undefined || old?.password === 'unknown') return undefined;
  return old?.password === 'perhaps' ? perhapsKnown(hashedPassword.value) : hashedPassword.value;
}

/** A password of their own counts before a source. */
function sourceMark({ password, passwordSource }: ImportEntry['user']): string | null {
  return password === undefined && passwordSource !== undefined ? markOf(passwordSource) : null;
}

function failed(entry: unknown, violations: FieldViolation[], secrets: Secrets): Item {
  const names = violations.map((v) => v.field).join(', ');
  const shown = violations.slice(0, 100);
  return {
    state: 'failed',
    ...identityOf(entry),
    error: errorBody(
      'INVALID_ARGUMENT',
      'IMPORT-USER-INVALID',
      `The user has invalid fields: ${names.slice(0, 500).toWellFormed()}.`,
      shown,
    ),
    entrySealed: sealEntry(entry, secrets),
  };
}

/** The id and the user name of an invalid entry, if they can be shown, so that the caller can find it. */
function identityOf(entry: unknown): { userId: string | null; userName: string | null } {
  const e = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<string, unknown>;
  const user = (typeof e.user === 'object' && e.user !== null ? e.user : {}) as Record<string, unknown>;
  const email = (typeof user.email === 'object' && user.email !== null ? user.email : {}) as Record<string, unknown>;
  return { userId: shown(e.userId), userName: shown(user.userName) ?? shown(email.email) };
}

function shown(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return value.slice(0, 200).replaceAll('\0', '\ufffd').toWellFormed();
}

/**
 * What a schema of single fields cannot find: fields that exclude each other, duplicates in lists, password hashes.
 * Reads the entry as it was sent, so that these problems are reported together with the problems that the schema
 * finds.
 * @param entry anything JSON can hold, with its fields renamed
 * @param withoutEmail users without an email address are allowed
 */
function crossProblems(entry: unknown, withoutEmail: boolean): FieldViolation[] {
  const user = inside(entry, 'user');
  const { password, hashedPassword, metadata, idps } = user;
  const violations: FieldViolation[] = [];
  if (withoutEmail && !inside(user, 'email').email && user.userName === undefined) {
    violations.push({ field: 'user.userName', description: 'is required for a user without an email address' });
  }
  if (password !== undefined && hashedPassword !== undefined) {
    violations.push({ field: 'user.password', description: 'must not be given together with hashedPassword' });
  }
  const problem = importedHashProblem(inside(user, 'hashedPassword').value);
  if (problem) violations.push({ field: 'user.hashedPassword.value', description: problem });
  violations.push(
    ...contradiction(user, 'email', 'isEmailVerified'),
    ...contradiction(user, 'phone', 'isPhoneVerified'),
  );
  if (metadata) violations.push(...duplicatesIn(metadata, 'user.metadata', ['key']));
  if (idps) violations.push(...duplicatesIn(idps, 'user.idps', ['configId', 'externalUserId']));
  violations.push(...crossFactors(user));
  return violations;
}

/** The field and its alias `isVerified`, which remains only if both are given. */
function contradiction(user: Record<string, unknown>, part: string, field: string): FieldViolation[] {
  const { isVerified, [field]: known } = inside(user, part);
  if (isVerified === undefined || isVerified === null || isVerified === known) return [];
  return [{ field: `user.${part}.isVerified`, description: `must not differ from ${field}` }];
}

/** Only for a text that the schema accepts. */
function importedHashProblem(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || textProblem(value, longestHash(value))) return undefined;
  return hashProblem(value);
}

/** Elements that equal an earlier one in all of `fields`. Empty for a list that the schema refuses as a whole. */
function duplicatesIn(list: unknown, path: string, fields: string[]): FieldViolation[] {
  if (!Array.isArray(list) || list.length > MAX_ELEMENTS) return [];
  const seen = new Set<string>();
  const violations: FieldViolation[] = [];
  for (const i of list.keys()) {
    const values = fields.map((field) => inside(list, i)[field]);
    if (values.some((value) => typeof value !== 'string')) continue;
    const key = JSON.stringify(values);
    if (seen.has(key)) violations.push({ field: `${path}[${i}].${fields.at(-1)}`, description: 'is given twice' });
    seen.add(key);
  }
  return violations;
}

/** The object that a field holds; an empty one if there is none. */
function inside(value: unknown, field: PropertyKey): Record<string, unknown> {
  const found = (value as Record<PropertyKey, unknown> | null | undefined)?.[field];
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}

/** The known fields of an object; each is `true` for a value, a shape for an object or the objects of an array. */
export type Shape = Map<string, Shape | true>;

/** Derives the shape from a schema, so that there is a single list of fields. */
export function shapeOf(schema: z.ZodType): Shape | true {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return shapeOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) {
    // What is read and then transformed has its fields before that.
    return shapeOf((schema.out instanceof z.ZodTransform ? schema.in : schema.out) as z.ZodType);
  }
  if (schema instanceof z.ZodArray) return shapeOf(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return true;
  return new Map(Object.entries(schema.shape).map(([key, value]) => [key, shapeOf(value as z.ZodType)]));
}

/**
 * Normalises the field names of an entry.
 * @param value an entry as JSON.parse made it; changed in place where names differ
 * @param onUnknown called with the path of each unknown field, array indices left out: `user.hashedPassword.algorithm`
 */
function renameFields(value: unknown, shape: Shape | true, path: string, onUnknown: (path: string) => void): void {
  if (shape === true || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) renameFields(item, shape, `${path}[]`, onUnknown);
    return;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    const known = shape.get(key) !== undefined ? key : rename(object, key, shape);
    const inner = known === undefined ? undefined : shape.get(known);
    if (known === undefined || inner === undefined) onUnknown(join(path, key));
    else if (object[known] === null)
      object[known] = undefined; // null means absent, as in the JSON format of protobuf
    else if (inner !== true) renameFields(object[known], inner, join(path, known), onUnknown);
  }
}

function rename(object: Record<string, unknown>, key: string, shape: Shape): string | undefined {
  const camel = camelCase(key);
  const alias = Object.hasOwn(ALIASES, camel) ? ALIASES[camel]?.find((name) => shape.has(name)) : undefined;
  const known = shape.has(camel) ? camel : alias;
  // If both spellings are given, the camelCase one counts, and the other is an unknown field.
  if (known === undefined || Object.hasOwn(object, known)) return undefined;
  object[known] = object[key];
  if (alias !== undefined) delete object[key];
  return known;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** Receives the path of each unknown field, without indices: `user.hashedPassword.algorithm`. */
export interface Warnings {
  unknown(path: string): void;
}

export interface WarningCounts extends Warnings {
  list(): { path: string; count: number; message: string }[];
}

/** Counts unknown fields: each distinct path with its number of occurrences, at most 100 paths. */
export function createWarningCounter(): WarningCounts {
  const counts = new Map<string, number>();
  return {
    unknown(path) {
      const shown = storable(path);
      const count = counts.get(shown);
      if (count !== undefined) counts.set(shown, count + 1);
      else if (counts.size < MAX_PATHS) counts.set(shown, 1);
    },
    list: () =>
      [...counts].map(([path, count]) => ({ path, count, message: `"${path}" is not a known field and was ignored.` })),
  };
}

/** A caller's path in a form that PostgreSQL's jsonb can store. */
export function storable(path: string): string {
  return path.slice(0, MAX_PATH_LENGTH).replaceAll('\0', '\ufffd').toWellFormed();
}
