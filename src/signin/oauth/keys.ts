/**
 * The keys that sign ID tokens and JWT access tokens: RS256, encrypted in the database, shared by all processes.
 *
 * Guarantees: a key is published for PUBLISHED_AHEAD before it signs, so that clients that cache the published set know
 * it in time, and for KEPT after the next one takes over, so that its signatures can be verified until they expire. Any
 * number of processes may start or rotate at once.
 *
 * On crash: if a key was not stored, the next process that checks creates it.
 */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { SigningKeys } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { StartError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';

/** "KEYS" as bytes. */
const LOCK = 0x4b455953;
/** Longer than resource servers usually cache a key set, and longer than our own processes take to see a new key. */
type PublishedKey = Named<SigningKeys, { id: 'id'; sealed: 'sealed_jwk' }>;

const PUBLISHED_AHEAD = '6 hours';
/** An ID token may be sent at logout for as long as the browser session lasts (`tokens.ts`). */
const KEPT = '15 days';
/** The purpose that private keys are encrypted for. */
export const SIGNING_KEY_PURPOSE = 'signing-key';
/** A key as strong as 128 bits (NIST SP 800-57 part 1); RFC 7518 section 3.3 asks for 2048 or more. */
const MODULUS_BITS = 3072;

const generate = promisify(generateKeyPair);

export interface SigningKeyDeps {
  pool: Pool;
  secrets: Secrets;
  config: { SIGNING_KEY_ROTATE_DAYS: number };
}

/** Private JWKs whose public halves are published; the first one signs. */
export interface KeySet {
  keys: JWK[];
  /** Changes with the set and with the key that signs. */
  version: string;
}

/**
 * The current keys; first creates the first or next one if it is due.
 * @throws StartError when they were encrypted with another ENCRYPTION_KEY
 */
export async function currentKeys(deps: SigningKeyDeps): Promise<KeySet> {
  if (await isKeyDue(deps.pool, deps.config)) await addKey(deps);
  const { rows } = await deps.pool.query<PublishedKey>(PUBLISHED, [KEPT]);
  const version = rows.map((row) => row.id).join(' ');
  return { keys: rows.map(({ id, sealed }) => unsealed(deps.secrets, id, sealed)), version };
}

/** Whether ENCRYPTION_KEY is the one that the keys in the database were encrypted with. */
export async function canOpenKeys({ pool, secrets }: Omit<SigningKeyDeps, 'config'>): Promise<boolean> {
  const { rows } = await pool.query<PublishedKey>(PUBLISHED, [KEPT]);
  try {
    for (const { id, sealed } of rows) unsealed(secrets, id, sealed);
    return true;
  } catch (error) {
    if (error instanceof StartError) return false;
    throw error;
  }
}

/** First the keys whose signing time has begun, newest first, then the future ones. */
const PUBLISHED = `select id, sealed_jwk as sealed from (
    select *, lead(signs_from) over (order by signs_from, id) as replaced_at from signing_keys) k
  where replaced_at is null or replaced_at > now() - $1::interval
  order by signs_from <= now() desc, case when signs_from <= now() then signs_from end desc, signs_from, id`;

/** Removes keys whose signatures have all expired. */
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
      [id, secrets.seal(JSON.stringify(jwk), SIGNING_KEY_PURPOSE), config.SIGNING_KEY_ROTATE_DAYS, PUBLISHED_AHEAD],
    );
    await db.query(DROP, [KEPT]);
  });
}

function unsealed(secrets: Secrets, id: string, sealed: string): JWK {
  try {
    return JSON.parse(secrets.unseal(sealed, SIGNING_KEY_PURPOSE)) as JWK;
  } catch (cause) {
    throw new StartError(
      `Signing key ${id} cannot be decrypted: neither ENCRYPTION_KEY nor DECRYPTION_KEYS has the key it was encrypted with.`,
      {
        cause,
      },
    );
  }
}
