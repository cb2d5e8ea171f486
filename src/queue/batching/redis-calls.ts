/**
 * Many calls of one script of BullMQ's as one call: its script, its arguments, and which calls may go so.
 *
 * The script first tries to do in common what can be done in common (redis-add.ts, redis-finish.ts); where that did
 * nothing it calls BullMQ's text, unchanged, for each job with its own arguments. Written for BullMQ 6.7; a test fails when
 * one of these scripts changes.
 */
import { ADD_TOGETHER } from './redis-add.ts';
import { FINISH_TOGETHER } from './redis-finish.ts';

export type Arg = string | number | Buffer | undefined;

/** A script of BullMQ's. All places are counted from 1, as BullMQ's comments do. */
export interface Kind {
  /** Our function for many. */
  together: string;
  keys: number;
  arguments: number;
  /** The arguments that differ from job to job. */
  own: readonly number[];
  /** The argument that is taken from the latest call. */
  latest?: number;
  /** The key that is the job's: the prefix, an argument, and then the first of its own. */
  jobKey?: { key: number; prefix: number };
}

export const ADD: Kind = { together: ADD_TOGETHER, keys: 9, arguments: 3, own: [1, 2, 3] };
export const FINISH: Kind = {
  together: FINISH_TOGETHER,
  keys: 14,
  arguments: 9,
  own: [1, 4, 8],
  latest: 2,
  jobKey: { key: 12, prefix: 7 },
};

/** How the script of this name is merged; ioredis knows it with a version behind it. */
export function kindOf(name: string): Kind | undefined {
  if (/^moveToFinished(:|$)/.test(name)) return FINISH;
  return /^addStandardJob(:|$)/.test(name) ? ADD : undefined;
}

/** KEYS are those of one call; ARGV the arguments of one, then what is each one's own. It answers what each would have. */
export function mergedScript(lua: string, { together, arguments: length, own, jobKey }: Kind): string {
  return `local function one(KEYS, ARGV)
${lua}
end
${together}
local args, own, keys, results = {}, {}, {}, {}
for a = 1, ${length} do args[a] = ARGV[a] end
for a = ${length + 1}, #ARGV, ${own.length} do own[#own + 1] = {unpack(ARGV, a, a + ${own.length - 1})} end
local ok, all = pcall(together, KEYS, args, own)
if ok and all then return all end
for k = 1, #KEYS do keys[k] = KEYS[k] end
for i = 1, #own do
  ${own.map((place) => `args[${place}]`).join(', ')} = unpack(own[i])
  ${jobKey ? `keys[${jobKey.key}] = args[${jobKey.prefix}] .. own[i][1]` : ''}
  local ok, result = pcall(one, keys, args)
  if ok then results[i] = result or false
  else results[i] = {err = type(result) == 'table' and result.err or tostring(result)} end
end
return results`;
}

/** Whether the calls differ in nothing but what is each one's own. */
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

/** What the merged script is called with. */
export function joined(kind: Kind, calls: Arg[][]): Arg[] {
  const all = [...(calls.at(-1) as Arg[])];
  for (const call of calls) for (const place of kind.own) all.push(argumentOf(kind, call, place));
  return all;
}

function argumentOf({ keys }: Kind, call: Arg[], place: number): Arg {
  return call[keys + place - 1];
}
