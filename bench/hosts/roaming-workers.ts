/**
 * Worker processes on hosts (network.ts), which can die and be replaced on another host at random.
 *
 * Guarantee: all of them end with the scope. On crash: they notice the closed IPC channel, and end.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Random } from '../random.ts';
import type { Scope } from '../scope.ts';
import { messageOf } from '../testbed/helper.ts';

const FILE = fileURLToPath(new URL('../../workers/all-in-one.ts', import.meta.url));

export interface RoamingWorkers {
  /** Kills one at random, or asks it to stop, and starts another on a random host; resolves when at least one lives. */
  replaceOne(): Promise<void>;
  /** Resolves when all that were started are ready. */
  settled(): Promise<unknown>;
  deaths(): { killed: number; stopped: number };
}

/**
 * @param hosts namespaces; undefined: this host
 * @param env all settings of a worker
 */
export async function startRoaming(
  scope: Scope,
  random: Random,
  { hosts, count, env }: { hosts: readonly (string | undefined)[]; count: number; env: NodeJS.ProcessEnv },
): Promise<RoamingWorkers> {
  const living = new Set<ChildProcess>();
  const joining = new Set<Promise<void>>();
  const ended = { killed: 0, stopped: 0 };
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;

  async function start(host: string | undefined): Promise<void> {
    const child = await scope.start(async () => spawnOn(host, env), end);
    await messageOf(child); // ready
    living.add(child);
  }

  function join(): void {
    const joined = start(pick(hosts)).finally(() => joining.delete(joined));
    joining.add(joined);
  }

  await Promise.all(Array.from({ length: count }, (_, n) => start(hosts[n % hosts.length])));
  return {
    async replaceOne() {
      const victim = pick([...living]);
      living.delete(victim);
      const isKilled = random.next() < 0.5;
      ended[isKilled ? 'killed' : 'stopped']++;
      victim.kill(isKilled ? 'SIGKILL' : 'SIGTERM');
      join();
      if (living.size === 0) await Promise.race(joining);
    },
    settled: () => Promise.all(joining),
    deaths: () => ended,
  };
}

/** `ip netns exec` becomes the program, so the process id is that of the worker. */
function spawnOn(host: string | undefined, env: NodeJS.ProcessEnv): ChildProcess {
  const options: SpawnOptions = { env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] };
  if (host === undefined) return spawn(process.execPath, [FILE], options);
  return spawn('ip', ['netns', 'exec', host, process.execPath, FILE], options);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
