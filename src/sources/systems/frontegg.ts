/**
 * Frontegg: users as its API answers `GET /identity/resources/users/v3`. Frontegg returns no password hashes.
 * https://developers.frontegg.com/api/identity/users/userscontrollerv3_getusers
 */
import type { Note, Person } from '../entry.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import { lostNotes } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { boolAt, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

const LINK_LOST: Note = {
  id: 'FRONTEGG-LINK-LOST',
  message: 'The user signs in with an outside provider, whose id of them is not in the export; the link is dropped.',
};

export const frontegg = tableSource({
  name: 'frontegg',
  title: 'Frontegg',
  formats: JSON_ONLY,
  jsonPaths: [['items', '*']],
  recognizes: ['mfaEnrolled', 'verified', 'email', 'provider'],
  states: { locked: ['isLocked'] },
  columns: {
    userId: 'id',
    userName: 'username',
    email: 'email',
    emailVerified: 'verified',
    displayName: 'name',
    phone: 'phoneNumber',
  },
  missing: [
    {
      id: 'FRONTEGG-PASSWORDS',
      what: 'password',
      message: 'The API of Frontegg returns no password hashes.',
      remedy: 'Ask the support of Frontegg. Without hashes users sign in by codes or a mail.',
      isIn: () => false,
    },
    {
      id: 'FRONTEGG-LINKS',
      what: 'links',
      message: 'The API of Frontegg names the provider of a user, but not the account there.',
      remedy: 'Nothing gets the ids; the users are told apart by the note FRONTEGG-LINK-LOST.',
      isIn: () => false,
    },
  ],
  parts: [waysOf],
  spread: ['metadata'],
  dropped: `sub mfaEnrolled mfaBypass vendorMetadata provider createdAt lastLogin isLocked
    activatedForTenant permissions`,
});

/** `local` has a password, or codes by mail where the vendor turned passwords off. */
function waysOf(record: Fields): Partial<Person> {
  const provider = textAt(record, 'provider');
  const isElsewhere = provider !== undefined && provider !== 'local';
  const isEnterprise = isElsewhere && isOfCompany(provider);
  return {
    notes: [
      ...lostNotes({ secondFactor: boolAt(record, 'mfaEnrolled') === true }),
      ...(isElsewhere ? [LINK_LOST] : []),
    ],
    oldSignIn: signedInBy({
      password: !isElsewhere,
      provider: isElsewhere && !isEnterprise,
      enterprise: isEnterprise,
    }),
  };
}
