/**
 * `npm run migrate`: brings the database to the schema of this version, sets up the instance if there is none, and
 * ends. The API does the same at its start; run alone before an upgrade, it fails while the old processes still serve.
 *
 * Guarantee: status 0 only if the database is ready for this version. On crash: nothing is half-done; run it again.
 */
import { runEntry } from '../platform/lifecycle.ts';
import { prepareInstance } from './database.ts';

runEntry('migration', async (config, logger) => {
  await prepareInstance(config, logger);
  logger.info('the database is ready for this version');
  process.exit(0);
});
