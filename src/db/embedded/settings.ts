/**
 * The settings of the embedded PostgreSQL: the database of an import service, on a small machine shared with its
 * workers. The comment on each setting says why it differs from PostgreSQL's default.
 */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_permissions: '0700',
  // Several worker and API processes with a pool each, and room for a psql session.
  max_connections: '200',
  // Lists and reports sort a few thousand rows; building an index after an upgrade sorts all rows.
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  // Nothing replicates from this server, so the write-ahead log need not contain what only a replica reads.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  // After a checkpoint, the first change of a page logs the whole page (8 kB per row with random keys), so checkpoints
  // are rare.
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  wal_buffers: '16MB',
  // "Accepted" means durable; the batch writer commits hundreds of users at once, so waiting for the disk is cheap.
  synchronous_commit: 'on',
  // Solid-state disks: a random read costs about what a sequential one does.
  random_page_cost: '1.1',
  // Compiling or parallelizing statements of a few milliseconds takes longer than running them.
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  // All rows of the queue's tables are replaced every few seconds.
  autovacuum_naptime: '20s',
  // Neither the machine's locale nor its time zone affects results.
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  // Details and statements of errors contain personal data; they stay out of the log.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

const MB = 2 ** 20;
const [LEAST_BUFFERS, MOST_BUFFERS] = [128, 4096];

/**
 * The settings for a machine or container with `memory` bytes. Tables and indexes of a running import should stay in
 * shared buffers: a page that is evicted dirty is checksummed, written and read again many times. PostgreSQL's
 * documentation recommends a quarter of the memory; buffers that are not needed are never touched.
 */
export function settingsFor(memory: number): Record<string, string> {
  const buffers = Math.min(MOST_BUFFERS, Math.max(LEAST_BUFFERS, Math.floor(memory / MB / 4)));
  return { ...SETTINGS, shared_buffers: `${buffers}MB`, effective_cache_size: `${2 * buffers}MB` };
}

/** Settings as command-line arguments of `postgres`. */
export function asArguments(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
