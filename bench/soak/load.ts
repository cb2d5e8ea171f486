/**
 * The load of the soak: bulk imports one after the other, uploads that send a user a second, callers at an even pace,
 * and event streams of which a tenth is never read.
 */
import { randomBytes } from 'node:crypto';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../../src/platform/timeouts.ts';
import { percentile } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { type Client, startProgram } from '../testbed/client.ts';
import { importAll } from '../testbed/import-all.ts';
import { importBody, passwordOf, user, userId } from '../testbed/load.ts';
import type { Service } from '../testbed/testbed.ts';
import type { Figures } from './figures.ts';

export interface RunningLoad {
  imports: Imports;
  calls: Record<CallName, Meter>;
  streams: Streams;
  /** One for every kind of call. */
  meters: Meter[];
}

interface LoadOptions {
  token: string;
  /** Event streams that are open at the same time. */
  streams: number;
  /** Users of each bulk import. */
  users: number;
  ending: AbortSignal;
}

/** Starts everything. Call `addPeople` before. */
export async function startLoad(
  scope: Scope,
  service: Service,
  { token, streams: count, users, ending }: LoadOptions,
): Promise<RunningLoad> {
  const { client, orgId, baseUrl } = service;
  const importing = new Meter('import');
  const imports = await startImports({ client, orgId, users, ending }, importing);
  const calls = await startCalls({ scope, service, imports, ending });
  const streams = startStreams({ baseUrl, token, count, imports, ending });
  const slow = startSlowUploads({ client, orgId, ending });
  return { imports, calls, streams, meters: [importing, ...Object.values(calls), streams.meter, slow] };
}

/** The open streams, and the times of logins and polls since the last reading. */
export function loadFigures({ calls, streams }: RunningLoad): Figures {
  const figures: Figures = { 'open streams': streams.open() };
  for (const meter of [calls.login, calls.poll]) {
    const { p50, p99 } = meter.takeTimes();
    figures[`p50 ${meter.name}`] = p50;
    figures[`p99 ${meter.name}`] = p99;
  }
  return figures;
}

/** One user in so many has an address to verify. */
const MAILED_EVERY = 50;
/** So that there is always a running one. */
const IMPORTS_AT_ONCE = 2;
const IMPORT_POLL_MS = 500;
/** For a whole import. */
const IMPORT_PATIENCE_MS = 30 * 60_000;

interface Imports {
  /** The id of one of the running imports, each as often; of the one that was accepted last if none is running. */
  any(): string;
  /** Users written so far. */
  users(): number;
}

interface ImportLoad {
  client: Client;
  orgId: string;
  /** Users of each import. */
  users: number;
  ending: AbortSignal;
}

interface Seen {
  onAccepted(importId: string): void;
  /** Gets how many users were written since the last call. */
  onWritten(users: number): void;
}

/** Bulk imports without a pause; resolves when the first is accepted. */
async function startImports(load: ImportLoad, meter: Meter): Promise<Imports> {
  const running = new Set<string>();
  let newest = '';
  let written = 0;
  const first = Promise.withResolvers<void>();
  const seen: Seen = {
    onAccepted(importId) {
      newest = importId;
      running.add(importId);
      first.resolve();
    },
    onWritten(users) {
      written += users;
    },
  };
  const loop = async () => {
    while (!load.ending.aborted) {
      const importId = await meter.run(load.ending, () => importOnce(load, seen), IMPORT_PATIENCE_MS);
      if (importId) running.delete(importId);
      else await sleep(IMPORT_POLL_MS);
    }
  };
  for (let n = 0; n < IMPORTS_AT_ONCE; n++) void loop();
  await first.promise;
  return {
    any: () => [...running][Math.floor(Math.random() * running.size)] ?? newest,
    users: () => written,
  };
}

let next = 0;

/** The number of a user whom nobody else has. */
function nextUser(count = 1): number {
  next += count;
  return next - count;
}

/** Returns its id. @throws Error unless every user is imported */
async function importOnce(
  { client, orgId, users, ending }: ImportLoad,
  { onAccepted, onWritten }: Seen,
): Promise<string> {
  const from = nextUser(users);
  const { importId } = await client.upload(importBody(users, orgId, (n) => entry(from + n)));
  onAccepted(String(importId));
  for (let written = 0; !ending.aborted; ) {
    const { state, counts } = await client.call('GET', `/admin/v1/imports/${importId}`);
    onWritten(counts.succeeded - written);
    written = counts.succeeded;
    if (state === 'IMPORT_STATE_SUCCEEDED' && counts.succeeded === users) return String(importId);
    if (state !== 'IMPORT_STATE_RUNNING') throw new Error(`An import ended as ${state}: ${JSON.stringify(counts)}`);
    await sleep(IMPORT_POLL_MS);
  }
  throw new Error('The run ends.');
}

/** Some users get a mail. */
function entry(n: number): object {
  const { email, ...rest } = user(n);
  const isEmailVerified = n % MAILED_EVERY !== 0;
  return { userId: userId(n), user: { ...rest, email: { ...email, isEmailVerified } } };
}

/** Uploads under way at the same time; a caller may have 16. */
const UPLOADS_AT_ONCE = 10;
const USERS_PER_UPLOAD = 20;
const UPLOAD_PAUSE_MS = 1000;

interface UploadLoad {
  client: Client;
  orgId: string;
  ending: AbortSignal;
}

/** Bulk imports whose few users arrive one a second: each is accepted at its end. */
function startSlowUploads(load: UploadLoad): Meter {
  const meter = new Meter('slow upload');
  const loop = async () => {
    while (!load.ending.aborted) {
      if (!(await meter.run(load.ending, () => load.client.upload(slowly(load))))) await sleep(UPLOAD_PAUSE_MS);
    }
  };
  for (let n = 0; n < UPLOADS_AT_ONCE; n++) void loop();
  return meter;
}

async function* slowly({ orgId, ending }: UploadLoad): AsyncGenerator<Buffer> {
  yield Buffer.from(`{"timeout":"1h","dataOrgs":{"orgs":[{"orgId":${JSON.stringify(orgId)},"humanUsers":[`);
  for (let n = 0; n < USERS_PER_UPLOAD && !ending.aborted; n++) {
    yield Buffer.from(`${n === 0 ? '' : ','}${JSON.stringify(entry(nextUser()))}`);
    await sleep(UPLOAD_PAUSE_MS);
  }
  yield Buffer.from(']}]}}');
}

/** Users who log in and get reset codes. */
const PEOPLE = 200;
/** On average. It varies: callers that stay in step for minutes, or drift apart, would change the times of all of them. */
const CALL_PAUSE_MS = 1000;
/** Callers of each kind. */
const CALLERS = { login: 5, 'failed login': 2, poll: 20, token: 2, reset: 2 };

type CallName = keyof typeof CALLERS;

interface Callers {
  scope: Scope;
  service: Service;
  imports: Imports;
  ending: AbortSignal;
}

/** Imports the people of the calls. Call it before the first import of the load. */
export async function addPeople(service: Service): Promise<void> {
  if (nextUser(PEOPLE) !== 0) throw new Error('The people of the calls must be the first users.');
  await importAll(service, importBody(PEOPLE, service.orgId, entry), PEOPLE);
}

/** Callers at an even pace: logins, failed logins, status polls, tokens and password resets. */
async function startCalls(callers: Callers): Promise<Record<CallName, Meter>> {
  const { token } = await startProgram(callers.scope, callers.service, 'soak');
  const calls = { ...callsOfPeople(callers), token };
  const meters = Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [name, pace(name as CallName, call, callers.ending)]),
  );
  return meters as Record<CallName, Meter>;
}

function callsOfPeople({ service: { client }, imports }: Callers): Record<Exclude<CallName, 'token'>, Call> {
  const session = (user: object, password: string) =>
    client.call('POST', '/v2beta/sessions', { checks: { user, password: { password } } }, undefined, 201);
  const someone = () => Math.floor(Math.random() * PEOPLE);
  return {
    login(n = someone()) {
      return session({ userId: userId(n) }, passwordOf(n));
    },
    'failed login'() {
      const user = { loginName: `nobody-${randomBytes(6).toString('hex')}` };
      const checks = { user, password: { password: 'wrong' } };
      return client.call('POST', '/v2beta/sessions', { checks }, undefined, 400);
    },
    poll: () => client.call('GET', `/admin/v1/imports/${imports.any()}`),
    reset: () => client.call('POST', `/v2beta/users/${userId(someone())}/password_reset`, { returnCode: {} }),
  };
}

type Call = () => Promise<unknown>;

/** Starts the callers: each calls about once a second, or as soon as its call is answered, so that they never pile up. */
function pace(name: CallName, call: Call, ending: AbortSignal): Meter {
  const meter = new Meter(name);
  const loop = async () => {
    while (!ending.aborted) await Promise.all([meter.run(ending, call), sleep(CALL_PAUSE_MS * (0.5 + Math.random()))]);
  };
  for (let n = 0; n < CALLERS[name]; n++) void loop();
  return meter;
}

/** One stream in so many is never read. */
const SLOW_EVERY = 10;
/** After this time a slow reader leaves. */
const SLOW_MS = 20_000;
/** The most streams that are opened in a second, on average. */
const OPENED_PER_SECOND = 200;

interface Streams {
  /** Streams that were opened and have ended or failed. */
  meter: Meter;
  open(): number;
  messages(): number;
}

interface StreamLoad {
  baseUrl: string;
  token: string;
  count: number;
  imports: Imports;
  ending: AbortSignal;
}

/**
 * Event streams of the running imports. Most are read; of the slow readers, nothing is read at all until they are
 * closed. A stream that ends is opened again for another import, not all of them at once.
 */
function startStreams(load: StreamLoad): Streams {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  load.ending.addEventListener('abort', () => agent.destroy());
  const meter = new Meter('stream');
  const seen = { open: 0, messages: 0 };
  for (let n = 0; n < load.count; n++) void follow(load, agent, meter, seen, n);
  return { meter, open: () => seen.open, messages: () => seen.messages };
}

async function follow(
  load: StreamLoad,
  agent: Agent,
  meter: Meter,
  seen: { open: number; messages: number },
  n: number,
) {
  const { imports, ending } = load;
  while (!ending.aborted) {
    await sleep(Math.random() * (load.count / OPENED_PER_SECOND) * 1000);
    let where = 'before the answer:';
    try {
      const res = await opened(load, agent, imports.any());
      where = 'in the stream:';
      seen.open++;
      const closed = n % SLOW_EVERY === 0 ? ignored(res) : read(res, () => seen.messages++);
      await closed.finally(() => seen.open--);
      meter.done++;
    } catch (error) {
      if (!ending.aborted) meter.fail(`${where} ${reasonOf(error)}`);
    }
  }
}

function opened({ baseUrl, token }: StreamLoad, agent: Agent, importId: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  return new Promise((resolve, reject) => {
    const req = request(`${baseUrl}/admin/v1/imports/${importId}/events`, { agent, headers }, (res) => {
      if (res.statusCode === 200) return resolve(res);
      res.destroy();
      reject(new Error(`The service answered ${res.statusCode}.`));
    });
    req.once('error', reject).end();
  });
}

/** Reads to the end. */
function read(res: IncomingMessage, onMessage: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    res.on('data', onMessage).once('end', resolve).once('error', reject);
  });
}

/** Reads nothing, then closes. */
async function ignored(res: IncomingMessage): Promise<void> {
  res.on('error', () => {}); // the service may close first, after a minute
  await sleep(SLOW_MS, undefined, { ref: false });
  res.destroy();
}

const CALL_PATIENCE_MS = 60_000;

/** Counts the calls of one kind, with their times since they were last read, and how often they failed for which reason. */
export class Meter {
  readonly name: string;
  done = 0;
  failed = 0;
  readonly failures = new Map<string, number>();
  private times: number[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /**
   * Runs and times one call. Never throws; undefined when the call failed, which does not count during the end.
   * @param patienceMs after this time it has failed
   */
  async run<T>(ending: AbortSignal, work: () => Promise<T>, patienceMs = CALL_PATIENCE_MS): Promise<T | undefined> {
    const start = performance.now();
    try {
      const result = await withTimeout(work(), patienceMs, `A call (${this.name})`);
      this.times.push(performance.now() - start);
      this.done++;
      return result;
    } catch (error) {
      if (!ending.aborted) this.fail(reasonOf(error));
      return undefined;
    }
  }

  fail(why: string): void {
    this.failed++;
    this.failures.set(why, (this.failures.get(why) ?? 0) + 1);
  }

  /** Milliseconds of the calls since the last reading; NaN without any. */
  takeTimes(): { p50: number; p99: number } {
    const times = this.times;
    this.times = [];
    if (times.length === 0) return { p50: Number.NaN, p99: Number.NaN };
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  }
}

/** A refused or broken connection, as the cause tells it: `fetch failed` alone says nothing. */
function reasonOf(error: unknown): string {
  const { message, code, cause } = error as NodeJS.ErrnoException & { cause?: unknown };
  return [message, code, ...(cause instanceof Error ? [reasonOf(cause)] : [])].filter(Boolean).join(' ');
}
