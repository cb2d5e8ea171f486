/**
 * Microsoft Entra External ID and Azure AD B2C: users as Microsoft Graph answers `GET /users`, with the property
 * `identities`. Microsoft exports no password hashes.
 * https://learn.microsoft.com/graph/api/user-list, https://learn.microsoft.com/graph/api/resources/objectidentity
 */
import type { Note, OldSignIn, Person, Skipped } from '../entry.ts';
import { signedInBy } from '../old-sign-in.ts';
import { lostNotes } from '../second-factor.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { fieldNames, objectAt, objectsAt, restOf, textAt } from '../values.ts';

const KNOWN = fieldNames(`id accountEnabled displayName givenName surname userPrincipalName mail otherMails mobilePhone
  businessPhones preferredLanguage identities creationType passwordPolicies passwordProfile mailNickname createdDateTime
  proxyAddresses authenticationMethods @odata.type @odata.id`);

/** B2C makes the user principal name of the object id; no person knows it. */
const GENERATED = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}@|^cpim_|#EXT#@/i;

const MISSING: readonly Missing[] = [
  {
    id: 'ENTRA-PASSWORDS',
    what: 'password',
    message: 'Microsoft exports no passwords.',
    remedy:
      'Nothing gets them. A password source of Microsoft lets users keep them; else they sign in by codes or a mail.',
    isIn: (record) => Object.hasOwn(record, 'passwordProfile') && passwordOf(record) !== undefined,
  },
  {
    id: 'ENTRA-IDENTITIES',
    what: 'links',
    message: 'These users have no identities, so it is not known how they sign in.',
    remedy: 'Name identities in $select of GET /users.',
    isIn: (record) => objectsAt(record, 'identities').length > 0,
  },
  {
    id: 'ENTRA-AUTHENTICATION-METHODS',
    what: 'secondFactor',
    message: 'The answers of GET /users do not say who has a passkey or a second factor.',
    remedy:
      'Add value of the answer of GET /users/{id}/authentication/methods to each user, as the property authenticationMethods.',
    isIn: (record) => Object.hasOwn(record, 'authenticationMethods'),
  },
  {
    id: 'ENTRA-GROUPS',
    what: 'roles',
    message: 'The answers of GET /users contain no groups and roles.',
    remedy: 'Add $expand=memberOf to GET /users; memberOf becomes metadata.',
    isIn: (record) => Object.hasOwn(record, 'memberOf'),
  },
];

export const entra: ExportFormat = {
  name: 'entra',
  title: 'Microsoft Entra',
  mayBePlain: true,
  formats: ['json', 'ndjson'],
  // Microsoft's tools that create users read a list under `users`.
  jsonPaths: [
    ['value', '*'],
    ['users', '*'],
  ],
  recognizes(record) {
    if (objectsAt(record, 'identities').some((one) => typeof one.signInType === 'string')) return 1;
    return textAt(record, 'userPrincipalName') !== undefined && Object.hasOwn(record, 'givenName') ? 0.9 : 0;
  },
  missing: MISSING,
  converter: () => convert,
};

// https://learn.microsoft.com/graph/api/resources/user (accountEnabled; deletedDateTime of /directory/deletedItems)
const STATES = { active: ['accountEnabled'], deleted: ['deletedDateTime'] };

interface Identity {
  type: string;
  issuer: string | undefined;
  id: string;
}

function convert(record: Fields): Person | Skipped {
  const { state, skip, notes } = readSystemState(record, STATES);
  if (skip !== undefined) return { skip };
  const identities = objectsAt(record, 'identities').flatMap(identityOf);
  const idOf = (type: RegExp) => identities.find((one) => type.test(one.type))?.id;
  const principal = textAt(record, 'userPrincipalName');
  // `emailAddress1` and the like are further addresses of an external tenant.
  const signIn = idOf(/^emailAddress/);
  const mail = textAt(record, 'mail') ?? firstOf(record.otherMails);
  const own = principal === undefined || GENERATED.test(principal) ? undefined : principal;
  return {
    userId: textAt(record, 'id'),
    userName: idOf(/^userName$/) ?? (signIn === undefined ? own : undefined),
    email: signIn ?? mail ?? own,
    firstName: textAt(record, 'givenName'),
    lastName: textAt(record, 'surname'),
    displayName: textAt(record, 'displayName'),
    language: textAt(record, 'preferredLanguage'),
    phone: textAt(record, 'mobilePhone') ?? firstOf(record.businessPhones),
    state,
    notes: [...notes, ...lostOf(record)],
    oldSignIn: waysOf(record, identities),
    // No export has a password; the files from which Microsoft's tools create users have.
    password: passwordOf(record),
    links: identities.flatMap(({ type, issuer, id }) =>
      type === 'federated' && issuer !== undefined ? [{ provider: issuer, externalUserId: id }] : [],
    ),
    metadata: restOf(record, KNOWN),
  };
}

function passwordOf(record: Fields): string | undefined {
  return textAt(objectAt(record, 'passwordProfile'), 'password') ?? textAt(record, 'password');
}

/** Types of https://learn.microsoft.com/graph/api/resources/authenticationmethods-overview, without their ends. */
function methodsOf(record: Fields): string[] {
  return objectsAt(record, 'authenticationMethods').flatMap((method) => {
    const [, kind] = /^#?microsoft\.graph\.(\w+?)AuthenticationMethod$/.exec(textAt(method, '@odata.type') ?? '') ?? [];
    return kind === undefined ? [] : [kind];
  });
}

const PASSKEYS = ['fido2', 'windowsHelloForBusiness', 'platformCredential'];
/** Methods that are no second factor of their own. */
const NO_FACTORS = ['password', 'temporaryAccessPass', 'qrCodePin', ...PASSKEYS];

function lostOf(record: Fields): Note[] {
  const methods = methodsOf(record);
  const passkey = methods.some((method) => PASSKEYS.includes(method));
  return lostNotes({ secondFactor: methods.some((method) => !NO_FACTORS.includes(method)), passkey });
}

/** Providers that everybody may have an account at; other issuers are directories of companies. */
const SOCIAL =
  /^(?:google|facebook|apple|linkedin|twitter|github|amazon|live|wechat|weibo|qq|x|microsoftaccount)(?:\.|$)/i;

function waysOf(record: Fields, identities: readonly Identity[]): OldSignIn | undefined {
  const federated = identities.filter(({ type }) => type === 'federated').map(({ issuer = '' }) => issuer);
  const isMail = (issuer: string) => issuer === 'mail';
  return signedInBy({
    password: identities.length === 0 || identities.some(hasPassword),
    mailCode: federated.some(isMail),
    sms: identities.some(({ type }) => type === 'phoneNumber'),
    provider: federated.some((issuer) => SOCIAL.test(issuer)),
    enterprise: federated.some((issuer) => !SOCIAL.test(issuer) && !isMail(issuer)),
    passkey: methodsOf(record).some((method) => PASSKEYS.includes(method)),
  });
}

/** Whoever comes by a provider has a principal name that was made up, and no password for it. */
function hasPassword({ type, id }: Identity): boolean {
  return type !== 'federated' && type !== 'phoneNumber' && !(type === 'userPrincipalName' && GENERATED.test(id));
}

function identityOf(record: Fields): Identity[] {
  const [type, id] = [textAt(record, 'signInType'), textAt(record, 'issuerAssignedId')];
  return type === undefined || id === undefined ? [] : [{ type, issuer: textAt(record, 'issuer'), id }];
}

function firstOf(list: unknown): string | undefined {
  return Array.isArray(list) ? textAt({ value: list[0] }, 'value') : undefined;
}
