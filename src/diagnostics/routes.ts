/**
 * `GET /admin/v1/diagnostics`: the facts that an operator checks first, for `muster doctor`. This file reports them;
 * `muster doctor` evaluates them. `GET /admin/v1/workers`: the live worker processes, with host name and process id.
 *
 * Guarantee: the response contains no secret, no address of a store or mail server, and no user data. A Redis or mail
 * server that is down is reported as such, and delays the response for a few seconds at most.
 */
import { Router } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import { callerOf, requirePermission } from '../access/caller.ts';
import type { Config } from '../config.ts';
import type { Pool } from '../db/pool.ts';
import type { Reads } from '../db/reads.ts';
import { searchResult } from '../http/paging.ts';
import { canOpenKeys } from '../identity/oauth/signing-keys.ts';
import { backlog } from '../imports/intake/backlog.ts';
import type { Queues } from '../queue/queues.ts';
import { type LiveWorker, listWorkers } from '../queue/worker-list.ts';
import type { Secrets } from '../secrets.ts';
import { mailFacts } from './mail.ts';
import { postgresFacts } from './postgres.ts';
import { queueFacts } from './queue.ts';
import { replicaFacts } from './replica.ts';

export interface DiagnosticsDeps {
  pool: Pool;
  config: Config;
  secrets: Secrets;
  queues: Queues;
  reads: Reads;
}

export function diagnosticsRoutes(deps: DiagnosticsDeps): Router {
  return Router()
    .get('/admin/v1/diagnostics', async (_req, res) => {
      requirePermission(callerOf(res), 'getDiagnostics');
      res.json(await diagnostics(deps));
    })
    .get('/admin/v1/workers', async (_req, res) => {
      requirePermission(callerOf(res), 'listWorkers');
      const workers = await listWorkers(deps.pool);
      res.json(searchResult(workers.length, workers.map(workerView)));
    });
}

export type WorkerView = ReturnType<typeof workerView>;

function workerView({ isStopping, backend, shards, importJobs, mailJobs, usersPerSecond, ...worker }: LiveWorker) {
  return {
    ...worker,
    state: isStopping ? 'WORKER_STATE_STOPPING' : 'WORKER_STATE_RUNNING',
    queue: { backend, shards },
    jobs: { imports: importJobs, mails: mailJobs },
    usersPerSecond: Math.round(usersPerSecond * 10) / 10,
    startedAt: worker.startedAt.toISOString(),
    seenAt: worker.seenAt.toISOString(),
  };
}

export type Diagnostics = Awaited<ReturnType<typeof diagnostics>>;

async function diagnostics(deps: DiagnosticsDeps) {
  const { pool, config, secrets, reads } = deps;
  const [postgres, queue, mail, opensKeys, waiting, replica] = await Promise.all([
    postgresFacts(pool),
    queueFacts(deps),
    mailFacts(pool, config.SMTP_URL),
    canOpenKeys({ pool, secrets }),
    backlog(pool),
    reads.replica && replicaFacts(pool, reads.replica),
  ]);
  return {
    version: packageJson.version,
    node: process.versions.node,
    postgres,
    ...(replica ? { replica } : {}),
    queue,
    mail,
    encryptionKey: { opensSigningKeys: opensKeys },
    limits: limitsOf(config, waiting),
  };
}

function limitsOf(config: Config, waiting: number) {
  return {
    maxImportBytes: config.MAX_IMPORT_BYTES,
    maxImportTimeout: config.MAX_IMPORT_TIMEOUT,
    backlog: waiting,
    maxBacklog: config.MAX_BACKLOG,
    requestsPerSecond: config.RATE_LIMIT_REQUESTS,
    loginsPerMinute: config.RATE_LIMIT_LOGINS,
  };
}
