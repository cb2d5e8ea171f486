/**
 * All settings. Only this file reads them from the environment.
 *
 * Guarantee: an invalid environment ends the process before anything starts, with a message that names *every* problem.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import { parseRedisUrls } from './redis-urls.ts';
import { isPasskeyOrigin, rpIdProblem } from './relying-party.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The most shards of a queue, and the most URLs. */
export const MOST_SHARDS = 32;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const CLI_LOGINS = ['all', 'browser', 'off'] as const;

/** The samplers of OpenTelemetry's specification. */
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;
const SAMPLER_NAMES = [...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}` as const)];

export const WORKER_ROLE_NAMES = [
  'import',
  'dispatch',
  'rescue',
  'maintenance',
  'mail',
  'webhooks',
  'convert',
] as const;

const RATIO = 'must be a number from 0 to 1';
/** An address, alone or in angle brackets after a name. */
const SENDER = /^(?:[^<>]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)\s*$/;
/** An IPv4 address, or an IPv6 address (in brackets before a port), with a port or without. */
const DNS_SERVER = /^(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|[0-9a-f:]*:[0-9a-f:]*|\[[0-9a-f:]+\](?::\d{1,5})?)$/i;
const SENDER_FORM = 'must be an address, such as Example <no-reply@example.com>';
const ORIGINS = 'must be origins such as https://login.example.com, separated by commas';
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;

const flag = z
  .enum(['true', 'false', '1', '0'], 'must be true, false, 1 or 0')
  .transform((v) => v === 'true' || v === '1');

const ratio = z.coerce.number(RATIO).min(0, RATIO).max(1, RATIO);

const roles = z
  .string()
  .transform(listed)
  .pipe(z.array(z.enum(WORKER_ROLE_NAMES, `must be a list of ${WORKER_ROLE_NAMES.join(', ')}`)).min(1));

const schema = z.object({
  /** Address that the API listens on. */
  HOST: z.string().default('127.0.0.1'),
  PORT: int(0, 65535).default(8080),
  /** Public URL without a trailing slash; links in mails start with it. Default: http://HOST:PORT. */
  BASE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((v) => !/[?#]/.test(v), 'must have neither a query nor a fragment')
    .transform((v) => v.replace(/\/+$/, ''))
    .optional(),
  /** The RP id of passkeys: the host of BASE_URL, the default, or a parent domain. A change makes all passkeys useless. */
  WEBAUTHN_RP_ID: z.string().toLowerCase().optional(),
  /** Further origins, separated by commas, whose pages may use the passkeys. */
  WEBAUTHN_ORIGINS: z
    .string()
    .transform(listed)
    .pipe(z.array(z.string().refine(isPasskeyOrigin, ORIGINS)))
    .default([]),
  /** Express "trust proxy": the networks of the proxies in front of the API, or their number. */
  TRUST_PROXY: z.string().transform(trustedProxies).default(0),
  /** Port of /healthz and /readyz in a worker; 0 or absent: none. */
  HEALTH_PORT: int(0, 65535).default(0),

  /** Bearer token of /metrics, in API and workers; absent: none is needed. */
  METRICS_TOKEN: token().optional(),
  /** Port of /metrics of the API, which is then not on PORT; 0 or absent: it is on PORT. */
  METRICS_PORT: int(0, 65535).default(0),

  /** Folder for the embedded database, its encryption key and the local mailbox. */
  DATA_DIR: z.string().min(1).default('.muster'),
  DATABASE_URL: postgresUrl().optional(),
  /**
   * The database of DATABASE_URL without the pooler that DATABASE_URL leads to, which may then give each transaction
   * another session.
   */
  DATABASE_DIRECT_URL: postgresUrl().optional(),
  /** Replica of that database, or several behind one address: imports and users are read from it. */
  DATABASE_REPLICA_URL: postgresUrl().optional(),
  /** Time limit of a statement, in milliseconds. After it, the statement is retried or the request is answered 503. */
  DATABASE_TIMEOUT_MS: int(1000, HOUR).default(30_000),
  REDIS_URL: z.string().superRefine(refineRedisUrl).optional(),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must start with smtp:// or smtps://')
    .optional(),
  /** Key prefix of BullMQ; set it if several services share one Redis. */
  QUEUE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/, 'must be 1 to 40 letters, digits, hyphens or underscores')
    .default('muster'),

  /** BullMQ queues over which the jobs of imports are spread; absent: one for each URL in REDIS_URL. */
  QUEUE_SHARDS: int(1, MOST_SHARDS).optional(),

  /** Whether calls of BullMQ are sent in batches; `off` sends each as BullMQ does, which is slower. */
  QUEUE_BATCHING: z.enum(['on', 'off'], 'must be on or off').default('on'),

  /** Whether a process runs the code of an import before it is ready, so that the first import is not slower. */
  WARM_UP: flag.default(true),

  BOOTSTRAP_TOKEN: token().optional(),
  ENCRYPTION_KEY: z.string().refine(isKey, 'must be 32 bytes in base64').optional(),
  /**
   * Further keys, which only decrypt: the next one before it is used, and the previous one until `muster keys rotate`.
   */
  DECRYPTION_KEYS: z
    .string()
    .transform(listed)
    .pipe(z.array(z.string().refine(isKey, 'must be keys of 32 bytes in base64, separated by commas')))
    .default([]),
  ADMIN_EMAIL: z.string().optional(),
  ADMIN_PASSWORD: z.string().optional(),

  /** Sender of every mail. */
  MAIL_FROM: z.string().regex(SENDER, SENDER_FORM).default('Muster <no-reply@localhost>'),
  /** Selector of the DKIM key that the mail server signs with; `muster doctor` checks its record. Absent: not checked. */
  MAIL_DKIM_SELECTOR: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i, 'must be a selector such as s1')
    .max(100)
    .optional(),
  /** DNS servers that are asked for the records of the sender, `address` or `address:port`; absent: those of the machine. */
  MAIL_DNS_SERVERS: z
    .string()
    .transform((list) => list.split(/[\s,]+/).filter((server) => server !== ''))
    .pipe(z.array(z.string().regex(DNS_SERVER, 'must be IP addresses, such as 192.0.2.53 or [2001:db8::53]:53')).min(1))
    .optional(),
  /** Mails per second over all workers; 0: no limit. */
  MAIL_RATE: int(0, 100_000).default(0),
  /** Mails per second of one import; 0: no limit. Imports take turns at sending mails. */
  MAIL_RATE_PER_IMPORT: int(0, 100_000).default(0),
  /** Gateway for text messages, called with `POST {to, text}`. Absent: messages are files in the local mailbox. */
  SMS_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  /** Text messages to users of one organization in a day of UTC, unless it has a limit of its own; 0: any number. */
  SMS_PER_DAY: int(0, 1_000_000_000).default(1000),
  /** How long a code in a mail is valid. */
  CODE_TTL_MS: int(1, 30 * 24 * HOUR).default(72 * HOUR),
  /** How long a password reset code is valid, mailed or returned. */
  RESET_CODE_TTL_MS: int(1, 24 * HOUR).default(HOUR),
  /** How long a code in a text message is valid. */
  PHONE_CODE_TTL_MS: int(1, 24 * HOUR).default(10 * MINUTE),

  /** Largest body of an import after decompression, in bytes. Default: 2 GiB. */
  MAX_IMPORT_BYTES: int(1024, 64 * 2 ** 30).default(2 * 2 ** 30),
  /** Longest time limit that an import may ask for. */
  MAX_IMPORT_TIMEOUT: duration('24h').default('24h'),
  /** Pending users of all imports above which no further import is accepted; 0: no limit. */
  MAX_BACKLOG: int(0, 2 ** 31 - 1).default(20_000_000),
  /** Bulk imports of one organization's callers that may be running or paused at the same time; 0: no limit. */
  MAX_RUNNING_IMPORTS: int(0, 1_000_000).default(200),
  /** How long after an import's end the data of unwritten users is kept, for retry, resume and report. */
  IMPORT_PAYLOAD_TTL: duration('720h').default('720h'),
  /** How long after its end an import is kept: its status, users by id, report and undo. */
  IMPORT_TTL: duration('8760h').default('8760h'),
  /** How long after its creation the draft of an import is kept: its files and entries, until it starts. */
  DRAFT_TTL: duration('24h').default('24h'),
  /** Time limit of the import of one user, in milliseconds; after it, the answer is 504. */
  SINGLE_IMPORT_TIMEOUT_MS: int(50, 10 * MINUTE).default(30_000),

  /** Whether webhooks may use private addresses and plain HTTP. */
  WEBHOOK_ALLOW_PRIVATE: flag.default(false),

  /** Whether password sources may use private addresses and plain HTTP. */
  PASSWORD_SOURCE_ALLOW_PRIVATE: flag.default(false),

  /** Whether identity providers may use private addresses and plain HTTP. */
  IDP_ALLOW_PRIVATE: flag.default(false),

  /** Worker processes started by `npm start`. */
  WORKERS: int(0, 64).default(1),
  WORKER_ROLES: roles.default([...WORKER_ROLE_NAMES]),
  /** Jobs in progress in one worker process; also the largest size of a batch. */
  WORKER_CONCURRENCY: int(1, 5000).default(600),
  /** Jobs kept in the queue per import. */
  DISPATCH_WINDOW: int(1, 100_000).default(4000),
  /** An import without progress for this long is dispatched again. */
  RESCUE_AFTER_MS: int(100, HOUR).default(30_000),
  /** An upload without progress for this long counts as abandoned and is removed. */
  ABANDONED_AFTER_MS: int(1000, 24 * HOUR).default(5 * MINUTE),
  /** How long BullMQ waits before it takes a job from a worker that stopped responding. */
  JOB_LOCK_MS: int(500, 10 * MINUTE).default(20_000),
  /** Threads that hash and verify passwords, per process. */
  HASH_THREADS: int(1, 64).default(2),

  /** Failed logins in a row that lock a login name for a time, from one network; 0: never. */
  LOCK_AFTER_FAILURES: int(0, 10_000).default(10),
  /** Wait of the login after the fourth failed one in a row; it doubles each time, up to 2 seconds. 0: none. */
  LOGIN_DELAY_MS: int(0, 2000).default(100),
  /** Steps of 30 seconds before and after the current one whose one-time passwords are accepted too. */
  TOTP_WINDOW: int(0, 1).default(1),
  /** Requests per second from one IP address to each API process; 0: no limit. */
  RATE_LIMIT_REQUESTS: int(0, 1_000_000).default(1000),
  /** Password and code attempts per minute from one IP address to all API processes together; 0: no limit. */
  RATE_LIMIT_LOGINS: int(0, 1_000_000).default(600),
  /** Emails and text messages that a user gets in 24 hours without a manager; 0: no limit. */
  RATE_LIMIT_MAILS: int(0, 1_000_000).default(10),
  /**
   * Kilobytes that one IP address may have stored in an hour while nobody has signed in: sign-ins in progress and device
   * codes; all addresses together a hundred times as much. 0: no limit.
   */
  RATE_LIMIT_UNKNOWN_KB: int(0, 10_000_000).default(5000),

  /** Days from the check of a password until its session ends. */
  SESSION_TTL_DAYS: int(1, 3650).default(30),

  /** How `muster login` may log in: in any way, without device codes (RFC 8628), or not at all. */
  CLI_LOGIN: z.enum(CLI_LOGINS, `must be one of ${CLI_LOGINS.join(', ')}`).default('all'),

  /** Days until the key that signs tokens is replaced by the next one. */
  SIGNING_KEY_ROTATE_DAYS: int(1, 3650).default(90),

  /** How long audit events are kept; 0: for ever. */
  AUDIT_RETENTION_DAYS: int(0, 36_500).default(90),
  /** How long the history keeps what imports and users themselves changed; 0: for ever. */
  EVENT_RETENTION_DAYS: int(0, 36_500).default(400),
  /** How long it keeps what administrators changed; 0: for ever. */
  ADMIN_EVENT_RETENTION_DAYS: int(0, 36_500).default(3650),

  /** Traces (src/operate/); the names are OpenTelemetry's. Whether they are off although an endpoint is set. */
  OTEL_SDK_DISABLED: flag.default(false),
  /** `otlp`: traces are recorded even if no endpoint is set; `none`: they are not, even if one is. */
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], 'must be otlp or none').optional(),
  /** Collector that receives OTLP over HTTP; spans go to `/v1/traces` below this URL. */
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl().optional(),
  /** The whole URL to which spans go. */
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: otlpUrl().optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['http/protobuf'], 'must be http/protobuf').default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: z.enum(['http/protobuf'], 'must be http/protobuf').default('http/protobuf'),
  /** Default: `muster-api` and `muster-worker`. */
  OTEL_SERVICE_NAME: z.string().max(255, 'must have at most 255 characters').optional(),
  /** Which traces are recorded; `parentbased_…` follows the caller's decision, if there is one. */
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLER_NAMES, `must be one of ${SAMPLER_NAMES.join(', ')}`)
    .default('parentbased_always_on'),
  /** The part of all traces that `traceidratio` records, 0 to 1. */
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1),
  /** Milliseconds after which spans are sent at the latest. */
  OTEL_BSP_SCHEDULE_DELAY: int(1, HOUR).default(5000),
  /** Spans that wait to be sent; further ones are dropped. */
  OTEL_BSP_MAX_QUEUE_SIZE: int(1, 100_000).default(2048),

  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  /** Milliseconds that a stopping process may take to finish its work in progress. */
  STOP_AFTER_MS: int(100, 10 * MINUTE).default(15_000),
  /** Turns off the hints that `npm start` prints; `npm run demo` sets it. */
  QUIET: flag.default(false),
});

export const SETTING_NAMES: readonly string[] = Object.keys(schema.shape);

export type Config = z.output<typeof schema> & { baseUrl: string };

/** All problems of the environment in one message, one per line. */
export class ConfigError extends Error {}

/**
 * Reads and checks the environment.
 * @throws ConfigError naming every bad variable
 */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, v]) => v !== undefined && v !== ''));
  const parsed = schema.safeParse(present);
  const problems = parsed.success
    ? problemsTogether(parsed.data)
    : parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`);
  if (!parsed.success || problems.length > 0) {
    const lines = problems.map((problem) => `  ${problem}`);
    const count = lines.length === 1 ? '1 problem' : `${lines.length} problems`;
    throw new ConfigError(`The configuration has ${count}:\n${lines.join('\n')}`);
  }
  return { ...parsed.data, baseUrl: publicUrl(parsed.data) };
}

function publicUrl({ BASE_URL, HOST, PORT }: Pick<z.output<typeof schema>, 'BASE_URL' | 'HOST' | 'PORT'>): string {
  const host = HOST.includes(':') ? `[${HOST}]` : HOST === '0.0.0.0' ? 'localhost' : HOST;
  return BASE_URL ?? `http://${host}:${PORT}`;
}

function listed(text: string): string[] {
  return text.split(',').map((one) => one.trim());
}

/** The problems of settings that are valid each, but not together. */
function problemsTogether({ REDIS_URL, QUEUE_SHARDS = 1, ...config }: z.output<typeof schema>): string[] {
  const further = (['DATABASE_DIRECT_URL', 'DATABASE_REPLICA_URL'] as const).filter((name) => config[name]);
  if (!config.DATABASE_URL && further.length > 0) return further.map((name) => `${name}: needs DATABASE_URL as well`);
  const servers = REDIS_URL === undefined ? 0 : parseRedisUrls(REDIS_URL).length;
  if (servers > MOST_SHARDS) return [`REDIS_URL: must have at most ${MOST_SHARDS} URLs`];
  if (servers === 0 && QUEUE_SHARDS > 1) return ['QUEUE_SHARDS: must be 1 without REDIS_URL'];
  const rpProblem = rpIdProblem(config.WEBAUTHN_RP_ID, publicUrl(config));
  return rpProblem ? [`WEBAUTHN_RP_ID: ${rpProblem}`] : [];
}

function int(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number(message).int(message).min(min, message).max(max, message);
}

const NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

/** @returns a number of proxies, or their networks, as Express takes both */
function trustedProxies(text: string, context: z.RefinementCtx): number | string[] {
  if (/^\s*(?:\d|10)\s*$/.test(text)) return Number(text);
  const networks = text.split(/[\s,]+/).filter(Boolean);
  if (networks.length > 0 && networks.every(isNetwork)) return networks;
  const message = `must be a number from 0 to 10, or addresses and networks such as 10.0.0.0/8, separated by commas; also ${NETWORKS.join(', ')}`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

/** A network of all addresses would let every caller choose theirs. */
function isNetwork(text: string): boolean {
  if (NETWORKS.includes(text)) return true;
  const [address = '', bits, ...more] = text.split('/');
  const most = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (most === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= most);
}

function otlpUrl() {
  return z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
}

function postgresUrl() {
  return z.string().regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://');
}

/** @param example for the message */
function duration(example: string) {
  return z.string().regex(DURATION, `must be a duration such as ${example}`);
}

function token() {
  return z.string().regex(/^[\x21-\x7e]{32,200}$/, 'must be 32 to 200 printable characters without spaces');
}

function isKey(text: string): boolean {
  return Buffer.from(text, 'base64').length === 32;
}

function refineRedisUrl(text: string, context: z.RefinementCtx): void {
  try {
    parseRedisUrls(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
  }
}

/** glibc gives each thread its own malloc arena; with V8's threads these grow by some 20 MB without any benefit. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1' };

/** The environment for a child process, with changes. */
export function childEnv(changes: Record<string, string | undefined>): Record<string, string | undefined> {
  return { ...ALLOCATOR, ...process.env, ...changes };
}
