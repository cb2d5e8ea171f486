/**
 * Diagnostics for `muster doctor --local`, from the machine that the service runs on or will run on, with its settings.
 *
 * Guarantee: nothing is changed, created or started. Unlike the HTTP diagnostics, the reasons contain addresses, as the
 * caller has the settings; they contain no password.
 */
import { access, constants, stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { FirstStartSetting, PostgresFacts, ReplicaFacts, SenderFacts } from '../contract/diagnostics.ts';
import { findOrg } from '../directory/organizations.ts';
import { type RedisNode, readRedisNodes } from '../imports/queue/redis.ts';
import { readMissingRights } from '../imports/queue/redis-rights.ts';
import { type SmtpAnswer, verifySmtp } from '../messages/mail/verify-smtp.ts';
import type { Config } from '../platform/config.ts';
import { embeddedState } from '../platform/db/embedded/embedded.ts';
import { openPool, type Pool } from '../platform/db/pool.ts';
import { openSecrets } from '../platform/encryption.ts';
import { withTimeout } from '../platform/timeouts.ts';
import { INSTANCE_ORG, unusedFirstStartSettings } from '../signin/bootstrap.ts';
import { canOpenKeys } from '../signin/oauth/keys.ts';
import { postgresFacts, readReplica, senderFacts } from './diagnostics.ts';
import { keptKey, missingKeyIds } from './known-keys.ts';

/** The facts that were read, or the reason why they could not be read. */
export type FactsOrReason<T> = { facts: T } | { reason: string };

export interface LocalFacts {
  postgres: 'embedded, not made yet' | 'embedded, not running' | FactsOrReason<PostgresFacts>;
  /** Absent without DATABASE_REPLICA_URL, or if the database does not answer. */
  replica?: FactsOrReason<ReplicaFacts>;
  /** Whether the encryption keys match the database. Absent without a key, or if the schema has another version. */
  encryptionKey?: { opensSigningKeys: boolean; missingIds: string[] };
  /** Absent if the database does not answer, or has no instance of this version. */
  unusedSettings?: FirstStartSetting[];
  /** Absent if the queue is in PostgreSQL. */
  redis?: RedisNode[];
  /** Rights that the user of REDIS_URL lacks; empty without REDIS_URL. */
  missingRights: string[];
  /** Absent if mails are kept as files. */
  smtp?: SmtpAnswer;
  /** Absent without a mail server. */
  sender?: SenderFacts;
  dataDir: { path: string; isWritable: boolean; freeBytes: number };
}

/** Reads all facts. Never throws because a store does not answer. */
export async function localFacts(config: Config): Promise<LocalFacts> {
  const { REDIS_URL, SMTP_URL } = config;
  const [database, redis, missingRights, smtp, sender, dataDir] = await Promise.all([
    lookAtDatabase(config),
    REDIS_URL === undefined ? undefined : readRedisNodes(REDIS_URL),
    REDIS_URL === undefined ? [] : readMissingRights(REDIS_URL, config.QUEUE_PREFIX),
    SMTP_URL === undefined ? undefined : verifySmtp(SMTP_URL),
    senderFacts(config, config.MAIL_DNS_SERVERS),
    lookAtFolder(resolve(config.DATA_DIR)),
  ]);
  return {
    ...database,
    missingRights,
    ...(redis ? { redis } : {}),
    ...(smtp ? { smtp } : {}),
    ...(sender ? { sender } : {}),
    dataDir,
  };
}

async function look<T>(facts: Promise<T>): Promise<FactsOrReason<T>> {
  try {
    return { facts: await facts };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { reason: message || code || 'unknown' };
  }
}

const PATIENCE_MS = 5000;

async function lookAtDatabase(
  config: Config,
): Promise<Omit<LocalFacts, 'redis' | 'missingRights' | 'smtp' | 'sender' | 'dataDir'>> {
  const embedded = config.DATABASE_URL ? undefined : await embeddedState(config.DATA_DIR);
  if (embedded && embedded.state !== 'running') {
    return { postgres: embedded.state === 'absent' ? 'embedded, not made yet' : 'embedded, not running' };
  }
  const url = config.DATABASE_URL ?? embedded?.url;
  if (!url) return { postgres: { reason: 'the password of the embedded database cannot be read by this user' } };
  const { DATABASE_DIRECT_URL: directUrl } = config;
  const open = (to: string, isShared: boolean) =>
    openPool(to, { max: 2, name: 'muster-doctor', statementMs: PATIENCE_MS, isShared });
  const pool = open(url, directUrl !== undefined);
  const direct = directUrl === undefined ? undefined : open(directUrl, false);
  try {
    const postgres = await look(withTimeout(postgresFacts(pool, direct), PATIENCE_MS, 'PostgreSQL'));
    if (!('facts' in postgres)) return { postgres };
    const { DATABASE_REPLICA_URL } = config;
    const replica =
      DATABASE_REPLICA_URL === undefined
        ? {}
        : { replica: await lookAtReplica(pool, open(DATABASE_REPLICA_URL, false)) };
    if (!isMigrated(postgres.facts)) return { postgres, ...replica };
    return { postgres, ...replica, ...(await tryKeys(pool, config)), ...(await lookAtSettings(pool, config)) };
  } finally {
    await Promise.all([pool.end(), direct?.end()]);
  }
}

async function lookAtReplica(primary: Pool, replica: Pool): Promise<FactsOrReason<ReplicaFacts>> {
  try {
    return await look(readReplica(primary, replica));
  } finally {
    await replica.end();
  }
}

function isMigrated({ migrations: { applied, known } }: PostgresFacts): boolean {
  return applied === known;
}

async function lookAtSettings(pool: Pool, config: Config): Promise<Pick<LocalFacts, 'unusedSettings'>> {
  const isSetUp = await findOrg(pool, INSTANCE_ORG);
  return isSetUp ? { unusedSettings: await unusedFirstStartSettings(pool, config) } : {};
}

async function tryKeys(pool: Pool, config: Config): Promise<Pick<LocalFacts, 'encryptionKey'>> {
  const kept = config.DATABASE_URL ? undefined : await keptKey(config.DATA_DIR);
  const key = config.ENCRYPTION_KEY ?? kept;
  if (!key) return {};
  const secrets = openSecrets(key, config.DECRYPTION_KEYS);
  const [opensSigningKeys, missingIds] = await Promise.all([
    canOpenKeys({ pool, secrets }),
    missingKeyIds(pool, secrets),
  ]);
  return { encryptionKey: { opensSigningKeys, missingIds } };
}

/** If the folder does not exist yet, checks its nearest existing parent, in which it would be created. */
async function lookAtFolder(path: string): Promise<LocalFacts['dataDir']> {
  let there = path;
  while (!(await stat(there).catch(() => undefined)) && dirname(there) !== there) there = dirname(there);
  const mayWrite = access(there, constants.W_OK | constants.X_OK);
  const isWritable = await mayWrite.then(
    () => true,
    () => false,
  );
  const { bavail, bsize } = await statfs(there);
  return { path, isWritable, freeBytes: bavail * bsize };
}
