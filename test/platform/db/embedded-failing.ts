/** A process whose embedded database does not start, and which does nothing else. */
import { startEmbeddedPostgres } from '../../../src/platform/db/embedded/embedded.ts';

const settings = { fsync: 'off', no_such_setting: '1' };
await startEmbeddedPostgres({ dataDir: process.argv[2] as string, settings }).catch((error: Error) => {
  process.send?.(error.message);
});
process.disconnect?.();
