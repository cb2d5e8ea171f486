/**
 * ASP.NET Identity, both ASP.NET Core's and its predecessor's (hash versions 3 and 2): rows of the AspNetUsers table as
 * CSV or JSON. Column names match in any case, with or without underscores, because databases spell them differently.
 *
 * Guarantee: columns that a project added are kept as metadata; lockouts follow ASP.NET's own rule.
 * https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.identity.identityuser-1
 * https://learn.microsoft.com/aspnet/core/security/authentication/customize-identity-model
 */
import { schemeOf } from '../../../passwords/registry.ts';
import { type HashText, SECOND_FACTOR_LOST, unsupported } from '../../hash-text.ts';
import type { Person, ProviderLink } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, isFields, textAt } from '../../values.ts';
import { lockoutOf } from './lockout.ts';
import { columnName, columnsOf, isNull, listAt } from './row.ts';

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
