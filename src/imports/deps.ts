/** What the parts of an import depend on: database, settings, encryption, queues. */
import type { Config } from '../config.ts';
import type { Pool } from '../db/pool.ts';
import type { Queues } from '../queue/queues.ts';
import type { Secrets } from '../secrets.ts';

export interface ImportDeps {
  pool: Pool;
  /** For COPY: uploads, which may be slow, leave the connections of `pool` to all other requests. Default: `pool`. */
  uploadPool?: Pool;
  config: Config;
  secrets: Secrets;
  queues: Queues;
}
