/**
 * The most connections to PostgreSQL that the pools of a process open. `muster doctor` compares their sum with
 * `max_connections`. Without imports, as the command line loads it.
 */
export const POOL_SIZES = {
  /** The API: requests. */
  api: 12,
  /** The API: uploads. More of them share these connections: an upload holds one only while its users arrive fast. */
  upload: 8,
  /** The API: the one connection that listens for progress of imports (src/imports/status/watch.ts). */
  signal: 1,
  /** A worker: all duties but writing users. */
  worker: 10,
  /** A worker: batches of users. */
  writer: 8,
  /** What adds the jobs of a queue to PostgreSQL, in every process. */
  producer: 3,
  /** What takes the jobs of a queue from PostgreSQL, in a worker. */
  consumer: 9,
  /** `producer` of the queue `hashes`, which is slow. */
  hashProducer: 1,
  /** `consumer` of the queue `hashes`. */
  hashConsumer: 3,
};

/** The queues `imports` and `mails`. */
const QUEUES = 2;

/** The most connections that all pools of a process open together. @param backend where the queue is */
export function connectionsOf(process: 'api' | 'worker', backend: 'redis' | 'postgres'): number {
  const { api, upload, signal, worker, writer, producer, consumer, hashProducer, hashConsumer } = POOL_SIZES;
  const own = process === 'api' ? api + upload + signal : worker + writer;
  if (backend === 'redis') return own;
  const adding = QUEUES * producer + hashProducer;
  return own + adding + (process === 'api' ? 0 : QUEUES * consumer + hashConsumer);
}
