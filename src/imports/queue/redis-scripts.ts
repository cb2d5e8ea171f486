import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';
import { isKnownScript } from './batching.ts';
/**
 * The scripts that do for many jobs at once what a script of BullMQ does for each, and the connections that have them.
 *
 * BullMQ loads its scripts by `defineCommand` of ioredis 6.0, which is replaced here, so that a script's text is known. The
 * tests of this folder fail when BullMQ no longer loads them this way.
 * Guarantee: a script that Muster does not know is never replaced (`isKnownScript`).
 */

/** By BullMQ's name of the script whose work they do; `keys` is their number of keys. */
export const SCRIPTS = {
  addStandardJob: { lua: luaOf('redis-add.lua'), keys: 5 },
  moveToFinished: { lua: luaOf('redis-finish.lua'), keys: 9 },
} as const;
export type ScriptName = keyof typeof SCRIPTS;

/** Redis does nothing else during such a call, which takes one or two milliseconds. */
export const MOST_AT_ONCE = 100;

export type Arg = string | number;
/** @throws ReplyError when the script failed: then it has left every job where BullMQ's script can still do its work */
export type RunScript = (keys: string[], args: Arg[]) => Promise<unknown>;
/** Those that may be used: BullMQ has loaded the script that each stands for. */
export type Loaded = Partial<Record<ScriptName, RunScript>>;
/** Called with the reason why calls are not batched. */
export type Warn = (reason: string) => void;

const connections = new WeakMap<Redis | Cluster, Loaded>();

/** Call it before BullMQ uses the connection. */
export function loadedScripts(redis: Redis | Cluster, warn: Warn): Loaded {
  const known = connections.get(redis);
  if (known) return known;
  const loaded: Loaded = {};
  connections.set(redis, loaded);
  const define = redis.defineCommand.bind(redis);
  const commands = redis as unknown as Record<string, (args: Arg[]) => Promise<unknown>>;
  redis.defineCommand = (name, script) => {
    define(name, script);
    const short = name.split(':')[0] as ScriptName; // BullMQ adds its version
    if (!Object.hasOwn(SCRIPTS, short)) return;
    if (!isKnownScript(name, (script as { lua: string }).lua)) {
      warn(
        `BullMQ's script ${name} is not the version that Muster batches. Its calls are sent one by one, which is slower.`,
      );
      return;
    }
    const { lua, keys } = SCRIPTS[short];
    const command = `${name}:batched`;
    define(command, { lua, numberOfKeys: keys });
    loaded[short] = (jobKeys, args) => (commands[command] as RunCommand).call(redis, [...jobKeys, ...args]);
  };
  return loaded;
}
type RunCommand = (args: Arg[]) => Promise<unknown>;

/** Whether Redis refused a script or one of its commands; otherwise it is unknown what Redis did. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

function luaOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}
