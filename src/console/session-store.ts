/**
 * Sessions of the console.
 *
 * Guarantee: the database holds the hash of the cookie, and the tokens encrypted with a key that only the cookie holds.
 * So neither somebody who reads the database nor somebody who has ENCRYPTION_KEY can use them.
 */
import { CONSOLE_SESSION_S } from '../contract/own-clients.ts';
import type { Db } from '../platform/db/pool.ts';
import { sweepRows } from '../platform/db/sweep.ts';
import { openSecrets } from '../platform/encryption.ts';
import { randomToken, tokenHash } from '../platform/ids.ts';

const PURPOSE = 'console-session';

export interface Tokens {
  accessToken: string;
  /** Names the login when it is ended. */
  idToken: string;
  /** The display name of the user. */
  name: string;
}

/** Stores a new session; returns the value of its cookie. */
export async function addSession(db: Db, tokens: Tokens): Promise<string> {
  const cookie = randomToken();
  await db.query(
    `insert into console_sessions (id_hash, sealed_tokens, expires_at) values ($1, $2, now() + $3 * interval '1 second')`,
    [tokenHash(cookie), openSecrets(cookie).seal(JSON.stringify(tokens), PURPOSE), CONSOLE_SESSION_S],
  );
  return cookie;
}

/** 43 characters of base64url: 256 bits. */
const COOKIE = /^[\w-]{43}$/;

export async function findSession(db: Db, cookie: string): Promise<Tokens | undefined> {
  if (!COOKIE.test(cookie)) return undefined;
  const { rows } = await db.query<{ sealed_tokens: string }>({
    name: 'console-session',
    text: 'select sealed_tokens from console_sessions where id_hash = $1 and expires_at > now()',
    values: [tokenHash(cookie)],
  });
  return rows[0] && JSON.parse(openSecrets(cookie).unseal(rows[0].sealed_tokens, PURPOSE));
}

export async function removeSession(db: Db, cookie: string): Promise<void> {
  await db.query('delete from console_sessions where id_hash = $1', [tokenHash(cookie)]);
}

/** Removes one batch of sessions that have ended; returns how many. */
export function sweepConsoleSessions(db: Db): Promise<number> {
  return sweepRows(db, { table: 'console_sessions', where: 'expires_at < now()', order: 'expires_at' });
}
