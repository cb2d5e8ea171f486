/** A process that runs an API or a worker, and another one after that has stopped; controlled over IPC (hosts.ts). */
import type { Logger } from 'pino';
import { readConfig } from '../../../src/platform/config.ts';
import { type Running, requireStores, type StoresConfig } from '../../../src/platform/lifecycle.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import type { Order } from './hosts.ts';

/** Their own hashes cost little: entry files are started where the time of a hash matters. */
const BCRYPT_COST = 4;

type Start = (config: StoresConfig, logger: Logger, stopping: AbortSignal) => Promise<Running>;

/** Each loads its code when first used. */
const STARTS: Record<string, () => Promise<Start>> = {
  api: async () => (await import('../../../src/start/serve.ts')).startApi,
  worker: async () => (await import('../../../workers/start.ts')).startWorker,
};

let running: Running | undefined;
let stopping: AbortController | undefined;

async function run(name: string, env: Record<string, string>): Promise<void> {
  const start = await (STARTS[name] as () => Promise<Start>)();
  const config = { ...requireStores(readConfig(env)), bcryptCost: BCRYPT_COST };
  stopping = new AbortController();
  running = await start(config, openLogger({ level: config.LOG_LEVEL, name }), stopping.signal);
  process.send?.({ ready: true, ...running.ready });
}

async function stop(): Promise<void> {
  stopping?.abort();
  await running?.stop();
  process.send?.({ stopped: true });
}

process.on('message', ({ run: name, env = {} }: Order) => {
  // A failure ends the process, as with the entry files.
  void (name ? run(name, env) : stop());
});
process.on('disconnect', () => process.exit(0));
