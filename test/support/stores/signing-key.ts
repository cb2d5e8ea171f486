/** A signing key for the databases of tests: to generate one takes longer than to start a service. */
import type pg from 'pg';
import type { Secrets } from '../../../src/platform/encryption.ts';
import { SIGNING_KEY_PURPOSE } from '../../../src/signin/oauth/keys.ts';
import signingKey from './signing-key.json' with { type: 'json' };

/** Stores it as the current key of a new database. */
export async function addSigningKey(pool: pg.Pool, secrets: Secrets): Promise<void> {
  const sealed = secrets.seal(JSON.stringify(signingKey), SIGNING_KEY_PURPOSE);
  await pool.query('insert into signing_keys (id, sealed_jwk, signs_from) values ($1, $2, now())', ['test', sealed]);
}
