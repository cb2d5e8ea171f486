/**
 * A user's accounts at identity providers, and their columns in the CSV of `firebase auth:export`.
 *
 * The CSV has no header. Its rows end with a comma, and older versions lack the columns of the newer providers.
 * https://firebase.google.com/docs/cli/auth#CSV
 */
import type { ProviderLink } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { objectsAt, textAt } from '../../values.ts';

export interface FirebaseProvider extends ProviderLink {
  email: string | undefined;
}

const IN_COLUMNS = [
  ['google.com', 'facebook.com', 'twitter.com', 'github.com'],
  ['apple.com', 'microsoft.com', 'gc.apple.com', 'playgames.google.com', 'linkedin.com', 'yahoo.com'],
] as const;
/** Firebase's names for its own sign-in methods, which are not external providers. */
const ITS_OWN = ['password', 'phone', 'emailLink'];

function columnsOf(providers: readonly string[]): string[] {
  return providers.flatMap((id) => [`${id}:rawId`, `${id}:email`, `${id}:displayName`, `${id}:photoUrl`]);
}

export const FIREBASE_COLUMNS: readonly string[] = [
  ...['localId', 'email', 'emailVerified', 'passwordHash', 'salt', 'displayName', 'photoUrl'],
  ...columnsOf(IN_COLUMNS[0]),
  ...['createdAt', 'lastSignedInAt', 'phoneNumber', 'disabled', 'customAttributes'],
  ...columnsOf(IN_COLUMNS[1]),
];

export function providersOf(record: Fields): FirebaseProvider[] {
  const listed = [...objectsAt(record, 'providerUserInfo'), ...objectsAt(record, 'providerData')];
  return [...listed.flatMap(providerOf), ...IN_COLUMNS.flat().flatMap((id) => providerOf(cellsOf(record, id)))];
}

function cellsOf(record: Fields, providerId: string): Fields {
  const cell = (name: string) => textAt(record, `${providerId}:${name}`);
  return { providerId, rawId: cell('rawId'), email: cell('email'), displayName: cell('displayName') };
}

function providerOf(info: Fields): FirebaseProvider[] {
  const provider = textAt(info, 'providerId');
  const externalUserId = textAt(info, 'rawId') ?? textAt(info, 'uid');
  if (provider === undefined || externalUserId === undefined || ITS_OWN.includes(provider)) return [];
  return [{ provider, externalUserId, displayName: textAt(info, 'displayName'), email: textAt(info, 'email') }];
}
