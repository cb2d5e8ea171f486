import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Pool } from '../../db/pool.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { Secrets } from '../../secrets.ts';
import type { Clock } from './clock.ts';

/** The dependencies of a login check. */
export interface LoginDeps {
  pool: Pool;
  hasher: Hasher;
  secrets: Secrets;
  config: Pick<Config, 'LOGIN_DELAY_MS' | 'LOCK_AFTER_FAILURES' | 'TOTP_WINDOW' | 'PASSWORD_SOURCE_ALLOW_PRIVATE'>;
  logger: Logger;
  /** Default: the real one. */
  clock?: Clock;
}
