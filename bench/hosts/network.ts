/**
 * Several hosts on one machine: network namespaces, each joined to the stores by a link with latency and loss (link.py).
 *
 * Guarantee: namespaces, links and addresses end with the scope. Nothing outside this machine can reach them.
 * On crash: the links end with their processes; empty namespaces named `muster-host-…` may be left, which the next run
 * reuses.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Skipped } from '../bench.ts';
import type { Scope } from '../scope.ts';

const run = promisify(execFile);
const LINK = fileURLToPath(new URL('./link.py', import.meta.url));
/** The address of the stores, for all hosts. */
export const STORE_ADDRESS = '10.211.0.1';

export interface Link {
  /** Each way; a round trip takes twice as long. */
  delayMs: number;
  /** Percent of the packets, each way. */
  loss: number;
}

/** Starts `count` hosts; returns the names of their namespaces. @throws Skipped where this is not allowed */
export async function startHosts(scope: Scope, count: number, link: Link): Promise<string[]> {
  await requireNamespaces();
  await scope.start(
    () => ip('address', 'replace', `${STORE_ADDRESS}/32`, 'dev', 'lo'),
    () => ip('address', 'delete', `${STORE_ADDRESS}/32`, 'dev', 'lo'),
  );
  const names: string[] = [];
  for (let n = 1; n <= count; n++) names.push(await startHost(scope, n, link));
  return names;
}

async function requireNamespaces(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Skipped('network namespaces need root');
  await access('/dev/net/tun').catch(() => {
    throw new Skipped('this kernel has no TUN devices');
  });
  for (const [program, option] of [
    ['ip', '-V'],
    ['python3', '-V'],
  ] as const) {
    await run(program, [option]).catch(() => {
      throw new Skipped(`the program ${program} is not on this machine`);
    });
  }
}

async function startHost(scope: Scope, n: number, { delayMs, loss }: Link): Promise<string> {
  const name = `muster-host-${process.pid}-${n}`;
  await scope.start(
    () => ip('netns', 'add', name),
    () => ip('netns', 'delete', name),
  );
  const [near, far] = [`10.211.${n}.1`, `10.211.${n}.2`];
  const args = [LINK, name, near, far, STORE_ADDRESS, String(delayMs), String(loss), String(n)];
  const child = await scope.start(
    async () => spawn('python3', args, { stdio: ['pipe', 'pipe', 'inherit'] }),
    async (started) => {
      if (started.exitCode !== null) return;
      started.stdin.end();
      await once(started, 'exit');
    },
  );
  const first = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  if (String(first[0]).trim() !== 'ready') throw new Skipped('this kernel does not allow links between namespaces');
  return name;
}

function ip(...args: string[]): Promise<unknown> {
  return run('ip', args);
}
