/** The diagnostics that `muster doctor` reads, in the OpenAPI document. */
import { z } from 'zod';
import { WORKER_ROLE_NAMES } from '../platform/config.ts';
import { operations } from './operation.ts';
import { IAM_OWNER_ONLY } from './roles.ts';
import { exampleSearch, searchAnswer } from './shapes.ts';

type Role = (typeof WORKER_ROLE_NAMES)[number];

const count = () => z.int().meta({ minimum: 0 });
const perQueue = z.object({ imports: count(), mails: count() });

const server = z.object({
  encoding: z.string(),
  overridden: z.array(z.string()).meta({
    description:
      'Session settings of the service that the options of `DATABASE_URL` or a pooler override, such as `jit=on`.',
  }),
  timeouts: z
    .object({ statement_timeout: count(), transaction_timeout: count(), idle_session_timeout: count() })
    .meta({ description: 'Timeouts set for the role, the database or the server, in milliseconds; 0: no timeout.' }),
  autovacuum: z.boolean(),
  sharedBuffersBytes: count(),
  maxWalBytes: count(),
  sharesSessions: z.boolean().meta({ description: 'Whether PostgreSQL is behind a pooler with transaction pooling.' }),
});

const postgres = z.object({
  version: z.string(),
  connections: z
    .object({ used: count(), max: count() })
    .meta({ description: '`max` excludes connections that are reserved for superusers.' }),
  settings: z.object({ fsync: z.boolean(), fullPageWrites: z.boolean(), synchronousCommit: z.string() }),
  databaseBytes: count(),
  migrations: z.object({ applied: count(), known: count() }),
  server,
});

const replica = z.object({
  answers: z.boolean(),
  isReplica: z.boolean().optional(),
  lagBytes: z
    .number()
    .optional()
    .meta({ description: 'The part of the log of the primary that it has not replayed yet.' }),
  lagSeconds: z.number().optional().meta({ description: 'Age of the last replayed transaction.' }),
});

const redis = z.object({
  version: z.string(),
  appendOnly: z.boolean(),
  maxmemoryPolicy: z.string(),
  maxmemory: count(),
  usedMemory: count(),
  failsToSave: z.boolean().meta({ description: 'The last write to its files failed.' }),
});

const queue = z.object({
  backend: z.enum(['redis', 'postgres']),
  answers: z.boolean(),
  jobs: perQueue.optional().meta({ description: 'Waiting and running jobs, by queue.' }),
  workers: perQueue.optional().meta({ description: 'Worker processes, by queue.' }),
  roles: z
    .object(Object.fromEntries(WORKER_ROLE_NAMES.map((role) => [role, count()])) as Record<Role, z.ZodInt>)
    .meta({ description: 'Worker processes by role, as they report themselves.' }),
  missingRights: z.array(z.string()).optional().meta({
    description: 'Rights that the user of `REDIS_URL` lacks: commands, and patterns of keys such as `~muster:*`.',
  }),
  dispatching: z.boolean().meta({ description: 'Whether a worker dispatches the users of imports.' }),
  redis: redis.optional().meta({ description: 'The first Redis server that answers.' }),
  redisNodes: z
    .array(z.object({ role: z.enum(['master', 'replica', 'sentinel']), answers: z.boolean(), facts: redis.optional() }))
    .optional()
    .meta({ description: 'All Redis servers, if there are several.' }),
});

const spf = z.object({
  state: z
    .enum(['FOUND', 'NONE', 'SEVERAL', 'TOO_MANY_LOOKUPS', 'BROKEN_INCLUDE', 'ALLOWS_ALL', 'UNKNOWN'])
    .meta({ description: '`BROKEN_INCLUDE`: `include` has no SPF record of its own. `UNKNOWN`: DNS did not answer.' }),
  record: z.string().optional(),
  lookups: count().optional().meta({ description: 'Terms that a receiver asks DNS for; at most 10 are allowed.' }),
  include: z.string().optional(),
});
const dkim = z.object({
  state: z
    .enum(['FOUND', 'NONE', 'SEVERAL', 'REVOKED', 'NO_SELECTOR', 'UNKNOWN'])
    .meta({ description: '`NO_SELECTOR`: `MAIL_DKIM_SELECTOR` is not set.' }),
  name: z.string().optional(),
});
const dmarc = z.object({
  state: z.enum(['FOUND', 'NONE', 'SEVERAL', 'INVALID', 'UNKNOWN']),
  name: z.string().optional().meta({ description: 'Where the record is, or would be.' }),
  policy: z.enum(['none', 'quarantine', 'reject']).optional(),
});
const sender = z.object({ domain: z.string(), spf, dkim, dmarc });

const mail = z.object({
  transport: z.enum(['smtp', 'files']),
  smtp: z.object({ answers: z.boolean(), reason: z.string().optional() }).optional(),
  sender: sender.optional().meta({
    description:
      'What DNS says about the domain of `MAIL_FROM`. Absent without a mail server, and for a name without a dot.',
  }),
  pending: count(),
  failedLastWeek: count(),
});

const limits = z.object({
  maxImportBytes: count(),
  maxImportTimeout: z.string(),
  backlog: count().meta({ description: 'Pending users of running and paused imports.' }),
  maxBacklog: count(),
  requestsPerSecond: count(),
  loginsPerMinute: count(),
});

const providers = z.object({
  providers: z.array(
    z.object({
      idpId: z.string(),
      name: z.string(),
      orgId: z.string().optional().meta({ description: 'Absent: a provider of the instance.' }),
      orgName: z.string().optional(),
      answers: z.boolean(),
      reason: z.string().optional(),
    }),
  ),
  notAsked: count()
    .optional()
    .meta({ description: 'Further ones: one request asks at most 100, for 8 seconds in all.' }),
  clashes: z
    .object({ accounts: count(), users: count() })
    .optional()
    .meta({
      description:
        'Accounts at providers that several users of an organization hold, so that they sign in none of them. Absent if ' +
        'there are too many links to look through in 5 seconds.',
    }),
});

/** Settings that name the first administrators. */
export const FIRST_START_SETTINGS = ['BOOTSTRAP_TOKEN', 'ADMIN_EMAIL'] as const;

const diagnostics = z
  .object({
    version: z.string(),
    node: z.string(),
    postgres,
    replica: replica.optional().meta({ description: 'Only with `DATABASE_REPLICA_URL`.' }),
    queue,
    mail,
    proxy: z.object({ address: z.string(), forwarded: count(), contradiction: z.string().optional() }).optional().meta({
      description:
        'How the service sees this request: the address by `TRUST_PROXY`, the number of forwarded addresses, and what does not fit the setting.',
    }),
    encryptionKey: z.object({ opensSigningKeys: z.boolean() }),
    limits: limits.meta({ description: '0: no limit.' }),
    identityProviders: providers
      .optional()
      .meta({ description: 'The enabled identity providers of the instance and of active organizations.' }),
    unusedSettings: z.array(z.enum(FIRST_START_SETTINGS)).optional().meta({
      description: 'Settings that only the first start uses and with which nobody is IAM_OWNER.',
    }),
  })
  .meta({ id: 'Diagnostics' });

const time = () => z.iso.datetime();

const worker = z
  .object({
    host: z.string(),
    pid: z.int(),
    version: z.string(),
    roles: z.array(z.enum(WORKER_ROLE_NAMES)),
    state: z.enum(['WORKER_STATE_RUNNING', 'WORKER_STATE_STOPPING']).meta({
      description: '`WORKER_STATE_STOPPING`: it finishes its jobs and takes no more.',
    }),
    queue: z.object({ backend: z.enum(['redis', 'postgres']), shards: count() }),
    jobs: perQueue.meta({ description: 'Jobs in progress in this process.' }),
    usersPerSecond: z.number().meta({ description: 'Users that it wrote, a second, in about the last two seconds.' }),
    failing: z.array(z.string()).meta({
      description:
        'The parts that fail, as `/readyz` of the worker names them; `clock`: it differs from the clock of PostgreSQL.',
    }),
    startedAt: time(),
    seenAt: time(),
  })
  .meta({ id: 'Worker' });

export type Diagnostics = z.output<typeof diagnostics>;
export type ProviderFacts = z.output<typeof providers>;
export type PostgresFacts = z.output<typeof postgres>;
export type ServerFacts = z.output<typeof server>;
export type TimeLimit = keyof ServerFacts['timeouts'];
export type QueueFacts = z.output<typeof queue>;
export type ReplicaFacts = z.output<typeof replica>;
export type MailFacts = z.output<typeof mail>;
export type SenderFacts = z.output<typeof sender>;
export type SpfFacts = z.output<typeof spf>;
export type DkimFacts = z.output<typeof dkim>;
export type DmarcFacts = z.output<typeof dmarc>;
export type ProxyFacts = NonNullable<Diagnostics['proxy']>;
export type FirstStartSetting = (typeof FIRST_START_SETTINGS)[number];
export type WorkerView = z.output<typeof worker>;

const example: z.input<typeof diagnostics> = {
  version: '1.0.0',
  node: '24.21.0',
  postgres: {
    version: '18.4',
    connections: { used: 41, max: 197 },
    settings: { fsync: true, fullPageWrites: true, synchronousCommit: 'on' },
    databaseBytes: 1_288_490_188,
    migrations: { applied: 12, known: 12 },
    server: {
      encoding: 'UTF8',
      overridden: [],
      timeouts: { statement_timeout: 0, transaction_timeout: 0, idle_session_timeout: 0 },
      autovacuum: true,
      sharedBuffersBytes: 1_073_741_824,
      maxWalBytes: 1_073_741_824,
      sharesSessions: false,
    },
  },
  queue: {
    backend: 'redis',
    answers: true,
    jobs: { imports: 0, mails: 0 },
    workers: { imports: 2, mails: 2 },
    roles: { import: 2, dispatch: 2, rescue: 2, maintenance: 1, mail: 2, webhooks: 2, convert: 2 },
    dispatching: true,
    redis: {
      version: 'Redis 7.2.4',
      appendOnly: true,
      maxmemoryPolicy: 'noeviction',
      maxmemory: 0,
      usedMemory: 2_097_152,
      failsToSave: false,
    },
  },
  mail: {
    transport: 'smtp',
    smtp: { answers: false, reason: 'ECONNREFUSED' },
    sender: {
      domain: 'acme.example',
      spf: { state: 'FOUND', record: 'v=spf1 include:mail.example -all', lookups: 1 },
      dkim: { state: 'FOUND', name: 's1._domainkey.acme.example' },
      dmarc: { state: 'NONE', name: '_dmarc.acme.example' },
    },
    pending: 3,
    failedLastWeek: 0,
  },
  proxy: { address: '203.0.113.7', forwarded: 1 },
  encryptionKey: { opensSigningKeys: true },
  limits: {
    maxImportBytes: 2_147_483_648,
    maxImportTimeout: '24h',
    backlog: 0,
    maxBacklog: 20_000_000,
    requestsPerSecond: 1000,
    loginsPerMinute: 600,
  },
  unusedSettings: [],
};

const exampleWorker: z.input<typeof worker> = {
  host: 'worker-1',
  pid: 4711,
  version: '0.1.0',
  roles: ['import', 'dispatch', 'rescue'],
  state: 'WORKER_STATE_RUNNING',
  queue: { backend: 'redis', shards: 2 },
  jobs: { imports: 387, mails: 0 },
  usersPerSecond: 3120.5,
  failing: [],
  startedAt: '2026-11-23T09:12:44.031Z',
  seenAt: '2026-11-23T10:02:01.512Z',
};

export const diagnosticsOperations = operations({
  getDiagnostics: {
    path: 'GET /admin/v1/diagnostics',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Get diagnostics of the service and its stores',
    description:
      '`muster doctor` evaluates this report. For it, the service also connects and logs in to the mail server, and asks DNS for the records of the sender. ' +
      'Values that cannot be read within a few seconds are omitted.',
    answers: { 200: { schema: diagnostics, example } },
  },
  listWorkers: {
    path: 'GET /admin/v1/workers',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'List the live worker processes',
    description:
      'Each worker reports itself every two seconds; one that has not for ten seconds is not listed. At most 1,000.',
    answers: { 200: { schema: searchAnswer(worker), example: exampleSearch(exampleWorker) } },
  },
});
