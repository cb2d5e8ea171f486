/** What the screens of the console are built from. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import type { Channel } from './api.ts';
import type { ConsoleUrl, Show } from './shell/show.ts';

export interface ConsoleDeps {
  pool: Db;
  config: Config;
  secrets: Secrets;
  /** The authorization server, for requests that stay in this process. */
  oauth: { handle(req: IncomingMessage, res: ServerResponse): Promise<void> };
  /** Calls the API of this process; see `api.ts`. */
  api: Channel;
  logger: Logger;
}

/** What the routes of a screen get. */
export interface ScreenDeps extends ConsoleDeps {
  consoleUrl: ConsoleUrl;
  show: Show;
}
