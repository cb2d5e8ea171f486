/**
 * `console-upload`: a large file by tus, as the page of the console sends it: the rate, the time of the guess while it is
 * being uploaded, the peak memory of the API, and what has to be sent twice when the API is killed midway.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, type Result, rounded, timed } from '../bench.ts';
import { type CpuTime, cpuTime, hasProc, peakMemory, type Roles, shares } from '../machine/cpu.ts';
import { user, userId } from '../testbed/load.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';
import { resultOf } from './session.ts';

/** `--size` in megabytes. */
export const DEFAULT_SIZE = 1000;
export const MB = 1e6;
/** What the browser sends in one request, in bytes. */
export const SLICE = 8 * 2 ** 20;
const TARGETS = { rate: 50, guessMs: 2000, memoryMb: 250, twice: SLICE };
/** The API is killed so long after the beginning of a slice. */
const KILL_AFTER_MS = 10;

export async function consoleUpload({ scope, say, size: megabytes = DEFAULT_SIZE }: Context): Promise<Result[]> {
  const stores = await startStores(scope, { redis: false });
  const service = await startService(scope, stores, 1);
  const size = megabytes * MB;
  say(`console: an upload of ${megabytes} MB`);
  const whole = await measureUpload(service, stores, size);
  say('console: an upload whose API is killed midway');
  const killed = await killMidway(service, stores, size);
  return resultsOf(megabytes, whole, killed);
}

interface Measured extends TusResult {
  guessMs: number;
  /** Microseconds, while the file was uploaded. */
  cpu: CpuTime | undefined;
  /** Bytes. */
  memory: number | undefined;
}

async function newDraft({ client }: Service): Promise<string> {
  return (await client.call('POST', '/admin/v1/imports', {}, undefined, 201)).importId;
}

async function measureUpload(service: Service, { keys, roles }: Stores, size: number): Promise<Measured> {
  const importId = await newDraft(service);
  const all = (): Roles => ({ ...service.roles(), ...roles() });
  const before = hasProc() ? cpuTime(all()) : undefined;
  let guess: Promise<number> | undefined;
  const guessNow = () => timed(() => service.client.call('GET', `/admin/v1/imports/${importId}/guess`));
  const passed = await upload({ ...service, token: keys.token, importId }, exportFile(size), (from) => {
    if (from > 0) guess ??= guessNow();
  });
  const after = before && cpuTime(all());
  const cpu = after && Object.fromEntries(Object.entries(after).map(([role, us]) => [role, us - (before[role] ?? 0)]));
  const guessMs = await (guess ?? guessNow());
  return { ...passed, guessMs, cpu, memory: hasProc() ? peakMemory(service.apiPid) : undefined };
}

async function killMidway(service: Service, { keys }: Stores, size: number): Promise<TusResult> {
  const importId = await newDraft(service);
  let isKilled = false;
  return upload({ ...service, token: keys.token, importId }, exportFile(size), (from) => {
    if (isKilled || from + SLICE < size / 2) return;
    isKilled = true;
    setTimeout(() => process.kill(service.apiPid, 'SIGKILL'), KILL_AFTER_MS);
  });
}

function resultsOf(megabytes: number, whole: Measured, killed: TusResult): Result[] {
  const { cpu, memory, guessMs, ms } = whole;
  const perMb = cpu && Object.fromEntries(Object.entries(cpu).map(([role, us]) => [role, rounded(us / megabytes, 0)]));
  const results = [
    resultOf({
      name: 'console-upload',
      value: megabytes / (ms / 1000),
      unit: 'MB/s',
      target: TARGETS.rate,
      notes: [
        `a file of ${megabytes} MB in slices of 8 MiB; target: at least ${TARGETS.rate} MB/s`,
        ...(perMb ? [`CPU µs per MB: ${shares(perMb)}`] : []),
      ],
      extras: { megabytes, ...(perMb ? { cpuMicrosecondsPerMegabyte: perMb } : {}) },
    }),
    resultOf({
      name: 'console-guess',
      value: guessMs,
      unit: 'ms',
      target: TARGETS.guessMs,
      notes: [`the guess, asked for after the first slice; target: at most ${TARGETS.guessMs} ms`],
    }),
    resultOf({
      name: 'console-twice',
      value: killed.sentTwice / 2 ** 20,
      unit: 'MiB',
      target: TARGETS.twice / 2 ** 20,
      notes: ['sent twice, as the API was killed midway; target: at most a slice'],
    }),
  ];
  if (memory === undefined) return results;
  const notes = [`peak of the API over the upload; target: at most ${TARGETS.memoryMb} MB`];
  const target = TARGETS.memoryMb;
  return [...results, resultOf({ name: 'console-memory-api', value: memory / MB, unit: 'MB', target, notes })];
}

/** Between two questions for the end of an interrupted upload. */
const PAUSE_MS = 100;
const TUS = { 'tus-resumable': '1.0.0' };

interface TusTarget {
  baseUrl: string;
  token: string;
  importId: string;
}

interface TusResult {
  ms: number;
  /** Bytes that were sent and had not been stored. */
  sentTwice: number;
}

/**
 * Uploads a file as the page of the console does: slice by slice, and after an interruption from where the service says
 * that the stored part ends.
 * @param onSlice called before each slice with its position
 */
export async function upload(
  { baseUrl, token, importId }: TusTarget,
  file: ExportFile,
  onSlice: (from: number) => void = () => {},
): Promise<TusResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const authorization = `Bearer ${token}`;
  const send = async (method: string, path: string, headers: Record<string, string>, body?: Buffer) => {
    const req = request(baseUrl + path, { agent, method, headers: { authorization, ...TUS, ...headers } });
    req.end(body);
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    await once(res.resume(), 'end');
    return res;
  };
  try {
    const metadata = `filename ${btoa('people.csv')},kind ${btoa('users')}`;
    const created = await send('POST', `/admin/v1/imports/${importId}/files`, {
      'upload-length': String(file.size),
      'upload-metadata': metadata,
    });
    requireStatus(created, 201);
    const path = String(created.headers.location);
    const start = performance.now();
    let sentTwice = 0;
    for (let from = 0; from < file.size; ) {
      onSlice(from);
      const slice = file.slice(from);
      const answer = await send('PATCH', path, patch(from), slice).catch(() => undefined);
      if (answer) requireStatus(answer, 204);
      const next = answer ? from + slice.length : await offsetOf(() => send('HEAD', path, {}));
      sentTwice += from + slice.length - next;
      from = next;
    }
    return { ms: performance.now() - start, sentTwice };
  } finally {
    agent.destroy();
  }
}

function patch(from: number): Record<string, string> {
  return { 'upload-offset': String(from), 'content-type': 'application/offset+octet-stream' };
}

/** Asks until the service is back. */
async function offsetOf(ask: () => Promise<IncomingMessage>): Promise<number> {
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer?.statusCode === 200) return Number(answer.headers['upload-offset']);
    await sleep(PAUSE_MS);
  }
}

function requireStatus({ statusCode }: IncomingMessage, status: number): void {
  if (statusCode !== status) throw new Error(`The service answered ${statusCode} to an upload, not ${status}.`);
}

interface ExportFile {
  size: number;
  /** The bytes from a position on, at most one slice of them. */
  slice(from: number): Buffer;
}

/**
 * A CSV of users, of any size, never held as a whole. Only its first slice has users; the rest repeats lines of the same
 * length, as the service stores bytes and reads none of them before it converts them.
 * @param size in bytes
 */
export function exportFile(size: number): ExportFile {
  const head = lines(Math.min(size, SLICE));
  const rest = lines(SLICE, false);
  return {
    size,
    slice(from) {
      const end = Math.min(size - from, SLICE);
      return from === 0 ? head.subarray(0, end) : rest.subarray(0, end);
    },
  };
}

function lines(bytes: number, hasHeader = true): Buffer {
  let text = hasHeader ? 'id,login,first name,last name,mail,password hash\n' : '';
  for (let n = 0; text.length < bytes; n++) {
    const { userName, profile, email, hashedPassword } = user(n);
    const { firstName, lastName } = profile;
    text += `${[userId(n), userName, firstName, lastName, email.email, hashedPassword.value].join(',')}\n`;
  }
  return Buffer.from(text).subarray(0, bytes);
}
