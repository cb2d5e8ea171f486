/** The credentials of a machine user that the console lists, adds and removes. */
import { KEYS, TOKENS } from '../texts/credentials.ts';
import { userPath } from '../users/shapes.ts';

export interface Credential {
  id: string;
  expirationDate?: string;
  details: { creationDate: string };
}

/** What the API answers about one, whose id has a name of its own. */
export type Answered = Omit<Credential, 'id'> & { tokenId?: string; keyId?: string };

export interface Kind {
  /** The last part of the page's address. */
  name: 'tokens' | 'keys';
  /** The last part of the API's address. */
  api: 'pats' | 'keys';
  texts: typeof TOKENS;
  /** The secret, which is shown once, as a program reads it. */
  secretOf(made: Record<string, string>): string;
}

export const KINDS: readonly Kind[] = [
  { name: 'tokens', api: 'pats', texts: TOKENS, secretOf: ({ token = '' }) => token },
  // The key file is JSON, which the API answers as base64.
  { name: 'keys', api: 'keys', texts: KEYS, secretOf: ({ keyDetails = '' }) => fileOf(keyDetails) },
];

function fileOf(base64: string): string {
  return JSON.stringify(JSON.parse(Buffer.from(base64, 'base64').toString()), null, 2);
}

export function toCredential({ tokenId, keyId, ...rest }: Answered): Credential {
  return { id: tokenId ?? keyId ?? '', ...rest };
}

export function credentialsPath({ name }: Kind, userId: string): string {
  return `${userPath(userId)}/${name}`;
}
