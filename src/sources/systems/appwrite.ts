/**
 * Appwrite: users as its API answers `GET /v1/users`, with their hashes: `password` has the form that `hash` names,
 * with the parameters of `hashOptions`. A hash other than argon2 was imported from another system and not used since.
 * https://appwrite.io/docs/references/cloud/server-rest/users; https://appwrite.io/docs/products/auth/migrations;
 * https://github.com/utopia-php/auth (src/Auth/Hashes)
 */
import type { Person } from '../entry.ts';
import { bytesOf, type HashText, scryptText, unsupported } from '../hashes.ts';
import { signedInBy } from '../old-sign-in.ts';
import { lostNotes } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { boolAt, jsonAt, numberAt, objectAt, objectsAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

export const appwrite = tableSource({
  name: 'appwrite',
  title: 'Appwrite',
  formats: JSON_ONLY,
  recognizes: ['$id', 'emailVerification', 'registration'],
  states: { active: ['status'] },
  columns: {
    userId: '$id',
    email: 'email',
    emailVerified: 'emailVerification',
    displayName: 'name',
    phone: 'phone',
    phoneVerified: 'phoneVerification',
  },
  missing: [
    {
      id: 'APPWRITE-IDENTITIES',
      what: 'links',
      message: 'The answers of GET /v1/users contain no accounts at providers.',
      remedy:
        'Add identities of the answer of GET /v1/users/identities whose userId is the user to each user, under the same name.',
      isIn: (record) => Object.hasOwn(record, 'identities'),
    },
    {
      id: 'APPWRITE-FACTORS',
      what: 'recoveryCodes',
      message: 'The answers of GET /v1/users do not say who has recovery codes.',
      remedy: 'Add the answer of GET /v1/users/{userId}/mfa/factors to each user, as the property mfaFactors.',
      isIn: (record) => Object.hasOwn(record, 'mfaFactors'),
    },
    {
      id: 'APPWRITE-TEAMS',
      what: 'roles',
      message: 'The answers of GET /v1/users contain no teams.',
      remedy:
        'Add memberships of the answer of GET /v1/users/{userId}/memberships to each user, under the same name; they become metadata.',
      isIn: (record) => Object.hasOwn(record, 'memberships'),
    },
  ],
  parts: [hashOf, lostOf, waysOf],
  links: { list: 'identities', provider: ['provider'], id: ['providerUid'] },
  spread: ['prefs'],
  dropped: `$sequence $createdAt $updatedAt $permissions $databaseId $collectionId password hash hashOptions registration
    status passwordUpdate mfa targets accessedAt impersonator emailCanonical emailIsFree emailIsDisposable
    emailIsCorporate emailIsCanonical mfaFactors`,
});

function lostOf(record: Fields): Partial<Person> {
  const factors = objectAt(record, 'mfaFactors');
  const secondFactor = boolAt(record, 'mfa') === true || boolAt(factors, 'totp') === true;
  return { notes: lostNotes({ secondFactor, recoveryCodes: boolAt(factors, 'recoveryCode') === true }) };
}

/** Who has neither a password nor an account elsewhere signed in by a code to an address or a number. */
function waysOf(record: Fields): Partial<Person> {
  const has = (name: string) => textAt(record, name) !== undefined;
  const [password, provider] = [has('password'), objectsAt(record, 'identities').length > 0];
  const isByCode = !password && !provider;
  const ways = { password, provider, mailCode: isByCode && has('email'), sms: has('phone') };
  return { oldSignIn: signedInBy(ways) };
}

const WHOLE = ['argon2', 'bcrypt', 'md5', 'phpass'];
const SHA = ['sha1', 'sha256', 'sha512'];
/** Firebase's cost in Appwrite's code. */
const FIREBASE = 'n=14,r=8,p=1';

function hashOf(record: Fields): HashText {
  const [text, name = ''] = [textAt(record, 'password'), textAt(record, 'hash')?.toLowerCase()];
  if (text === undefined) return {};
  const options = jsonAt(record, 'hashOptions');
  if (WHOLE.includes(name)) return { hash: text };
  if (name === 'sha') return SHA.includes(textAt(options, 'version') ?? '') ? { hash: text } : unsupported('sha3');
  if (name === 'scrypt') return scrypt(text, options);
  return name === 'scryptmodified' || name === 'scryptmod' ? firebase(text, options) : unsupported(name);
}

/** The salt is text, the hash is hexadecimal. */
function scrypt(text: string, options: Fields): HashText {
  const [n, r, p] = ['costCpu', 'costMemory', 'costParallel'].map((name) => numberAt(options, name));
  const [ln, digest] = [Math.log2(n ?? 0), bytesOf(text, 'hex')];
  if (!Number.isInteger(ln) || r === undefined || p === undefined || !digest) return unsupported('scrypt');
  return { hash: scryptText({ ln, r, p }, Buffer.from(textAt(options, 'salt') ?? ''), digest) };
}

function firebase(text: string, options: Fields): HashText {
  const [salt, separator, key] = ['salt', 'saltSeparator', 'signerKey'].map((name) => textAt(options, name));
  if (salt === undefined || key === undefined) return unsupported('scryptmodified');
  return { hash: `$fbscrypt$v=1,${FIREBASE},ss=${separator ?? ''},sk=${key}$${salt}$${text}` };
}
