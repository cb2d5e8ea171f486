/**
 * `mail`: mails per second, from the first to the last, of an import whose users all have an address to verify. An SMTP
 * server in a separate process receives them. `mail-rated`, `mail-rated-import`: the same with MAIL_RATE and with
 * MAIL_RATE_PER_IMPORT, and two workers that share it.
 *
 * Ceiling of `mail`: nodemailer alone with the relay's pool settings sends the same number of mails to the same server;
 * of the others: the configured rate. While the first second's worth of mails is sent, the import still runs and
 * connections open, so the rate is measured on the rest.
 */
import { createTransport } from 'nodemailer';
import { SMTP_CONNECTIONS } from '../../src/messages/mail/smtp.ts';
import { type Context, counted, type Result, rounded } from '../bench.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, shares } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll } from '../testbed/import-all.ts';
import { user, userId } from '../testbed/load.ts';
import { type Sink, startSink } from '../testbed/sink.ts';
import type { Caught } from '../testbed/sink-process.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores, startWorkers } from '../testbed/testbed.ts';

const DEFAULT_USERS = 5000;
/** Mails per second, and for how many seconds they are sent. */
const RATE = 200;
const RATED_SECONDS = 6;
const RATED_WORKERS = 2;
/** Enough for all connections of the pool. */
const AT_ONCE = 32;
const SENDER = 'no-reply@localhost';
const SECOND = 1000;

interface Sent extends Caught {
  /** Microseconds per user, by process: the user's import and mail. */
  cpu?: CpuTime;
}

export async function mail(context: Context): Promise<Result[]> {
  const { scope, say, users = DEFAULT_USERS } = context;
  const workers = Math.max(1, context.workers);
  const sink = await startSink(scope);
  const sent = await scope.within((inner) => importMails(inner, sink, users, workers));
  say(`mail: ${Math.round(rateOf(sent.arrivals))} mails/s with ${counted(workers, 'worker', 'workers')}`);
  const bare = await scope.within(async (inner) => {
    const [caught] = await Promise.all([
      sink.take(users),
      sendBare(inner, sink.url, users, Buffer.from(sent.first, 'latin1')),
    ]);
    return caught;
  });
  say(`mail: ${Math.round(rateOf(bare.arrivals))} mails/s by nodemailer alone`);
  const results = [resultOf(sent, bare, users, workers)];
  const few = Math.min(users, RATE * RATED_SECONDS);
  for (const [name, setting] of [
    ['mail-rated', 'MAIL_RATE'],
    ['mail-rated-import', 'MAIL_RATE_PER_IMPORT'],
  ] as const) {
    const settings = { [setting]: String(RATE) };
    const { arrivals } = await scope.within((inner) => importMails(inner, sink, few, RATED_WORKERS, settings));
    results.push(ratedResult(name, setting, arrivals));
    say(`${name}: ${results.at(-1)?.value} mails/s`);
  }
  return results;
}

/** Imports the users on new stores, and returns their mails. */
async function importMails(
  scope: Scope,
  sink: Sink,
  users: number,
  workers: number,
  settings: Record<string, string> = {},
): Promise<Sent> {
  const stores = await startStores(scope, { redis: redisVersion() !== undefined });
  const service = await startService(scope, stores, 0);
  const pids = await startWorkers(scope, stores, workers, { settings: { SMTP_URL: sink.url, ...settings } });
  const roles = { ...service.roles(), worker: pids, ...stores.roles(), sink: [sink.pid] };
  const before = hasProc() ? cpuTime(roles) : undefined;
  const [caught] = await Promise.all([sink.take(users), importAll(service, [bodyOf(users, service.orgId)], users)]);
  return before ? { ...caught, cpu: cpuPerUnit(before, cpuTime(roles), users) } : caught;
}

/** The standard users, with unverified addresses. */
function bodyOf(users: number, orgId: string): Buffer {
  const humanUsers = Array.from({ length: users }, (_, n) => {
    const { email, ...rest } = user(n);
    return { userId: userId(n), user: { ...rest, email: { ...email, isEmailVerified: false } } };
  });
  return Buffer.from(JSON.stringify({ timeout: '1h0m0s', dataOrgs: { orgs: [{ orgId, humanUsers }] } }));
}

function resultOf({ arrivals, first, cpu }: Sent, bare: Caught, mails: number, workers: number): Result {
  const value = rounded(rateOf(arrivals), 0);
  const ceiling = rounded(rateOf(bare.arrivals), 0);
  const notes = [
    `${mails} mails of ${first.length} bytes, ${counted(workers, 'worker', 'workers')}, while their users are imported`,
    'ceiling: nodemailer alone with the same pool settings, into the same server',
    ...(cpu ? [`CPU µs per user with mail: ${shares(cpu)}`] : []),
  ];
  const extras = { mails, workers, bytes: first.length, ...(cpu ? { cpu } : {}) };
  return { name: 'mail', value, unit: 'mails/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

function ratedResult(name: string, setting: string, arrivals: number[]): Result {
  const steady = arrivals.slice(Math.min(RATE, arrivals.length >> 1));
  const value = rounded(rateOf(steady), 1);
  const most = mostInASecond(arrivals);
  const notes = [
    `${arrivals.length} mails, ${RATED_WORKERS} workers, ${setting}=${RATE}; the rate from mail ${arrivals.length - steady.length + 1} on`,
    `target: a ratio of at most 1; most mails within any one second: ${most}, after the first second's worth ${mostInASecond(steady)}`,
  ];
  const extras = { mails: arrivals.length, workers: RATED_WORKERS, rate: RATE, mostInASecond: most };
  return { name, value, unit: 'mails/s', ceiling: RATE, ratio: rounded(value / RATE, 3), notes, extras };
}

/** nodemailer alone, with the relay's pool settings, sends `raw` to the users 0 … `mails - 1`. */
async function sendBare(scope: Scope, url: string, mails: number, raw: Buffer): Promise<void> {
  const transporter = await scope.start(
    async () => createTransport({ url, pool: true, maxConnections: SMTP_CONNECTIONS, maxMessages: 1000 }),
    async (opened) => opened.close(),
  );
  let n = 0;
  const send = async () => {
    while (n < mails) await transporter.sendMail({ envelope: { from: SENDER, to: [user(n++).email.email] }, raw });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
}

/** Mails per second from the first to the last one. */
export function rateOf(arrivals: number[]): number {
  const ms = (arrivals.at(-1) as number) - (arrivals[0] as number);
  return ms > 0 ? ((arrivals.length - 1) / ms) * SECOND : 0;
}

/** The most mails that arrived within any one second. */
export function mostInASecond(arrivals: number[]): number {
  let [most, from] = [0, 0];
  for (const [to, at] of arrivals.entries()) {
    while (at - (arrivals[from] as number) >= SECOND) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
