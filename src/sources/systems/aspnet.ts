/**
 * ASP.NET Identity, both ASP.NET Core's and its predecessor's (hash versions 3 and 2): rows of the AspNetUsers table as
 * CSV or JSON; and rows of aspnet_Membership joined with aspnet_Users, as older projects have them. Column names match in any case, with or without underscores, because databases spell them differently.
 *
 * Guarantee: columns that a project added are kept as metadata; lockouts follow ASP.NET's own rule.
 * https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.identity.identityuser-1
 * https://learn.microsoft.com/aspnet/core/security/authentication/customize-identity-model
 */
import { createHash } from 'node:crypto';
import { schemeOf } from '../../passwords/registry.ts';
import type { Note, Person, ProviderLink } from '../entry.ts';
import { bytesIn, type Factors, openFactors } from '../factors.ts';
import { membershipSecret, unsupported } from '../hashes.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { Fields, Missing } from '../source.ts';
import { boolAt, CONTEXT, fieldNames, isEmptyObject, jsonAt, listAt, numberAt, parseJson, textAt } from '../values.ts';
import { type Around, isNull, tableSource } from './table.ts';

/** No other system has three of these columns together. */
const TELLING = fieldNames(`securitystamp concurrencystamp normalizedusername accessfailedcount emailconfirmed
  phonenumberconfirmed twofactorenabled lockoutenabled passwordhash
  passwordformat passwordsalt loweredusername loweredemail isapproved islockedout`);

/** Whether the record has the column, in any spelling. */
const hasColumn = (name: string) => (record: Fields) => Object.keys(record).some((key) => columnName(key) === name);

const MISSING: readonly Missing[] = [
  {
    id: 'ASPNET-LOGINS',
    what: 'links',
    message: 'The table AspNetUsers contains no accounts at providers.',
    remedy:
      'Join the rows of AspNetUserLogins (LoginProvider, ProviderKey) as JSON in the column Logins, as docs/sources/aspnet.md shows.',
    isIn: hasColumn('logins'),
  },
  {
    id: 'ASPNET-AUTHENTICATORS',
    what: 'secondFactor',
    message: 'The table AspNetUsers does not contain the secrets of second factors.',
    remedy: 'Join the value of AspNetUserTokens with the name AuthenticatorKey as the column AuthenticatorKey.',
    isIn: hasColumn('authenticatorkey'),
  },
  {
    id: 'ASPNET-RECOVERY-CODES',
    what: 'recoveryCodes',
    message: 'The table AspNetUsers contains no recovery codes.',
    remedy: 'Join the value of AspNetUserTokens with the name RecoveryCodes as the column RecoveryCodes.',
    isIn: hasColumn('recoverycodes'),
  },
  {
    id: 'ASPNET-PASSKEYS',
    what: 'passkey',
    message: 'The table AspNetUsers contains no passkeys.',
    remedy: 'From .NET 10 on, join the rows of AspNetUserPasskeys as JSON in the column Passkeys.',
    isIn: hasColumn('passkeys'),
  },
  {
    id: 'ASPNET-ROLES',
    what: 'roles',
    message: 'The table AspNetUsers contains no roles.',
    remedy: 'Join the names of AspNetRoles, by AspNetUserRoles, as JSON in the column Roles; it becomes metadata.',
    isIn: hasColumn('roles'),
  },
];

export const aspnet = tableSource({
  name: 'aspnet',
  title: 'ASP.NET Identity',
  recognizes: (record) =>
    new Set(
      Object.keys(record)
        .map(columnName)
        .filter((name) => TELLING.has(name)),
    ).size >= 3,
  row: columnsOf,
  ownStates: 'lockoutend lockoutenddateutc',
  // Columns for people's names are the project's own; these are the common ones.
  columns: {
    userId: ['id', 'userid'],
    userName: 'username',
    email: 'email',
    emailVerified: 'emailconfirmed',
    firstName: ['firstname', 'givenname'],
    lastName: ['lastname', 'surname', 'familyname'],
    displayName: ['displayname', 'fullname', 'name'],
    language: ['preferredlanguage', 'language', 'culture'],
    phone: 'phonenumber',
    phoneVerified: 'phonenumberconfirmed',
  },
  parts() {
    const now = Date.now();
    return [hashOf, (row) => lockoutOf(row, now), factorOf, waysOf];
  },
  missing: MISSING,
  links: (row) => listAt(row, 'logins').flatMap(linkOf),
  metadata: metadataOf,
});

/** Turns `EmailConfirmed`, `emailConfirmed`, `email_confirmed` and `EMAIL_CONFIRMED` into `emailconfirmed`. */
function columnName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** The values by column name, without the absent ones. */
function columnsOf(record: Fields): Fields {
  const told = Object.entries(record).filter(([, value]) => !isNull(value));
  return Object.fromEntries(told.map(([name, value]) => [columnName(name), value]));
}

/** Hashes that a project has moved from aspnet_Membership to Identity: hash, format number, salt. */
const MOVED = /^([^|]*)\|([0-2])\|(.*)$/;

/** The hash of AspNetUsers, or of a row of aspnet_Membership. */
function hashOf(row: Fields): Partial<Person> {
  const [format, password] = [textAt(row, 'passwordformat'), textAt(row, 'password')];
  if (format !== undefined && password !== undefined) {
    return membershipSecret(password, format, textAt(row, 'passwordsalt'));
  }
  const hash = textAt(row, 'passwordhash');
  if (hash === undefined) return {};
  if (schemeOf(hash) !== undefined) return { hash };
  const [, moved, number, salt] = MOVED.exec(hash) ?? [];
  return moved && number ? membershipSecret(moved, number, salt) : unsupported('aspnet-identity');
}

/**
 * The app's secret, the recovery codes (`;` between them) and passkeys. Who has turned on two factors and has no app gets
 * codes at the confirmed address and number, as UserManager.GetValidTwoFactorProvidersAsync says.
 * https://github.com/dotnet/aspnetcore (Identity/Extensions.Core/src: UserStoreBase, EmailTokenProvider)
 */
function factorOf(row: Fields): Partial<Person> {
  const factors = openFactors();
  if (boolAt(row, 'twofactorenabled') === true) addFactors(row, factors);
  const codes = textAt(row, 'recoverycodes')?.split(/[;\s]+/) ?? [];
  factors.recoveryCodes(codes.filter((code) => code !== ''));
  for (const passkey of listAt(row, 'passkeys')) addPasskey(columnsOf(passkey), factors);
  return factors.fields({
    email: textAt(row, 'email'),
    emailVerified: boolAt(row, 'emailconfirmed'),
    phone: textAt(row, 'phonenumber'),
    phoneVerified: boolAt(row, 'phonenumberconfirmed'),
  });
}

function addFactors(row: Fields, factors: Factors): void {
  const secret = textAt(row, 'authenticatorkey');
  // Without the column, nobody knows whether there is an app.
  const isSaid = Object.hasOwn(row, 'authenticatorkey') || Object.hasOwn(row, 'recoverycodes');
  const byMail = boolAt(row, 'emailconfirmed') === true;
  const bySms = boolAt(row, 'phonenumberconfirmed') === true;
  if (secret !== undefined) factors.app({ secret });
  else if (!isSaid || (!byMail && !bySms)) factors.lost('secondFactor');
  else {
    if (byMail) factors.mail();
    if (bySms) factors.sms();
  }
}

/**
 * A row of AspNetUserPasskeys (.NET 10), whose column Data is JSON.
 * https://github.com/dotnet/aspnetcore (Identity/Extensions.Stores/src/IdentityPasskeyData.cs)
 */
function addPasskey(row: Fields, factors: Factors): void {
  const data = columnsOf(jsonAt(row, 'data'));
  factors.passkey({
    credentialId: row.credentialid,
    publicKey: data.publickey,
    signCount: numberAt(data, 'signcount'),
    rpId: rpIdOf(data),
    transports: data.transports,
    name: textAt(data, 'name'),
    backedUp: boolAt(data, 'isbackedup'),
  });
}

/**
 * The host that a passkey was made for. The row has the page's origin (`clientDataJSON`) and, in the answer of the device
 * (`attestationObject`), the SHA-256 of the host: that of the origin, or of one of its parents.
 */
function rpIdOf(data: Fields): string | undefined {
  const client = parseJson(bytesIn(data.clientdatajson)?.toString() ?? '') as { origin?: unknown } | null | undefined;
  const attested = bytesIn(data.attestationobject);
  if (typeof client?.origin !== 'string' || !URL.canParse(client.origin) || attested === undefined) return undefined;
  const labels = new URL(client.origin).hostname.split('.').slice(-20);
  const hosts = labels.map((_, at) => labels.slice(at).join('.'));
  return hosts.find((host) => attested.includes(createHash('sha256').update(host).digest()));
}

function waysOf(row: Fields): Partial<Person> {
  const logins = listAt(row, 'logins').flatMap(linkOf);
  const passkey = listAt(row, 'passkeys').length > 0;
  const oldSignIn = signedInBy({
    password: textAt(row, 'passwordhash') !== undefined || textAt(row, 'password') !== undefined,
    provider: logins.some(({ provider }) => !isOfCompany(provider)),
    enterprise: logins.some(({ provider }) => isOfCompany(provider)),
    passkey,
  });
  return { oldSignIn };
}

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

/**
 * As in UserManager.IsLockedOutAsync, a user is locked out if lockout is enabled for them and its end is in the future.
 * https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.identity.usermanager-1.islockedoutasync
 * @param now milliseconds since 1970
 */
function lockoutOf(row: Fields, now: number): Partial<Person> {
  const end = textAt(row, 'lockoutend') ?? textAt(row, 'lockoutenddateutc');
  if (end === undefined || boolAt(row, 'lockoutenabled') === false) return {};
  const moment = momentOf(end);
  if (Number.isNaN(moment)) return { state: 'locked', notes: [LOCKOUT_UNREADABLE] };
  if (moment < now) return {};
  return { state: 'locked', notes: moment < FOR_GOOD ? [LOCKOUT_STAYS] : [] };
}

/** `2026-03-01T00:00:00Z`, `2026-03-01 00:00:00.0000000 +01:00`; without a zone it is UTC, as in the older table. */
const MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)? ?(Z|[+-]\d\d(?::?\d\d)?)?$/;

function momentOf(text: string): number {
  if (text === 'infinity') return Number.POSITIVE_INFINITY; // PostgreSQL for the largest date
  if (text === '-infinity') return Number.NEGATIVE_INFINITY;
  const [, day, time, zone = 'Z'] = MOMENT.exec(text) ?? [];
  if (day === undefined) return Date.parse(text);
  return Date.parse(`${day}T${time}${/^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone}`);
}

/** A row of AspNetUserLogins. */
function linkOf(login: Fields): ProviderLink[] {
  const columns = columnsOf(login);
  const [provider, externalUserId] = [textAt(columns, 'loginprovider'), textAt(columns, 'providerkey')];
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

const NO_METADATA = fieldNames(`id username email emailconfirmed passwordhash phonenumber phonenumberconfirmed
  twofactorenabled authenticatorkey recoverycodes passkeys logins lockoutend lockoutenddateutc lockoutenabled firstname givenname lastname
  surname familyname displayname fullname name language culture preferredlanguage normalizedusername normalizedemail
  securitystamp concurrencystamp accessfailedcount discriminator userid password passwordformat passwordsalt passwordquestion
  passwordanswer loweredusername loweredemail isapproved islockedout isanonymous applicationid mobilepin mobilealias
  failedpasswordattemptcount failedpasswordattemptwindowstart failedpasswordanswerattemptcount
  failedpasswordanswerattemptwindowstart ${CONTEXT}`);

/** Keeps the column names as they are in the export. */
function metadataOf(_row: Fields, _rest: Fields, { record }: Around): Fields {
  const kept = Object.entries(record).filter(
    ([name, value]) => !NO_METADATA.has(columnName(name)) && !isNull(value) && !isEmptyObject(value),
  );
  return Object.fromEntries(kept);
}
