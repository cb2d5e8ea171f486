/**
 * Descope: users as its API answers `POST /v2/mgmt/user/search`. Descope returns no password hashes.
 * https://docs.descope.com/api/management/users/search-users
 */
import type { Note, Person } from '../entry.ts';
import { signedInBy } from '../old-sign-in.ts';
import { lostNotes } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { boolAt, objectAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

const LINK_LOST: Note = {
  id: 'DESCOPE-LINK-LOST',
  message: 'The user signs in with an outside provider, whose id of them is not in the export; the link is dropped.',
};

export const descope = tableSource({
  name: 'descope',
  title: 'Descope',
  formats: JSON_ONLY,
  recognizes: (record) =>
    Array.isArray(record.loginIds) && (Object.hasOwn(record, 'verifiedEmail') || Object.hasOwn(record, 'userTenants')),
  // A user who was invited may sign in.
  states: { words: [{ field: 'status', active: 'enabled invited', inactive: 'disabled' }] },
  columns: {
    userId: 'userId',
    userName: userNameOf,
    email: 'email',
    emailVerified: 'verifiedEmail',
    firstName: 'givenName',
    lastName: 'familyName',
    displayName: 'name',
    phone: 'phone',
    phoneVerified: 'verifiedPhone',
  },
  missing: [
    {
      id: 'DESCOPE-PASSWORDS',
      what: 'password',
      message: 'The API of Descope returns no password hashes.',
      remedy:
        'Nothing gets them by the API; ask the support of Descope. Without them users sign in by codes or a mail.',
      isIn: () => false,
    },
    {
      id: 'DESCOPE-LINKS',
      what: 'links',
      message: 'The API of Descope says who signs in with a provider, but not by which account there.',
      remedy: 'Nothing gets the ids; the users are told apart by the note DESCOPE-LINK-LOST.',
      isIn: () => false,
    },
  ],
  parts: [waysOf],
  dropped: `loginIds status test createdTime modifiedTime TOTP SAML SCIM OAuth webauthn password push
    editable externalIds consentExpiration recoveryEmail recoveryPhone lastAuth`,
});

/** What the user types to sign in: the address, or the first login id that is neither address nor number. */
function userNameOf(record: Fields): string | undefined {
  const ids = Array.isArray(record.loginIds) ? record.loginIds.filter((id) => typeof id === 'string') : [];
  if (ids.includes(textAt(record, 'email') ?? '')) return undefined;
  return ids.find((id) => id !== textAt(record, 'phone'));
}

/** `OAuth` has a flag for each provider; the other ways have a flag each. Codes need an address or a number only. */
function waysOf(record: Fields): Partial<Person> {
  const is = (name: string) => boolAt(record, name) === true;
  const oauth = objectAt(record, 'OAuth');
  const provider = Object.keys(oauth).some((name) => boolAt(oauth, name) === true);
  const enterprise = is('SAML') || is('OIDC');
  const passkey = is('webauthn');
  return {
    notes: [...lostNotes({ secondFactor: is('TOTP'), passkey }), ...(provider || enterprise ? [LINK_LOST] : [])],
    oldSignIn: signedInBy({
      password: is('password'),
      mailCode: !enterprise && textAt(record, 'email') !== undefined,
      sms: !enterprise && textAt(record, 'phone') !== undefined,
      provider,
      enterprise,
      passkey,
    }),
  };
}
