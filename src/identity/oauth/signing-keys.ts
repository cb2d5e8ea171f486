/**
 * The keys that ID tokens and JWT access tokens are signed with: RS256, sealed in the database, shared by all processes.
 *
 * Guarantees: a key is published for PUBLISHED_AHEAD before it signs, so that whoever caches the published set knows it
 * in time, and for KEPT after the next one took over, so that what it signed can be checked to its end. Any number of
 * processes may start or rotate at once. If we die while a key is made, the next process to look makes it.
 */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { newId } from '../../ids.ts';
import type { Secrets } from '../../secrets.ts';
import { StartError } from '../../start-error.ts';

/** "KEYS" as bytes. */
const LOCK = 0x4b455953;
/** Longer than usual resource servers cache a key set, and than our own processes take to see a new key. */
const PUBLISHED_AHEAD = '6 hours';
/** An ID token may come back at logout for as long as the session in the browser lasts (`lifetimes.ts`). */
const KEPT = '15 days';
const PURPOSE = 'signing-key';
/** RFC 7518 section 3.3: RS256 needs 2048 bits or more. */
const MODULUS_BITS = 2048;

const generate = promisify(generateKeyPair);

export interface SigningKeyDeps {
  pool: Pool;
  secrets: Secrets;
  config: { SIGNING_KEY_ROTATE_DAYS: number };
}

/** Private JWKs to publish the public halves of; the first one signs. */
export interface KeySet {
  keys: JWK[];
  /** Changes with the set and with the key that signs. */
  version: string;
}

/**
 * The keys as they stand, after making the first or the next one where that is due.
 * @throws StartError when they were sealed with another ENCRYPTION_KEY
 */
export async function currentKeys(deps: SigningKeyDeps): Promise<KeySet> {
  if (await isKeyDue(deps.pool, deps.config)) await addKey(deps);
  const { rows } = await deps.pool.query<{ id: string; sealed: string }>(PUBLISHED, [KEPT]);
  const version = rows.map((row) => row.id).join(' ');
  return { keys: rows.map(({ id, sealed }) => unsealed(deps.secrets, id, sealed)), version };
}

/** Whether ENCRYPTION_KEY is the one that the keys in the database were sealed with. */
export async function canOpenKeys({ pool, secrets }: Omit<SigningKeyDeps, 'config'>): Promise<boolean> {
  const { rows } = await pool.query<{ id: string; sealed: string }>(PUBLISHED, [KEPT]);
  try {
    for (const { id, sealed } of rows) unsealed(secrets, id, sealed);
    return true;
  } catch (error) {
    if (error instanceof StartError) return false;
    throw error;
  }
}

/** Newest first among those that sign already, then those that are yet to. */
const PUBLISHED = `select id, sealed_jwk as sealed from (
    select *, lead(signs_from) over (order by signs_from, id) as replaced_at from signing_keys) k
  where replaced_at is null or replaced_at > now() - $1::interval
  order by signs_from <= now() desc, case when signs_from <= now() then signs_from end desc, signs_from, id`;

/** Keys of which nobody holds anything any more. */
const DROP = `delete from signing_keys k where exists (
  select from signing_keys s where s.signs_from > k.signs_from and s.signs_from < now() - $1::interval)`;

async function isKeyDue(db: Db, config: SigningKeyDeps['config']): Promise<boolean> {
  const { rows } = await db.query<{ due: boolean }>(
    `select coalesce(max(signs_from) + $1 * interval '1 day' - $2::interval <= now(), true) as due from signing_keys`,
    [config.SIGNING_KEY_ROTATE_DAYS, PUBLISHED_AHEAD],
  );
  return rows[0]?.due === true;
}

async function addKey({ pool, secrets, config }: SigningKeyDeps): Promise<void> {
  const id = newId();
  const { privateKey } = await generate('rsa', { modulusLength: MODULUS_BITS });
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid: id, alg: 'RS256', use: 'sig' };
  await transaction(pool, async (db) => {
    await db.query('select pg_advisory_xact_lock($1)', [LOCK]);
    if (!(await isKeyDue(db, config))) return;
    await db.query(
      `insert into signing_keys (id, sealed_jwk, signs_from)
       select $1, $2, case when max(signs_from) is null then now()
         else greatest(max(signs_from) + $3 * interval '1 day', now() + $4::interval) end from signing_keys`,
      [id, secrets.seal(JSON.stringify(jwk), PURPOSE), config.SIGNING_KEY_ROTATE_DAYS, PUBLISHED_AHEAD],
    );
    await db.query(DROP, [KEPT]);
  });
}

function unsealed(secrets: Secrets, id: string, sealed: string): JWK {
  try {
    return JSON.parse(secrets.unseal(sealed, PURPOSE)) as JWK;
  } catch (cause) {
    throw new StartError(`Signing key ${id} does not open: ENCRYPTION_KEY is not the one it was sealed with.`, {
      cause,
    });
  }
}
