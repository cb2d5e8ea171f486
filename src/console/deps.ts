import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import type { LiveProvider } from '../signin/oauth/provider.ts';
import type { Channel } from './api.ts';
import type { At, Show } from './shell/show.ts';
/** What the screens of the console are built from. */

export interface ConsoleDeps {
  pool: Db;
  config: Config;
  secrets: Secrets;
  oauth: LiveProvider;
  /** Calls the API of this process; see `api.ts`. */
  api: Channel;
  logger: Logger;
}

/** What the routes of a screen get. */
export interface ScreenDeps extends ConsoleDeps {
  at: At;
  show: Show;
}
