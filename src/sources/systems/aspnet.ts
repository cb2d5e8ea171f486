import { schemeOf } from '../../passwords/registry.ts';
import type { Note, Person, ProviderLink } from '../entry.ts';
import { type HashText, SECOND_FACTOR_LOST, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, isFields, parseJson, textAt } from '../values.ts';

/**
 * Whether a user of ASP.NET Identity is locked out. As in UserManager.IsLockedOutAsync: lockout is enabled for the
 * user, and its end is in the future.
 * https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.identity.usermanager-1.islockedoutasync
 */

const LOCKOUT_STAYS: Note = {
  id: 'LOCKOUT-WITHOUT-END',
  message: 'The user is locked out until a certain time; here they stay locked until someone unlocks them.',
};
const LOCKOUT_UNREADABLE: Note = {
  id: 'LOCKOUT-UNREADABLE',
  message: 'The end of the lockout is not a readable date; the user is imported as locked.',
};

/** To lock a user permanently, administrators set the largest possible date, which is in this year. */
const FOR_GOOD = Date.UTC(9999, 0);

/** `2026-03-01T00:00:00Z`, `2026-03-01 00:00:00.0000000 +01:00`; without a zone it is UTC, as in the older table. */
const MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)? ?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/** @param row by the column names that `columnsOf` returns @param now milliseconds since 1970 */
export function lockoutOf(row: Fields, now: number): { isLocked: boolean; notes: Note[] } {
  const end = textAt(row, 'lockoutend') ?? textAt(row, 'lockoutenddateutc');
  if (end === undefined || boolAt(row, 'lockoutenabled') === false) return { isLocked: false, notes: [] };
  const moment = momentOf(end);
  if (Number.isNaN(moment)) return { isLocked: true, notes: [LOCKOUT_UNREADABLE] };
  if (moment < now) return { isLocked: false, notes: [] };
  return { isLocked: true, notes: moment < FOR_GOOD ? [LOCKOUT_STAYS] : [] };
}

function momentOf(text: string): number {
  if (text === 'infinity') return Number.POSITIVE_INFINITY; // PostgreSQL for the largest date
  if (text === '-infinity') return Number.NEGATIVE_INFINITY;
  const [, day, time, zone = 'Z'] = MOMENT.exec(text) ?? [];
  if (day === undefined) return Date.parse(text);
  return Date.parse(`${day}T${time}${/^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone}`);
}

/** Reads rows of ASP.NET Identity's tables, however the database spells column names and absent values. */

/** Turns `EmailConfirmed`, `emailConfirmed`, `email_confirmed` and `EMAIL_CONFIRMED` into `emailconfirmed`. */
export function columnName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** The values by column name, without the absent ones. */
export function columnsOf(record: Fields): Fields {
  const told = Object.entries(record).filter(([, value]) => !isNull(value));
  return Object.fromEntries(told.map(([name, value]) => [columnName(name), value]));
}

/** In CSV, SQL Server's tools write `NULL`; MySQL's and PostgreSQL's write `\N`. */
export function isNull(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === 'NULL' || value === '\\N';
}

/** The objects of a list, also if it is JSON text, as SQL Server's `FOR JSON` writes it. */
export function listAt(row: Fields, column: string): Fields[] {
  const value = Object.hasOwn(row, column) ? row[column] : undefined;
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) ? list.filter(isFields) : [];
}

/**
 * ASP.NET Identity, both ASP.NET Core's and its predecessor's (hash versions 3 and 2): rows of the AspNetUsers table as
 * CSV or JSON. Column names match in any case, with or without underscores, because databases spell them differently.
 *
 * Guarantee: columns that a project added are kept as metadata; lockouts follow ASP.NET's own rule.
 * https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.identity.identityuser-1
 * https://learn.microsoft.com/aspnet/core/security/authentication/customize-identity-model
 */

/** Columns that map to a field. Columns for people's names are the project's own; these are the common ones. */
const TAKEN =
  'id username email emailconfirmed passwordhash phonenumber phonenumberconfirmed twofactorenabled authenticatorkey logins ' +
  'lockoutend lockoutenddateutc lockoutenabled firstname givenname lastname surname familyname displayname fullname name ' +
  'language culture preferredlanguage';
const BOOKKEEPING =
  'normalizedusername normalizedemail securitystamp concurrencystamp accessfailedcount discriminator @context';
const NO_METADATA = new Set(`${TAKEN} ${BOOKKEEPING}`.split(' '));

/** No other system has three of these columns together. */
const TELLING = [
  'securitystamp',
  'concurrencystamp',
  'normalizedusername',
  'accessfailedcount',
  'emailconfirmed',
  'phonenumberconfirmed',
  'twofactorenabled',
  'lockoutenabled',
  'passwordhash',
];

export const aspnet: Source = {
  name: 'aspnet',
  title: 'ASP.NET Identity',
  formats: ['json', 'ndjson', 'csv'],
  recognizes,
  converter() {
    const now = Date.now();
    return (record) => convert(record, now);
  },
};

function recognizes(record: Fields): number {
  const names = new Set(Object.keys(record).map(columnName));
  return TELLING.filter((name) => names.has(name)).length >= 3 ? 1 : 0;
}

function convert(record: Fields, now: number): Person {
  const row = columnsOf(record);
  const first = (...names: string[]) => names.map((name) => textAt(row, name)).find((text) => text !== undefined);
  const { hash, notes: hashNotes = [] } = hashOf(textAt(row, 'passwordhash'));
  const { isLocked, notes: lockoutNotes } = lockoutOf(row, now);
  const hasFactor = boolAt(row, 'twofactorenabled') === true;
  const totp = hasFactor ? textAt(row, 'authenticatorkey') : undefined;
  return {
    userId: textAt(row, 'id'),
    userName: textAt(row, 'username'),
    email: textAt(row, 'email'),
    emailVerified: boolAt(row, 'emailconfirmed'),
    firstName: first('firstname', 'givenname'),
    lastName: first('lastname', 'surname', 'familyname'),
    displayName: first('displayname', 'fullname', 'name'),
    language: first('preferredlanguage', 'language', 'culture'),
    phone: textAt(row, 'phonenumber'),
    phoneVerified: boolAt(row, 'phonenumberconfirmed'),
    state: isLocked ? 'locked' : undefined,
    hash,
    totp,
    metadata: metadataOf(record),
    links: listAt(row, 'logins').flatMap(linkOf),
    notes: [...hashNotes, ...lockoutNotes, ...(hasFactor && totp === undefined ? [SECOND_FACTOR_LOST] : [])],
  };
}

/** Hashes of the older SQL membership providers: hash, format number, salt. */
const MEMBERSHIP = /^[^|]*\|[0-2]\|/;

function hashOf(passwordHash: string | undefined): HashText {
  if (passwordHash === undefined) return {};
  if (schemeOf(passwordHash) !== undefined) return { hash: passwordHash };
  return unsupported(MEMBERSHIP.test(passwordHash) ? 'aspnet-membership' : 'aspnet-identity');
}

/** A row of AspNetUserLogins. */
function linkOf(login: Fields): ProviderLink[] {
  const columns = columnsOf(login);
  const provider = textAt(columns, 'loginprovider');
  const externalUserId = textAt(columns, 'providerkey');
  if (provider === undefined || externalUserId === undefined) return [];
  return [{ provider, externalUserId }];
}

/** Keeps the column names as they are in the export. */
function metadataOf(record: Fields): Fields {
  const kept = Object.entries(record).filter(([name, value]) => {
    return !NO_METADATA.has(columnName(name)) && !isNull(value) && !isEmpty(value);
  });
  return Object.fromEntries(kept);
}

function isEmpty(value: unknown): boolean {
  return (Array.isArray(value) && value.length === 0) || (isFields(value) && Object.keys(value).length === 0);
}
