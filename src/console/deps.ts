/** What the screens of the console are built from. */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Db } from '../db/pool.ts';
import type { LiveProvider } from '../identity/oauth/provider.ts';
import type { Secrets } from '../secrets.ts';
import type { Channel } from './channel.ts';
import type { At } from './page/at.ts';
import type { Show } from './page/show.ts';

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
