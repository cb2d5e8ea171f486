/**
 * A helper process of a bench: it gets its task over IPC, and reports when it is ready.
 *
 * Guarantee: it ends with the scope.
 *
 * On crash: it ends too, because it notices the closed channel (`endWithParent`).
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Scope } from '../scope.ts';

interface Helper<Ready> {
  child: ChildProcess;
  /** The message that it sent when it was ready. */
  ready: Ready;
}

/** @throws Error when it ends before it is ready */
export async function startHelper<Ready>(scope: Scope, file: URL, order: unknown): Promise<Helper<Ready>> {
  const child = await scope.start(
    async () => fork(file, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
    endProcess,
  );
  child.send(order as object);
  return { child, ready: await messageOf<Ready>(child) };
}

/**
 * The next message.
 * @throws Error when the process ends instead, or sends none within that many milliseconds
 */
export async function messageOf<T>(child: ChildProcess, withinMs?: number): Promise<T> {
  const over = new AbortController();
  const abort = () => over.abort();
  child.once('exit', abort);
  try {
    const limit = withinMs === undefined ? [] : [AbortSignal.timeout(withinMs)];
    const [message] = await once(child, 'message', { signal: AbortSignal.any([over.signal, ...limit]) });
    return message as T;
  } catch (cause) {
    const why = over.signal.aborted ? 'ended early' : 'sent no message in time';
    throw new Error(`The process ${child.spawnargs.at(-1)} ${why}.`, { cause });
  } finally {
    child.off('exit', abort);
  }
}

/** Called in the process itself: without its parent, it has nothing to finish. */
export function endWithParent(): void {
  process.on('disconnect', () => process.exit(0));
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
