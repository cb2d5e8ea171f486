/**
 * `npm run demo`: shows the main job live. Starts everything, imports 10,000 users, reports the outcome, logs one of
 * them in, and leaves the service running (`-- --exit` stops it).
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { watchImport } from '../src/cli/follow/follow.ts';
import type { ImportResult } from '../src/cli/follow/result.ts';
import { openApi } from '../src/cli/service/api.ts';
import { openOutput } from '../src/cli/terminal/output.ts';
import { readConfig } from '../src/platform/config.ts';
import { startMuster } from '../src/start/muster.ts';
import { report } from './report.ts';
import { writeDemoFile } from './users.ts';

const DATA_DIR = '.muster-demo';
/** Settings of a service that the environment may describe: the demo has stores and keys of its own. */
const OTHERS = [
  ...['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_REPLICA_URL', 'REDIS_URL', 'SMTP_URL', 'SMS_URL'],
  ...['ENCRYPTION_KEY', 'DECRYPTION_KEYS'],
];

const { values } = parseArgs({
  options: { exit: { type: 'boolean', default: false }, users: { type: 'string', default: '10000' } },
});
const count = Number(values.users);
if (!Number.isInteger(count) || count < 20) {
  console.error('--users must be a whole number of at least 20.');
  process.exit(2);
}

for (const name of OTHERS) delete process.env[name]; // the processes inherit the environment
const dataDir = resolve(process.env.DATA_DIR ?? DATA_DIR);
await mkdir(dataDir, { recursive: true });
const token = await keptToken(join(dataDir, 'demo-token'));
const config = readConfig({
  ...process.env,
  DATA_DIR: dataDir,
  PORT: process.env.PORT ?? '0',
  BOOTSTRAP_TOKEN: token,
  LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  QUIET: 'true',
});

console.log('Starting PostgreSQL, the API and a worker …');
const startedAt = Date.now();
const muster = await startMuster(config);
console.log(`  ready after ${seconds(startedAt)}: ${muster.baseUrl}\n`);

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopping.abort();
    void muster.stop().then(() => process.exit(0));
  });
}

try {
  await demo();
} catch (error) {
  if (stopping.signal.aborted) {
    await muster.stop();
    process.exit(0);
  }
  console.error(`\nThe demo failed: ${(error as Error).message}`);
  await muster.stop();
  process.exit(1);
}
if (values.exit) {
  await muster.stop();
  process.exit(0);
}
console.log('\nThe service keeps running; press Ctrl-C to stop it.');

async function demo(): Promise<void> {
  const tag = randomBytes(4).toString('hex');
  const { id: orgId } = await call<{ id: string }>('POST', '/management/v1/orgs', { name: `Demo ${tag}` });
  console.log(`Writing a dataOrgs file with ${count} users for the new organization ${orgId} …`);
  const file = await writeDemoFile(join(dataDir, 'demo-users.json'), orgId, count, tag);
  const { size } = await stat(file.path);
  console.log(`  ${file.path} (${(size / 2 ** 20).toFixed(1)} MiB)\n`);

  console.log('Importing: POST /admin/v1/import');
  const sentAt = Date.now();
  const { importId } = await submit(file.path, size);
  console.log(`  202 after ${seconds(sentAt)}: every user is durable, import ${importId}`);
  await watchImport(session(), importId, { signal: stopping.signal });
  console.log(`  finished ${seconds(sentAt)} after the request\n`);

  report(await mailsGone(importId), config.SMTP_URL ? 'by SMTP' : `as files in ${join(dataDir, 'mailbox')}`);
  await logIn(file.someone);
  console.log(`\nTo continue:\n  address  ${muster.baseUrl}\n  token    ${token}`);
  console.log(`  curl -s -H 'Authorization: Bearer ${token}' ${muster.baseUrl}/admin/v1/imports/${importId}`);
}

/** A session as in the command line, with its progress on standard output. */
function session() {
  return {
    api: openApi(muster.baseUrl, async () => token),
    out: openOutput(false, { stdin: process.stdin, stdout: process.stdout, stderr: process.stdout }),
  };
}

async function logIn(someone: { loginName: string; password: string }): Promise<void> {
  const session = await call<{ sessionId: string }>('POST', '/v2beta/sessions', {
    checks: { user: { loginName: someone.loginName }, password: { password: someone.password } },
  });
  console.log(
    `\n${someone.loginName} logged in with the old password "${someone.password}": session ${session.sessionId}`,
  );
}

async function submit(path: string, size: number): Promise<{ importId: string }> {
  const res = await fetch(`${muster.baseUrl}/admin/v1/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': String(size) },
    body: createReadStream(path),
    duplex: 'half',
  });
  return answer(res);
}

/** Returns the result once no mail is waiting. */
async function mailsGone(importId: string): Promise<ImportResult> {
  for (;;) {
    const result = await call<ImportResult>('GET', `/admin/v1/imports/${importId}`);
    if (result.mails.pending === 0) return result;
    await new Promise((again) => setTimeout(again, 200));
  }
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const res = await fetch(`${muster.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answer(res);
}

async function answer<T>(res: Response): Promise<T> {
  const body = (await res.json()) as T & { message?: string };
  if (!res.ok) throw new Error(`${res.url} answered ${res.status}: ${body.message}`);
  return body;
}

/** The demo's data folder keeps its first administrator's token, so that a later run can use it. */
async function keptToken(path: string): Promise<string> {
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (kept) return kept.trim();
  const fresh = randomBytes(32).toString('base64url');
  await writeFile(path, fresh, { mode: 0o600 });
  return fresh;
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
