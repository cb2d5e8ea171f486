/**
 * Validates one entry of an import and turns it into an item: the row from which the workers write the user.
 *
 * Guarantee: never throws, whatever the entry is; an invalid entry becomes a failed item that names every invalid
 * field; a plain password and the secret of a second factor are encrypted in the item.
 */

import { errorBody, type FieldViolation } from '../../errors.ts';
import { displayNameOf, GENDERS, nameKey } from '../../fields/fields.ts';
import { fieldPath } from '../../fields/names.ts';
import { TOTP_SEAL } from '../../identity/totp/secret.ts';
import { newId } from '../../ids.ts';
import { markOf } from '../../passwords/at-source.ts';
import type { Secrets } from '../../secrets.ts';
import type { Item } from '../items.ts';
import { PASSWORD_SEAL } from '../seals.ts';
import { crossProblems } from './cross-problems.ts';
import { sealEntry } from './entry-secrets.ts';
import { fastPathItem } from './fast-path.ts';
import { renameFields, type Shape, shapeOf } from './field-names.ts';
import { entryWithoutEmail, type ImportEntry, importEntry } from './schema.ts';
import { storable, type Warnings } from './warnings.ts';

const ENTRY_SHAPE = shapeOf(importEntry) as Shape;
const STATE = { USER_STATE_ACTIVE: 'active', USER_STATE_INACTIVE: 'inactive', USER_STATE_LOCKED: 'locked' } as const;

/** What an import asks of its entries. */
export interface EntryRules {
  /** Unknown fields fail the user instead of being warnings. */
  strict: boolean;
  /** Users without an email address are allowed. */
  withoutEmail: boolean;
}

export const USUAL_RULES: EntryRules = { strict: false, withoutEmail: false };

/**
 * @param entry one element of `humanUsers`, anything JSON can hold
 * @param plain no string of the entry was written with an escape
 */
export function toItem(entry: unknown, secrets: Secrets, warnings: Warnings, rules: EntryRules, plain = false): Item {
  return fastPathItem(entry, plain) ?? judgedItem(entry, secrets, warnings, rules);
}

/** `toItem` without the fast path: the schema validates. */
export function judgedItem(entry: unknown, secrets: Secrets, warnings: Warnings, rules: EntryRules): Item {
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

function pending({ userId, state, user }: ImportEntry, secrets: Secrets): Item {
  const email = user.email?.email ?? null;
  // One of the two is there.
  const userName = (user.userName ?? email) as string;
  const { profile, phone } = user;
  const hasExtras = (user.metadata?.length ?? 0) > 0 || (user.idps?.length ?? 0) > 0;
  return {
    state: 'pending',
    userId: userId ?? newId(),
    userName,
    userNameKey: nameKey(userName),
    userState: STATE[state ?? 'USER_STATE_ACTIVE'],
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
    passwordHash: user.hashedPassword?.value ?? sourceMark(user),
    passwordSealed: user.password === undefined ? null : secrets.seal(user.password, PASSWORD_SEAL),
    totpSealed: user.otpCode === undefined ? null : secrets.seal(user.otpCode, TOTP_SEAL),
    passwordChangeRequired: user.passwordChangeRequired ?? false,
    extras: hasExtras ? { metadata: user.metadata ?? [], idps: user.idps ?? [] } : null,
    error: null,
  };
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
