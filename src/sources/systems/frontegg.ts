/**
 * Frontegg: users as its API answers `GET /identity/resources/users/v3`. Frontegg returns no password hashes.
 * https://developers.frontegg.com/api/identity/users/userscontrollerv3_getusers
 */
import { factorLostIf, JSON_ONLY, tableSource } from './table.ts';

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
  parts: [factorLostIf('mfaEnrolled')],
  spread: ['metadata'],
  dropped: `sub profilePictureUrl mfaEnrolled mfaBypass vendorMetadata provider createdAt lastLogin isLocked
    activatedForTenant roles permissions`,
});
