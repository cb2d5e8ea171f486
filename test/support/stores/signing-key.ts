/** A signing key for the databases of tests: to generate one takes longer than to start a service. */
import type pg from 'pg';
import { SIGNING_KEY_SEAL } from '../../../src/identity/oauth/signing-keys.ts';
import type { Secrets } from '../../../src/secrets.ts';
import signingKey from './signing-key.json' with { type: 'json' };

/** Stores it as the current key of a new database. */
export async function addSigningKey(pool: pg.Pool, secrets: Secrets): Promise<void> {
  const sealed = secrets.seal(JSON.stringify(signingKey), SIGNING_KEY_SEAL);
  await pool.query('insert into signing_keys (id, sealed_jwk, signs_from) values ($1, $2, now())', ['test', sealed]);
}
