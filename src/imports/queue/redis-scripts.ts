/**
 * The scripts of ours that do for many jobs what a script of BullMQ does for one, defined on BullMQ's connection.
 *
 * Guarantee: a script of ours is used only if BullMQ has loaded the script that it replaces, with a text that Muster knows
 * (batching.ts). ioredis keeps the texts of loaded scripts in `scriptsSet`, which is read here.
 */
import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';
import { isKnownScript } from './batching.ts';

/** By BullMQ's name of the script that they replace; `keys` is their number of keys. */
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
/** Called with the reason why calls are not batched. */
export type Warn = (reason: string) => void;

/** Returns the script of ours that replaces this script of BullMQ's, if it may be used. */
export type FindScript = (name: ScriptName) => RunScript | undefined;

export interface BatchDeps {
  findScript: FindScript;
  /** The keys of the queue, by BullMQ's names; '' is their prefix. */
  keys: Record<string, string>;
  warn: Warn;
}

/** The result is for calls after BullMQ's backend is ready: then BullMQ has loaded its scripts. */
export function openScripts(redis: Redis | Cluster, warn: Warn): FindScript {
  const found = new Map<ScriptName, RunScript | undefined>();
  return (name) => {
    if (!found.has(name)) found.set(name, isLoaded(redis, name, warn) ? define(redis, name) : undefined);
    return found.get(name);
  };
}

/** Whether BullMQ has loaded this script with a known text. BullMQ adds its version to the name. */
function isLoaded(redis: Redis | Cluster, name: ScriptName, warn: Warn): boolean {
  const scripts = Object.entries(redis.scriptsSet as Record<string, { lua: string }>);
  const loaded = scripts.find(([command]) => command.startsWith(`${name}:`));
  if (loaded && isKnownScript(name, loaded[1].lua)) return true;
  warn(
    `BullMQ's script ${loaded?.[0] ?? name} is not the version that Muster batches. Its calls are sent one by one, which is slower.`,
  );
  return false;
}

function define(redis: Redis | Cluster, name: ScriptName): RunScript {
  const { lua, keys } = SCRIPTS[name];
  const command = `batched:${name}`;
  redis.defineCommand(command, { lua, numberOfKeys: keys });
  const commands = redis as unknown as Record<string, (args: Arg[]) => Promise<unknown>>;
  const run = commands[command] as (args: Arg[]) => Promise<unknown>;
  return (jobKeys, args) => run.call(redis, [...jobKeys, ...args]);
}

/** Whether Redis refused a script or one of its commands; otherwise it is unknown what Redis did. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

function luaOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}
