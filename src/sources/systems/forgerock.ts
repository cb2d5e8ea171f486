/**
 * ForgeRock Identity Management, PingIDM: managed users as `GET /openidm/managed/user?_queryFilter=true` answers.
 * https://docs.pingidentity.com/pingidm/latest/objects-guide/managed-objects.html
 */
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { objectAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

export const forgerock = tableSource({
  name: 'forgerock',
  title: 'ForgeRock / PingIDM',
  formats: JSON_ONLY,
  jsonPaths: [['result', '*']],
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    // Queries that name their fields leave out `accountStatus`, but never the revision.
    return has('_id') && has('userName') && has('sn') && (has('accountStatus') || has('_rev'));
  },
  states: { words: [{ field: 'accountStatus', active: 'active', inactive: 'inactive' }] },
  columns: {
    userId: '_id',
    userName: 'userName',
    email: 'mail',
    firstName: 'givenName',
    lastName: 'sn',
    displayName: ['displayName', 'cn'],
    language: 'preferredLanguage',
    phone: 'telephoneNumber',
  },
  parts: [hashOf],
  dropped: `_rev _meta _notifications accountStatus password effectiveAssignments effectiveRoles passwordLastChangedTime
    kbaInfo`,
});

/** The LDAP name of each algorithm's form. */
const SALTED: Readonly<Record<string, string>> = {
  MD5: 'SMD5',
  'SHA-1': 'SSHA',
  'SHA-256': 'SSHA256',
  'SHA-384': 'SSHA384',
  'SHA-512': 'SSHA512',
};

/**
 * Hashed passwords are `{"$crypto":{"type":"salted-hash","value":{"algorithm":"SHA-256","data":"…"}}}`: base64 of the
 * digest of password and salt, and of the salt. Encrypted ones (`x-simple-encryption`) need the key of the installation.
 * https://docs.pingidentity.com/pingidm/latest/security-guide/encoding-attribute-values.html
 */
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
