/**
 * ForgeRock Identity Management, PingIDM: managed users as `GET /openidm/managed/user?_queryFilter=true` answers.
 * https://docs.pingidentity.com/pingidm/latest/objects-guide/managed-objects.html
 */

import type { Person } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import { signedInBy } from '../old-sign-in.ts';
import { lostNotes } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { objectAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

/** Attributes of the directory, as lists of profiles. */
const DEVICES = ['oathDeviceProfiles', 'pushDeviceProfiles', 'webauthnDeviceProfiles'] as const;

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
  missing: [
    {
      id: 'FORGEROCK-DEVICES',
      what: 'secondFactor',
      message: 'Managed users come without passkeys, second factors and recovery codes, which the directory keeps.',
      remedy:
        'Nothing brings them along. oath2fa, push2fa and webauthn devices are in the directory: oathDeviceProfiles, pushDeviceProfiles and webauthnDeviceProfiles.',
      isIn: (record) => DEVICES.some((name) => Object.hasOwn(record, name)),
    },
    {
      id: 'FORGEROCK-IDPS',
      what: 'links',
      message: 'Managed users come without their accounts at providers.',
      remedy: 'The attribute aliasList names them; it becomes metadata, as nothing says which part of it is the id.',
      isIn: (record) => Object.hasOwn(record, 'aliasList'),
    },
    {
      id: 'FORGEROCK-ROLES',
      what: 'roles',
      message: 'Managed users come without roles and groups unless the query asks for them.',
      remedy: 'Add _fields=*,roles/*,authzRoles/* to the query; they become metadata.',
      isIn: (record) => ['roles', 'authzRoles', 'effectiveRoles'].some((name) => Object.hasOwn(record, name)),
    },
  ],
  parts: [hashOf, devicesOf],
  dropped: `_rev _meta _notifications accountStatus password effectiveAssignments ${DEVICES.join(' ')} passwordLastChangedTime
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

function devicesOf(record: Fields): Partial<Person> {
  const has = (name: (typeof DEVICES)[number]) => {
    const value = record[name];
    return Array.isArray(value) ? value.length > 0 : textAt(record, name) !== undefined;
  };
  const passkey = has('webauthnDeviceProfiles');
  return {
    notes: lostNotes({ secondFactor: passkey || has('oathDeviceProfiles') || has('pushDeviceProfiles'), passkey }),
    oldSignIn: signedInBy({ password: record.password !== undefined, passkey }),
  };
}
