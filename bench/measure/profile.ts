/**
 * Reads and cuts V8's CPU profiles, which `--cpu-prof` writes when a process ends, and builds their call tree.
 *
 * A profile samples the main thread every millisecond, and does not cover the process' other threads. It uses the
 * machine's monotonic clock, which process.hrtime reads too, so one process can tell which period of another process'
 * profile counts.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Frame {
  functionName: string;
  /** Of the file or of Node.js' own module; empty for code built into V8. */
  url: string;
  /** From 0; -1 for code without a file. */
  lineNumber: number;
}

export interface CpuProfile {
  nodes: { id: number; callFrame: Frame; children?: number[] }[];
  /** Microseconds. */
  startTime: number;
  endTime: number;
  /** Ids of nodes. */
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

/** A function, as called by its parent in the tree. */
export interface Call {
  frame: Frame;
  /** Microseconds in the function itself. */
  self: number;
  callees: Call[];
}

/** CPU.<date>.<time>.<process>.<thread>.<number>.cpuprofile */
const FILE_NAME = /^CPU\.\d+\.\d+\.(\d+)\.0\.\d+\.cpuprofile$/;

/**
 * The profile of each process's main thread.
 * @throws Error when a process left none
 */
export async function readProfiles(dir: string, pids: number[]): Promise<CpuProfile[]> {
  const files = await readdir(dir);
  return Promise.all(
    pids.map(async (pid) => {
      const file = files.find((name) => FILE_NAME.exec(name)?.[1] === String(pid));
      if (!file) throw new Error(`Process ${pid} left no profile.`);
      return JSON.parse(await readFile(join(dir, file), 'utf8')) as CpuProfile;
    }),
  );
}

/** The machine's monotonic clock in microseconds. */
export function clock(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** The part of a profile from one moment of the clock to another, itself a profile. */
export function cut(profile: CpuProfile, from: number, to: number): CpuProfile {
  const samples: number[] = [];
  const timeDeltas: number[] = [];
  let time = profile.startTime;
  let last = from;
  for (const [i, delta] of profile.timeDeltas.entries()) {
    time += delta;
    if (time < from || time > to) continue;
    samples.push(profile.samples[i] as number);
    timeDeltas.push(time - last);
    last = time;
  }
  return { nodes: profile.nodes, startTime: from, endTime: to, samples, timeDeltas };
}

/** The root of all calls. Each sample counts until the next one. */
export function callTree(profile: CpuProfile): Call {
  const calls = new Map<number, Call>();
  for (const { id, callFrame } of profile.nodes) calls.set(id, { frame: callFrame, self: 0, callees: [] });
  for (const { id, children = [] } of profile.nodes) {
    calls.get(id)?.callees.push(...children.map((child) => calls.get(child) as Call));
  }
  let time = profile.startTime;
  for (const [i, id] of profile.samples.entries()) {
    time += profile.timeDeltas[i] as number;
    const lasted = profile.timeDeltas[i + 1] ?? profile.endTime - time;
    (calls.get(id) as Call).self += lasted;
  }
  return calls.get(profile.nodes[0]?.id as number) as Call;
}
