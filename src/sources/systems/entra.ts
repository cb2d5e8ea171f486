/**
 * Microsoft Entra External ID and Azure AD B2C: users as Microsoft Graph answers `GET /users`, with the property
 * `identities`. Microsoft exports no password hashes.
 * https://learn.microsoft.com/graph/api/user-list, https://learn.microsoft.com/graph/api/resources/objectidentity
 */
import type { Person, Skipped } from '../entry.ts';
import type { ExportFormat, Fields } from '../source.ts';
import { readSystemState } from '../states.ts';
import { fieldNames, objectAt, objectsAt, restOf, textAt } from '../values.ts';

const KNOWN = fieldNames(`id accountEnabled displayName givenName surname userPrincipalName mail otherMails mobilePhone
  businessPhones preferredLanguage identities creationType passwordPolicies passwordProfile mailNickname createdDateTime
  proxyAddresses @odata.type @odata.id`);

/** B2C makes the user principal name of the object id; no person knows it. */
const GENERATED = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}@|^cpim_|#EXT#@/i;

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
    notes,
    // No export has a password; the files from which Microsoft's tools create users have.
    password: textAt(objectAt(record, 'passwordProfile'), 'password') ?? textAt(record, 'password'),
    links: identities.flatMap(({ type, issuer, id }) =>
      type === 'federated' && issuer !== undefined ? [{ provider: issuer, externalUserId: id }] : [],
    ),
    metadata: restOf(record, KNOWN),
  };
}

function identityOf(record: Fields): Identity[] {
  const [type, id] = [textAt(record, 'signInType'), textAt(record, 'issuerAssignedId')];
  return type === undefined || id === undefined ? [] : [{ type, issuer: textAt(record, 'issuer'), id }];
}

function firstOf(list: unknown): string | undefined {
  return Array.isArray(list) ? textAt({ value: list[0] }, 'value') : undefined;
}
