/**
 * `console-upload`: a large file by tus, as the page of the console sends it: the rate, the time of the guess while it is
 * being uploaded, the peak memory of the API, and what has to be sent twice when the API is killed midway.
 */
import { type Context, type Result, rounded } from '../bench.ts';
import { shares } from '../format.ts';
import { type CpuTime, cpuTime, hasProc, peakMemory, type Roles } from '../machine/cpu.ts';
import { timed } from '../machine/timed.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';
import { exportFile, SLICE } from './export-file.ts';
import { resultOf } from './result.ts';
import { type TusResult, upload } from './tus.ts';

/** `--size` in megabytes. */
export const DEFAULT_SIZE = 1000;
export const MB = 1e6;
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
