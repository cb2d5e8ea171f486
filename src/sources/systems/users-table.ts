import type { Person, ProviderLink } from '../entry.ts';
import type { Fields } from '../source.ts';
import { boolAt, CONTEXT, isSecretName, textAt } from '../values.ts';

/**
 * What the user tables of web applications have in common: columns with common names, and custom columns, which are
 * kept as metadata unless their names say that they hold secrets.
 *
 * Cells that export programs write for null (`NULL`, `\N`) count as empty.
 */

const NULLS: readonly unknown[] = [null, undefined, '', 'NULL', '\\N'];

const COLUMNS = {
  userName: ['username', 'user_name', 'login'],
  firstName: ['first_name', 'firstname', 'given_name'],
  lastName: ['last_name', 'lastname', 'surname', 'family_name'],
  displayName: ['display_name', 'full_name', 'name'],
  nickName: ['nickname'],
  language: ['locale', 'language', 'preferred_language'],
  phone: ['phone', 'phone_number', 'mobile', 'mobile_number', 'telephone'],
} as const;
const ACTIVE = ['active', 'is_active', 'enabled', 'is_enabled'];
const BLOCKED = ['blocked', 'banned', 'suspended', 'disabled', 'deactivated'];
const PHONE_VERIFIED = ['phone_verified_at', 'phone_confirmed_at'];
const PROVIDER_IDS = ['uid', 'provider_id', 'provider_user_id'];
/** Columns such as `google_id`. */
const PROVIDERS = ['apple', 'facebook', 'github', 'gitlab', 'google', 'linkedin', 'microsoft', 'twitter'];
const BOOKKEEPING = ['created_at', 'updated_at', 'last_login_at', 'last_login_ip', 'last_seen_at'];

const TAKEN: ReadonlySet<string> = new Set([
  ...[CONTEXT, 'id', 'email', 'provider', 'deleted_at', ...PROVIDER_IDS, ...PHONE_VERIFIED, ...BOOKKEEPING],
  ...Object.values(COLUMNS).flat(),
  ...PROVIDERS.map((name) => `${name}_id`),
]);

/** The row without empty cells. */
export function filledCells(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !NULLS.includes(value)));
}

/** Whether a date column holds a date; `0000-00-00 00:00:00` is not one. */
export function isDated(row: Fields, column: string): boolean {
  return /[1-9]/.test(textAt(row, column) ?? '');
}

function firstOf(row: Fields, columns: readonly string[]): string | undefined {
  return columns.map((column) => textAt(row, column)).find((text) => text !== undefined);
}

/** The fields from columns that most tables have. @param row from `filledCells` */
export function usualColumns(row: Fields): Person {
  const phoneDate = PHONE_VERIFIED.find((column) => Object.hasOwn(row, column));
  return {
    userId: textAt(row, 'id'),
    userName: firstOf(row, COLUMNS.userName),
    email: textAt(row, 'email'),
    firstName: firstOf(row, COLUMNS.firstName),
    lastName: firstOf(row, COLUMNS.lastName),
    displayName: firstOf(row, COLUMNS.displayName),
    nickName: firstOf(row, COLUMNS.nickName),
    language: firstOf(row, COLUMNS.language),
    phone: firstOf(row, COLUMNS.phone),
    phoneVerified: phoneDate === undefined ? undefined : isDated(row, phoneDate),
    state: isBlocked(row) ? 'inactive' : undefined,
    links: linksOf(row),
  };
}

/** Frameworks have no column for this state; applications have many. */
function isBlocked(row: Fields): boolean {
  return (
    ACTIVE.some((column) => boolAt(row, column) === false) ||
    BLOCKED.some((word) => boolAt(row, word) || boolAt(row, `is_${word}`) || isDated(row, `${word}_at`)) ||
    ['inactive', ...BLOCKED].includes(textAt(row, 'status')?.toLowerCase() ?? '')
  );
}

function linksOf(row: Fields): ProviderLink[] {
  const provider = textAt(row, 'provider');
  const found = [[provider, firstOf(row, PROVIDER_IDS)], ...PROVIDERS.map((name) => [name, textAt(row, `${name}_id`)])];
  const links = found.flatMap(([name, externalUserId]) =>
    // `email` means that the user signs in with address and password, not with a provider.
    name === undefined || name === 'email' || externalUserId === undefined ? [] : [{ provider: name, externalUserId }],
  );
  return links;
}

/** The application's custom columns. @param known columns that the source itself reads or drops */
export function otherColumns(row: Fields, known: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).filter(([name]) => !TAKEN.has(name) && !known.has(name) && !isSecretName(name)),
  );
}
