/**
 * Every setting there is, read from the environment in this file and nowhere else.
 *
 * Guarantee: a bad environment ends the process with *all* of its problems named, before anything starts.
 */
import { z } from 'zod';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const flag = z.enum(['true', 'false', '1', '0']).transform((v) => v === 'true' || v === '1');
const int = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

export const WORKER_ROLE_NAMES = ['import', 'dispatch', 'rescue', 'maintenance', 'mail', 'webhooks'] as const;
export type WorkerRole = (typeof WORKER_ROLE_NAMES)[number];

const roles = z
  .string()
  .transform((v) => v.split(',').map((r) => r.trim()))
  .pipe(z.array(z.enum(WORKER_ROLE_NAMES)).min(1));

const schema = z.object({
  /** Listening address of the API. */
  HOST: z.string().default('127.0.0.1'),
  PORT: int(0, 65535).default(8080),
  /** Public address, no trailing slash; links in mails start with it. Default: http://HOST:PORT. */
  BASE_URL: z
    .url({ protocol: /^https?$/ })
    .refine((v) => !/[?#]/.test(v), 'must have neither a query nor a fragment')
    .transform((v) => v.replace(/\/+$/, ''))
    .optional(),
  /** Express "trust proxy": how many proxies stand in front. */
  TRUST_PROXY: int(0, 10).default(0),
  /** Port of a worker's own /healthz; 0 or absent: none. */
  HEALTH_PORT: int(0, 65535).default(0),

  /** Folder of the embedded database, its key and the local mailbox. */
  DATA_DIR: z.string().min(1).default('.muster'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres://')
    .optional(),
  /** How long a statement may take, in milliseconds, before it is given up and tried again or answered 503. */
  DATABASE_TIMEOUT_MS: int(1000, HOUR).default(30_000),
  REDIS_URL: z
    .string()
    .regex(/^(rediss?:\/\/|unix:\/\/|\/)/, 'must start with redis://')
    .optional(),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must start with smtp://')
    .optional(),
  /** Key prefix of BullMQ, for several services on one Redis. */
  QUEUE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/)
    .default('muster'),

  /** Whether calls of BullMQ are sent in batches; `off` sends each as BullMQ does, which is slower. */
  QUEUE_BATCHING: z.enum(['on', 'off'], 'must be on or off').default('on'),

  BOOTSTRAP_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{32,200}$/, 'must be 32 to 200 printable characters without spaces')
    .optional(),
  ENCRYPTION_KEY: z
    .string()
    .refine((v) => Buffer.from(v, 'base64').length === 32, 'must be 32 bytes, base64')
    .optional(),
  ADMIN_EMAIL: z.string().optional(),
  ADMIN_PASSWORD: z.string().min(1).max(200).optional(),

  /** Sender of every mail. */
  MAIL_FROM: z.string().default('Muster <no-reply@localhost>'),
  /** Mails per second over all workers; 0: no limit. */
  MAIL_RATE: int(0, 100_000).default(0),
  /** The same for the mails of one import, which also take turns with those of others. */
  MAIL_RATE_PER_IMPORT: int(0, 100_000).default(0),
  /** Gateway of text messages: gets `POST {to, text}`. Absent: they are files beside the mails. */
  SMS_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** How long a code in a mail is good for. */
  CODE_TTL_MS: int(1, 30 * 24 * HOUR).default(72 * HOUR),
  /** The same for codes that set a new password, mailed or returned, and for codes in text messages. */
  RESET_CODE_TTL_MS: int(1, 24 * HOUR).default(HOUR),
  PHONE_CODE_TTL_MS: int(1, 24 * HOUR).default(10 * MINUTE),

  /** 2 GiB: the largest body of an import, after inflating. */
  MAX_IMPORT_BYTES: int(1024, 64 * 2 ** 30).default(2 * 2 ** 30),
  MAX_IMPORT_TIMEOUT: z
    .string()
    .regex(/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/, 'must be a duration such as 24h')
    .default('24h'),
  /** Users still to be written, over all imports, above which no further import is taken; 0: no limit. */
  MAX_BACKLOG: int(0, 2 ** 31 - 1).default(20_000_000),
  /** How long after an import's end the data of users who were not written is kept, for retry, resume and report. */
  IMPORT_PAYLOAD_TTL: z
    .string()
    .regex(/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/, 'must be a duration such as 720h')
    .default('720h'),
  /** How long a single import may take before it answers 504. */
  SINGLE_IMPORT_TIMEOUT_MS: int(50, 10 * MINUTE).default(30_000),

  /** Whether webhooks may go to private addresses and over plain http. */
  WEBHOOK_ALLOW_PRIVATE: flag.default(false),

  /** Processes of `npm start` that work the queue off. */
  WORKERS: int(0, 64).default(1),
  WORKER_ROLES: roles.default([...WORKER_ROLE_NAMES]),
  /** Jobs in progress in one worker process; a batch cannot be larger. */
  WORKER_CONCURRENCY: int(1, 5000).default(400),
  /** Jobs kept in the queue per import. */
  DISPATCH_WINDOW: int(1, 100_000).default(4000),
  /** An import that has not moved for this long is dispatched anew. */
  RESCUE_AFTER_MS: int(100, HOUR).default(30_000),
  /** An upload that has not moved for this long is taken for abandoned and removed. */
  ABANDONED_AFTER_MS: int(1000, 24 * HOUR).default(5 * MINUTE),
  /** How long BullMQ waits before it takes a job from a worker that went silent. */
  JOB_LOCK_MS: int(500, 10 * MINUTE).default(20_000),
  /** Threads that hash and verify passwords, per process. */
  HASH_THREADS: int(1, 64).default(2),

  /** Failed logins in a row that lock a user; 0: never. */
  LOCK_AFTER_FAILURES: int(0, 10_000).default(10),
  /** Delay of the answer to the fourth failed login in a row; it doubles with each, up to 2 seconds. 0: none. */
  LOGIN_DELAY_MS: int(0, 2000).default(100),
  /** Requests a second from one address, to each API process; 0: no limit. */
  RATE_LIMIT_REQUESTS: int(0, 1_000_000).default(1000),
  /** Calls a minute from one address that try a password or a code, to each API process; 0: no limit. */
  RATE_LIMIT_LOGINS: int(0, 1_000_000).default(600),

  /** Days that a key signs tokens before the next one does. */
  SIGNING_KEY_ROTATE_DAYS: int(1, 3650).default(90),

  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** Milliseconds that a stopping process may take to finish what it holds. */
  STOP_AFTER_MS: int(100, 10 * MINUTE).default(15_000),
  /** Pretty first-start hints are for people; `npm run demo` turns them off. */
  QUIET: flag.default(false),
});

export type Config = z.output<typeof schema> & { baseUrl: string };

/** All problems of the environment in one message, one a line. */
export class ConfigError extends Error {}

/**
 * Reads and checks the environment.
 * @throws ConfigError naming every bad variable
 */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, v]) => v !== undefined && v !== ''));
  const parsed = schema.safeParse(present);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((i) => `  ${i.path.join('.')}: ${i.message}`);
    throw new ConfigError(`The configuration has ${lines.length} problem(s):\n${lines.join('\n')}`);
  }
  const c = parsed.data;
  const host = c.HOST.includes(':') ? `[${c.HOST}]` : c.HOST === '0.0.0.0' ? 'localhost' : c.HOST;
  return { ...c, baseUrl: c.BASE_URL ?? `http://${host}:${c.PORT}` };
}

/** glibc gives each thread memory of its own, which a few threads of V8 let grow by some 20 MB; we have no use for it. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1' };

/** The environment to hand to a child process, with changes. */
export function childEnv(changes: Record<string, string | undefined>): Record<string, string | undefined> {
  return { ...ALLOCATOR, ...process.env, ...changes };
}
