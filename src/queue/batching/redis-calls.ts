/**
 * Many calls of one BullMQ script as one call: the batched script, its arguments, and which calls may share it.
 *
 * The batched script first tries what can be done for all jobs at once (redis-add.lua, redis-finish.lua). Where that
 * does not apply, or fails, it calls BullMQ's script, unchanged, for each job with its own arguments.
 */
import { readFileSync } from 'node:fs';

export type Arg = string | number | Buffer | undefined;

/** A BullMQ script. All positions are counted from 1, as in BullMQ's comments. */
export interface Kind {
  /** Lua: `local function batch(KEYS, shared, own)`. */
  batch: string;
  keys: number;
  arguments: number;
  /** The arguments that differ from job to job. */
  own: readonly number[];
  /** The argument that is taken from the latest call. */
  latest?: number;
  /**
   * The position of the job's key among the keys, and of its prefix among the arguments. The key is the prefix and then
   * the first of the job's own arguments.
   */
  jobKey?: { key: number; prefix: number };
}

export const ADD: Kind = { batch: luaOf('redis-add.lua'), keys: 9, arguments: 3, own: [1, 2, 3] };
export const FINISH: Kind = {
  batch: luaOf('redis-finish.lua'),
  keys: 14,
  arguments: 9,
  own: [1, 4, 8],
  latest: 2,
  jobKey: { key: 12, prefix: 7 },
};

function luaOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}

/** How the script of this name is batched, if it is. ioredis registers it with a version suffix. */
export function kindOf(name: string): Kind | undefined {
  if (/^moveToFinished(:|$)/.test(name)) return FINISH;
  return /^addStandardJob(:|$)/.test(name) ? ADD : undefined;
}

/**
 * The batched script. KEYS are those of one call; ARGV are the arguments of one call, then the own arguments of each.
 * It returns the result of each call and, if an error prevented batching, the message of that error at the end.
 */
export function batchedScript(lua: string, { batch, arguments: length, own, jobKey }: Kind): string {
  return `local function one(KEYS, ARGV)
${lua}
end
${batch}
local args, own, keys, results = {}, {}, {}, {}
for a = 1, ${length} do args[a] = ARGV[a] end
for a = ${length + 1}, #ARGV, ${own.length} do own[#own + 1] = {unpack(ARGV, a, a + ${own.length - 1})} end
local done, all = pcall(batch, KEYS, args, own)
if done and all then return all end
for k = 1, #KEYS do keys[k] = KEYS[k] end
for i = 1, #own do
  ${own.map((place) => `args[${place}]`).join(', ')} = unpack(own[i])
  ${jobKey ? `keys[${jobKey.key}] = args[${jobKey.prefix}] .. own[i][1]` : ''}
  local ok, result = pcall(one, keys, args)
  if ok then results[i] = result or false
  else results[i] = {err = type(result) == 'table' and result.err or tostring(result)} end
end
if not done then results[#own + 1] = type(all) == 'table' and all.err or tostring(all) end
return results`;
}

/** Whether the calls differ only in the arguments that are each job's own. */
export function areAlike(kind: Kind, calls: Arg[][]): boolean {
  const [first] = calls as [Arg[]];
  const { jobKey } = kind;
  const isOwn = (place: number) => {
    const argument = place - kind.keys + 1;
    return kind.own.includes(argument) || argument === kind.latest || place + 1 === jobKey?.key;
  };
  return calls.every(
    (call) =>
      call.length === kind.keys + kind.arguments &&
      call.every((value, place) => value === first[place] || isOwn(place)) &&
      (!jobKey || call[jobKey.key - 1] === `${argumentOf(kind, call, jobKey.prefix)}${argumentOf(kind, call, 1)}`),
  );
}

/** The keys and arguments of the batched script. */
export function joined(kind: Kind, calls: Arg[][]): Arg[] {
  const all = [...(calls.at(-1) as Arg[])];
  for (const call of calls) for (const place of kind.own) all.push(argumentOf(kind, call, place));
  return all;
}

function argumentOf({ keys }: Kind, call: Arg[], place: number): Arg {
  return call[keys + place - 1];
}
