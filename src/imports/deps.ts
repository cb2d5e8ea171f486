/** What the parts of an import depend on: database, settings, encryption, queues. */
import type { Config } from '../config.ts';
import type { Pool } from '../db/pool.ts';
import type { Queues } from '../queue/queues.ts';
import type { Secrets } from '../secrets.ts';

export interface ImportDeps {
  pool: Pool;
  config: Config;
  secrets: Secrets;
  queues: Queues;
}
