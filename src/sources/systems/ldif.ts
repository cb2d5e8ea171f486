/**
 * LDIF: the persons among the entries of a directory, such as OpenLDAP, 389 Directory Server, FreeIPA or Active
 * Directory.
 *
 * Guarantee: entries that are not persons, such as groups and computers, are skipped. Attributes without a field are
 * kept as metadata, except for secrets.
 * RFC 2849 (LDIF); RFC 4519 (person, organizationalPerson, residentialPerson, userPassword), RFC 2798 (inetOrgPerson),
 * RFC 2307 (posixAccount), RFC 4524 (account), RFC 1274 (pilotPerson);
 * https://learn.microsoft.com/windows/win32/adschema/c-user
 */
import { schemeOf } from '../../passwords/registry.ts';
import { directoryState, firstOf, integerOf, isStateAttribute, valuesOf } from '../directory-states.ts';
import type { Note, Person, ProviderLink, Skipped } from '../entry.ts';
import { knownForm } from '../hash-forms.ts';
import { bytesOf, type HashText, namedHash, pbkdf2Text, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST, SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { ExportFormat, Fields, Format } from '../source.ts';
import { fieldNames } from '../values.ts';

export const ldif: ExportFormat = {
  name: 'ldif',
  title: 'LDIF (LDAP, Active Directory, FreeIPA)',
  formats: ['ldif'],
  recognizes: (record: Fields, format: Format) => (format === 'ldif' && typeof record.dn === 'string' ? 1 : 0),
  fields: { isTable: true, row: firstValues, isRead: isOwn },
  mayBePlain: true,
  missing: [
    {
      id: 'LDIF-PASSWORDS',
      what: 'password',
      message: 'These entries have no passwords: most directories show userPassword to their administrator only.',
      remedy:
        'Export with slapcat, dbscan or the rights of the administrator (docs/sources/ldif.md), or use a password source.',
      isIn: hasField('userpassword'),
    },
    {
      id: 'LDIF-GROUPS',
      what: 'roles',
      message: 'These entries do not name the groups of users.',
      remedy: "Ask for the attribute memberOf too: ldapsearch … '*' memberOf (docs/sources/ldif.md).",
      isIn: hasField('memberof'),
    },
  ],
  converter() {
    const now = Date.now();
    return (entry) => convert(entry, now);
  },
};

const NO_PERSON: Skipped = { skip: 'An entry that is not a person, such as a group, a computer or a unit.' };
const DELETED: Skipped = { skip: 'A deleted person that the directory keeps.' };
/** FreeIPA has separate trees for removed users and for new ones; Active Directory marks deleted entries. */
const PRESERVED = /,cn=deleted users,cn=accounts,cn=provisioning,/i;
const STAGED = /,cn=staged users,cn=accounts,cn=provisioning,/i;

function convert(entry: Fields, now: number): Person | Skipped {
  const dn = typeof entry.dn === 'string' ? entry.dn : '';
  if (!isPerson(entry)) return NO_PERSON;
  if (PRESERVED.test(dn) || isTrue(entry, 'isdeleted')) return DELETED;
  const { password, hash, isLocked, notes } = passwordOf(entry);
  const read = directoryState(entry, now);
  const state = STAGED.test(dn) ? 'inactive' : read.state;
  const hasPassword = hash !== undefined || password !== undefined;
  const links = linksOf(entry);
  const oldSignIn = oldSignInOf({
    password: hasPassword,
    enterprise: links.length > 0,
    passkey: hasPasskey(entry),
  });
  const more = [...read.notes, ...factorNotes(entry)];
  const userName = firstOf(entry, 'uid', 'userid', 'samaccountname');
  return {
    userId: firstOf(entry, 'entryuuid') ?? guidText(valuesOf(entry, 'objectguid')[0]) ?? firstOf(entry, 'nsuniqueid'),
    userName,
    email: firstOf(entry, 'mail', 'rfc822mailbox'),
    firstName: firstOf(entry, 'givenname', 'gn'),
    lastName: firstOf(entry, 'sn', 'surname'),
    displayName: displayNameOf(entry, userName),
    language: languageOf(entry),
    phone: firstOf(entry, 'mobile', 'telephonenumber'),
    state: state ?? (isLocked ? 'locked' : undefined),
    password,
    hash,
    passwordChangeRequired: hasPassword && mustChange(entry) ? true : undefined,
    metadata: metadataOf(withoutTaken(entry)),
    ...(links.length > 0 ? { links } : {}),
    ...(oldSignIn && { oldSignIn }),
    notes: more.length === 0 ? notes : [...(notes ?? []), ...more],
  };
}

/** FreeIPA: the account at an external identity provider, and the entry of the provider. */
function linksOf(entry: Fields): ProviderLink[] {
  const provider = /^cn=([^,]+)/i.exec(firstOf(entry, 'ipaidpconfiglink') ?? '')?.[1];
  const externalUserId = firstOf(entry, 'ipaidpsub');
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

function hasPasskey(entry: Fields): boolean {
  return firstOf(entry, 'ipapasskey') !== undefined;
}

/** FreeIPA's tokens are entries of their own; `ipaUserAuthType` says that the user has one. OpenLDAP: slapo-otp(5). */
function factorNotes(entry: Fields): Note[] {
  const isFreeIpa = valuesOf(entry, 'ipauserauthtype').some((type) => /^(?:otp|radius)$/i.test(type));
  const isOpenLdap = firstOf(entry, 'oathtotptoken', 'oathhotptoken') !== undefined;
  return [...(isFreeIpa || isOpenLdap ? [SECOND_FACTOR_LOST] : []), ...(hasPasskey(entry) ? [PASSKEY_LOST] : [])];
}

/** Boolean of RFC 4517 section 3.3.3. */
function isTrue(entry: Fields, attribute: string): boolean {
  return firstOf(entry, attribute)?.toUpperCase() === 'TRUE';
}

/** `cn` is also the name of the entry: where it equals the user name, it is not a person's name. */
function displayNameOf(entry: Fields, userName: string | undefined): string | undefined {
  const cn = firstOf(entry, 'cn');
  const called = cn === userName ? undefined : cn;
  return firstOf(entry, 'displayname') ?? called ?? firstOf(entry, 'gecos')?.split(',', 1)[0];
}

/** One language, or a list with weights as in HTTP's Accept-Language (RFC 2798 section 2.7). */
function languageOf(entry: Fields): string | undefined {
  return firstOf(entry, 'preferredlanguage')?.split(/[,;]/, 1)[0]?.trim();
}

/** slapo-ppolicy has a flag for it; Active Directory sets `pwdLastSet` to zero. */
function mustChange(entry: Fields): boolean {
  return isTrue(entry, 'pwdreset') || integerOf(entry, 'pwdlastset') === 0;
}

/** Removes the values that became fields, so that only further values go into the metadata. */
function withoutTaken(entry: Fields): Fields {
  const rest = { ...entry, mail: valuesOf(entry, 'mail').slice(1) };
  const isPhone = firstOf(entry, 'mobile') === undefined;
  return isPhone ? { ...rest, telephonenumber: valuesOf(entry, 'telephonenumber').slice(1) } : rest;
}

/** Persons who can sign in, and persons of an address book; Active Directory's contacts are among OTHER_CLASSES. */
const PERSON_CLASSES = [
  ...fieldNames(`person organizationalperson residentialperson inetorgperson pilotperson
  newpilotperson posixaccount user inetuser account`),
];
/** Whatever its other classes, such an entry is not a person who signs in. */
const OTHER_CLASSES = [
  ...fieldNames(`computer contact group groupofnames ipahost ipaservice device trusteddomain
  organizationalrole msds-managedserviceaccount msds-groupmanagedserviceaccount`),
];
/** Parts of class names for other things; a directory's own configuration has prefixes. */
const THINGS =
  /group|unit|organi[sz]ation|country|locality|domain|dcobject|role|list|alias|referral|subentry|policy|container|service|application|device|host|machine|computer|server|printer|network|protocol|rpc|zone|config|schema|^olc|^monitor|^olm|^nis|^automount/;
/** Auxiliary classes do not tell what an entry is: each may be added to a person. */
const AUXILIARY = ['hostobject', 'authorizedserviceobject', 'domainrelatedobject', 'extensibleobject'];
/** Parts of class names for people: `acmeOrganizationalPerson` is not an organization. */
const PEOPLE = /person|people|user|employee|student|staff|customer|subscriber/;
const MEMBERS = ['member', 'uniquemember', 'memberuid', 'rfc822mailmember', 'mgrprfc822mailmember', 'memberurl'];
const NAMES_TO_SIGN_IN = ['uid', 'userid', 'samaccountname', 'userprincipalname', 'mail', 'rfc822mailbox'];

/** By known object classes, else by the attributes of the entry, as many directories have custom classes. */
export function isPerson(entry: Fields): boolean {
  const classes = classesOf(entry);
  if (OTHER_CLASSES.some((name) => classes.has(name))) return false;
  if (PERSON_CLASSES.some((name) => classes.has(name))) return true;
  if (MEMBERS.some((name) => valuesOf(entry, name).length > 0)) return false;
  const signsIn = firstOf(entry, ...NAMES_TO_SIGN_IN) !== undefined;
  if (classes.size === 0) return signsIn && firstOf(entry, 'cn', 'sn') !== undefined;
  const names = [...classes].filter((name) => !AUXILIARY.includes(name));
  const hasSurname = firstOf(entry, 'sn', 'surname') !== undefined;
  const isPeople = hasSurname && names.some((name) => PEOPLE.test(name));
  if (!isPeople && names.some((name) => THINGS.test(name))) return false;
  // Only persons have a surname.
  return hasSurname || (signsIn && isCalled(entry));
}

/** Object classes in lower case. */
function classesOf(entry: Fields): Set<string> {
  return new Set(valuesOf(entry, 'objectclass').map((name) => name.trim().toLowerCase()));
}

/** Anything may have a common name, so it counts only together with a password. */
function isCalled(entry: Fields): boolean {
  if (firstOf(entry, 'givenname', 'gn') !== undefined) return true;
  return firstOf(entry, 'cn', 'displayname') !== undefined && firstOf(entry, 'userpassword') !== undefined;
}

/** A hash, or a plain password. */
export interface LdifPassword extends HashText {
  password?: string;
  /** The hash has a prefix that locks the account. */
  isLocked?: boolean;
}

const SECOND_PASSWORD: Note = {
  id: 'SECOND-PASSWORD-DROPPED',
  message: 'The entry has several passwords; only one is imported.',
};

/**
 * `userPassword` may hold several values: each is a hash, a plain password, or a mark that another system checks the
 * password (RFC 4519 section 2.41, RFC 2307 section 5.3).
 */
export function passwordOf(entry: Fields): LdifPassword {
  const all = valuesOf(entry, 'userpassword')
    .filter((value) => value !== '')
    .map((value) => passwordOfValue(unfold(value)));
  const usable = all.filter(({ hash, password }) => password !== undefined || schemeOf(hash ?? '') !== undefined);
  const [best = all[0] ?? {}] = [...usable.filter(({ hash }) => hash !== undefined), ...usable];
  return usable.length > 1 ? { ...best, notes: [...(best.notes ?? []), SECOND_PASSWORD] } : best;
}

const PASSWORD_ELSEWHERE: Note = {
  id: 'PASSWORD-ELSEWHERE',
  message: 'Another system (SASL, Kerberos) checks this password, or the directory has locked it; it is not imported.',
};

const SCHEME = /^\{([A-Za-z0-9._/-]+)\}(.*)$/s;
const CLEAR = ['CLEAR', 'CLEARTEXT', 'PLAIN'];
const ELSEWHERE = ['SASL', 'KERBEROS', 'RADIUS', 'UNIX', 'NONE'];

function passwordOfValue(value: string): LdifPassword {
  const [, scheme, body = ''] = SCHEME.exec(value) ?? [];
  if (scheme === undefined) return isHash(value) ? { hash: value } : { password: value };
  const name = scheme.toUpperCase();
  if (CLEAR.includes(name)) return body === '' ? {} : { password: body };
  if (ELSEWHERE.includes(name)) return { notes: [PASSWORD_ELSEWHERE] };
  if (name === 'CRYPT') return crypt(body);
  if (name === 'PBKDF2_SHA256') return pbkdf2Of389(body);
  // Dovecot and others keep names of their own in a directory.
  const known = knownForm(value);
  return schemeOf(known) === undefined ? unsupported(name) : { hash: known };
}

/** Without a scheme, the value is a plain password to the directory. Only what can hardly be one counts as a hash. */
function isHash(value: string): boolean {
  return schemeOf(value) !== undefined && (namedHash(value) !== undefined || /^[0-9a-f]{32,}$/i.test(value));
}

/** What passwd(1) puts before a hash, or in its place, to lock it; `*LK*` and `*NP*` are Solaris' marks. */
const LOCK = /^(?:\*LK\*|\*NP\*|[!*])+/;

function crypt(body: string): LdifPassword {
  const hash = body.replace(LOCK, '');
  // `x` refers to another file.
  if (hash === '' || hash === 'x') return { notes: [PASSWORD_ELSEWHERE] };
  return { hash: `{CRYPT}${hash}`, ...(hash === body ? {} : { isLocked: true }) };
}

/** Four bytes of rounds, 64 of salt, 256 of hash. */
const ROUNDS_BYTES = 4;
const SALT_BYTES = 64;
const HASH_BYTES = 256;
/** Each block of PBKDF2's output depends on the whole password, so the first one verifies as much as all eight. */
const BLOCK_BYTES = 32;

/** 389 Directory Server's `{PBKDF2_SHA256}`: pbkdf2_pwd.c of https://github.com/389ds/389-ds-base. */
function pbkdf2Of389(body: string): HashText {
  const bytes = bytesOf(body, 'base64');
  if (bytes?.length !== ROUNDS_BYTES + SALT_BYTES + HASH_BYTES) return unsupported('PBKDF2_SHA256-389');
  const salt = bytes.subarray(ROUNDS_BYTES, ROUNDS_BYTES + SALT_BYTES);
  const block = bytes.subarray(ROUNDS_BYTES + SALT_BYTES).subarray(0, BLOCK_BYTES);
  return { hash: pbkdf2Text('sha256', bytes.readUInt32BE(0), salt, block) };
}

/** Some tools write the value in base64, but omit the second colon that marks it as such. */
function unfold(value: string): string {
  if (!/^e[0-3][A-Za-z0-9+/]+={0,2}$/.test(value)) return value;
  const text = bytesOf(value, 'base64')?.toString('latin1') ?? value;
  return SCHEME.test(text) ? text : value;
}

/**
 * Active Directory's `objectGUID` as Microsoft's tools write it (`b3a8e1f0-…`): sixteen bytes, with the first three
 * groups in little-endian order (MS-DTYP section 2.3.4.2); undefined when the value is not sixteen bytes.
 * @param value its bytes as the LDIF reader returns them: decoded as UTF-8 if valid, else one character per byte
 */
function guidText(value: string | undefined): string | undefined {
  const bytes = value === undefined ? undefined : guidBytes(value);
  if (bytes === undefined) return undefined;
  const groups = [bytes.subarray(0, 4).reverse(), bytes.subarray(4, 6).reverse(), bytes.subarray(6, 8).reverse()];
  return [...groups, bytes.subarray(8, 10), bytes.subarray(10)].map((group) => group.toString('hex')).join('-');
}

function guidBytes(value: string): Buffer | undefined {
  const utf8 = Buffer.from(value);
  if (utf8.length === 16) return utf8;
  return /^[\0-\xff]{16}$/.test(value) ? Buffer.from(value, 'latin1') : undefined;
}

/** Attributes that become fields, and those that tell what kind of entry it is. */
const TAKEN =
  'dn objectclass uid userid samaccountname cn givenname gn sn surname displayname gecos preferredlanguage entryuuid objectguid ' +
  'mobile useraccountcontrol nsaccountlock inetuserstatus shadowexpire accountexpires logindisabled lockedbyintruder ' +
  'loginexpirationtime ds-pwp-account-disabled ds-pwp-account-expiration-time';

/** Operational attributes of OpenLDAP, 389 Directory Server, FreeIPA and Active Directory. */
const BOOKKEEPING =
  'createtimestamp modifytimestamp creatorsname modifiersname entrycsn entrydn entryid entryusn structuralobjectclass ' +
  'subschemasubentry hassubordinates contextcsn numsubordinates parentid nsuniqueid passwordgraceusertime authtimestamp ' +
  'whencreated whenchanged usncreated usnchanged instancetype objectcategory objectsid primarygroupid badpasswordtime ' +
  'lastlogon lastlogontimestamp lastlogoff logoncount codepage countrycode admincount dscorepropagationdata lockouttime ' +
  'distinguishedname name samaccounttype iscriticalsystemobject mepmanagedentry logontime logintime loginintruderattempts ' +
  'shadowlastchange shadowmin shadowmax shadowwarning shadowinactive shadowflag acctflags';

const LEFT_OUT = new Set(`${TAKEN} ${BOOKKEEPING}`.split(' '));
/** Prefixes of attributes: Kerberos, Samba, FreeIPA's own, Exchange, password policies and states. */
const FAMILIES = /^(?:krb|samba|ipa(?!uniqueid|sshpubkey)|ms-?ds-|msexch|pwd|ds-|nsds|oath)/;
const SECRET = /password|passwd|pwd|secret(?!ary)|privatekey|credential|token|hash|pin$/;
const BINARY = /certificate|photo|pkcs12|^audio$|^logo$|^thumbnail/;
/** Control characters, except tabs and line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary values from text
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;

/**
 * The attributes without a field, under their names in lower case; several values become a list. The servers'
 * bookkeeping, binary values and (by attribute name) secrets are left out.
 */
function metadataOf(entry: Fields): Fields {
  const kept: Fields = {};
  for (const name of Object.keys(entry)) {
    if (LEFT_OUT.has(name) || FAMILIES.test(name) || SECRET.test(name) || BINARY.test(name)) continue;
    const values = valuesOf(entry, name).filter((value) => value !== '' && !CONTROL.test(value));
    if (values.length > 0) kept[name] = values.length === 1 ? values[0] : values;
  }
  return kept;
}

/** Whether an attribute is one of the directory's, whose states are read. */
function isOwn(name: string): boolean {
  return LEFT_OUT.has(name) || FAMILIES.test(name) || isStateAttribute(name);
}

function firstValues(entry: Fields): Fields {
  if (!isPerson(entry)) return {};
  return Object.fromEntries(Object.keys(entry).map((name) => [name, firstOf(entry, name)]));
}
