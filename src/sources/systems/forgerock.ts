import type { Person } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { fieldNames, objectAt, restOf, textAt } from '../values.ts';

/**
 * ForgeRock Identity Management, PingIDM: managed users as `GET /openidm/managed/user?_queryFilter=true` answers.
 * https://docs.pingidentity.com/pingidm/latest/objects-guide/managed-objects.html
 *
 * Hashed passwords are `{"$crypto":{"type":"salted-hash","value":{"algorithm":"SHA-256","data":"…"}}}`: base64 of the
 * digest of password and salt, and of the salt. https://docs.pingidentity.com/pingidm/latest/security-guide/encoding-attribute-values.html
 */

const KNOWN =
  fieldNames(`_id _rev _meta _notifications userName givenName sn cn mail telephoneNumber accountStatus password
  preferredLanguage displayName effectiveAssignments effectiveRoles passwordLastChangedTime kbaInfo`);

/** The LDAP name of the same form. */
const SALTED: Readonly<Record<string, string>> = {
  MD5: 'SMD5',
  'SHA-1': 'SSHA',
  'SHA-256': 'SSHA256',
  'SHA-384': 'SSHA384',
  'SHA-512': 'SSHA512',
};

export const forgerock: Source = {
  name: 'forgerock',
  title: 'ForgeRock / PingIDM',
  formats: ['json', 'ndjson'],
  jsonPaths: [['result', '*']],
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    // Queries that name their fields leave out `accountStatus`, but never the revision.
    return has('_id') && has('userName') && has('sn') && (has('accountStatus') || has('_rev')) ? 1 : 0;
  },
  converter: () => convert,
};

function convert(record: Fields): Person {
  const { hash, notes = [] } = hashOf(record);
  const status = textAt(record, 'accountStatus')?.toLowerCase();
  return {
    userId: textAt(record, '_id'),
    userName: textAt(record, 'userName'),
    email: textAt(record, 'mail'),
    firstName: textAt(record, 'givenName'),
    lastName: textAt(record, 'sn'),
    displayName: textAt(record, 'displayName') ?? textAt(record, 'cn'),
    language: textAt(record, 'preferredLanguage'),
    phone: textAt(record, 'telephoneNumber'),
    state: status === undefined || status === 'active' ? undefined : 'inactive',
    hash,
    metadata: restOf(record, KNOWN),
    notes,
  };
}

/** Encrypted passwords (`x-simple-encryption`) need the key of the installation. */
function hashOf(record: Fields): HashText {
  const text = textAt(record, 'password');
  if (text !== undefined) return { hash: text };
  const crypto = objectAt(objectAt(record, 'password'), '$crypto');
  const type = textAt(crypto, 'type');
  if (type === undefined) return {};
  const value = objectAt(crypto, 'value');
  const [algorithm = '', data] = [textAt(value, 'algorithm'), textAt(value, 'data')];
  if (type !== 'salted-hash' || data === undefined) return unsupported(`idm-${type.replace(/^x-/, '')}`);
  if (algorithm === 'BCRYPT') return { hash: data };
  const name = Object.hasOwn(SALTED, algorithm) ? SALTED[algorithm] : undefined;
  return name === undefined ? unsupported(`idm-${algorithm}`) : { hash: `{${name}}${data}` };
}
