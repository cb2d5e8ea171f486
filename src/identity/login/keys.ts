/**
 * The keys under which attempts are counted and networks remembered: pieces of keyed hashes, so that tables tell
 * neither names nor addresses, and nobody can choose names that share a count.
 */
import { createHmac } from 'node:crypto';
import { nameKey } from '../../fields/fields.ts';
import type { Secrets } from '../../secrets.ts';
import type { Origin } from './origin.ts';
import type { LoginUser } from './store.ts';

/** The table of counts has at most twice 2^24 short rows, whatever is entered. */
const BITS = 24;
/** Keys of all networks begin here. */
export const EVERYWHERE = 2 ** BITS;

/** Keys of an attempt in `login_delays`. */
export interface AttemptKeys {
  /** Of what was entered and the network it came from. */
  here: number;
  /** Of what was entered, in all networks. */
  everywhere: number;
}

/**
 * Names that compare as equal share their keys. A login name and an id of the same user do not: if they did, two names
 * that are locked together would be known to be those of one user.
 */
export function attemptKeys(secrets: Secrets, user: LoginUser, { network, through = '' }: Origin): AttemptKeys {
  const entered = [through, ...('userId' in user ? ['id', user.userId] : ['name', nameKey(user.loginName)])];
  return {
    here: keyedHash(secrets, [...entered, network]).readUIntBE(0, BITS / 8),
    everywhere: EVERYWHERE + keyedHash(secrets, entered).readUIntBE(0, BITS / 8),
  };
}

/** Keys of the user who was found for an attempt; bigints in text form. */
export interface UserKeys {
  /** Undefined if none was found. */
  id: string | undefined;
  /** In `login_delays`: one name can lead to users of several organizations. */
  user: string;
  /** In `login_networks`. The same network of another user has another key. */
  network: string;
}

export function userKeys(secrets: Secrets, id: string | undefined, { network, through = '' }: Origin): UserKeys {
  const ofNetwork = bigint(secrets, ['network', id ?? '', through, network]);
  return { id, user: ofUser(secrets, id ?? ''), network: ofNetwork };
}

/** The key of a user in `login_delays`. */
export function ofUser(secrets: Secrets, id: string): string {
  return bigint(secrets, ['user', id]);
}

function bigint(secrets: Secrets, parts: string[]): string {
  return keyedHash(secrets, parts).readBigInt64BE(0).toString();
}

function keyedHash(secrets: Secrets, parts: string[]): Buffer {
  return createHmac('sha256', secrets.key('login attempts')).update(JSON.stringify(parts)).digest();
}
