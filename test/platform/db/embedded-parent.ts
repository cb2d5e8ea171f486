/** A process that starts the embedded database of a folder and then stays idle, for tests that kill it. */
import { startEmbeddedPostgres } from '../../../src/platform/db/embedded/embedded.ts';

process.on('SIGINT', () => process.send?.('got SIGINT'));
const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2] as string });
process.send?.({ url: postgres.url, pid: postgres.pid });
setInterval(() => {}, 60_000);
