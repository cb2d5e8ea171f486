/**
 * Processor time of a Node.js process by kind of thread, read from /proc, because a CPU profile does not contain it.
 *
 * A thread that ended in between is missing; Node.js' own threads live as long as the process.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { CpuTime } from './cpu.ts';

/** USER_HZ, as in cpu.ts. */
const MICROSECONDS_PER_TICK = 10_000;
/** V8's helpers collect garbage and compile frequently used code. */
const KINDS: Record<string, string> = {
  V8Worker: 'V8 threads (garbage, compiling)',
  DelayedTaskSche: 'V8 threads (garbage, compiling)',
  'libuv-worker': 'thread pool',
};
export const MAIN_THREAD = 'main thread';

/** Microseconds so far by kind of thread, over all of `pids`. */
export function threadTime(pids: number[]): CpuTime {
  const time: CpuTime = {};
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const { name, ticks } = readThread(`/proc/${pid}/task/${thread}/stat`);
      const kind = thread === String(pid) ? MAIN_THREAD : (KINDS[name] ?? 'other threads');
      time[kind] = (time[kind] ?? 0) + ticks * MICROSECONDS_PER_TICK;
    }
  }
  return time;
}

function readThread(file: string): { name: string; ticks: number } {
  const text = readFileSync(file, 'utf8');
  // proc(5): the name is in parentheses and may contain some; utime and stime are the fields 14 and 15.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  return { name: text.slice(text.indexOf('(') + 1, end), ticks: Number(fields[11]) + Number(fields[12]) };
}
