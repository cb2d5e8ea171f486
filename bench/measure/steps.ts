/**
 * Tells which step of an import a function belongs to, by the file of its code.
 *
 * Code built into V8, and modules of Node.js that only serve their callers (buffers, events, crypto …), count as their
 * caller's step. Idle time of the main thread is not a step.
 */
import type { Call, Frame } from './profile.ts';

/** The first match counts. A stage of the pipeline is a folder; what matches nothing is counted as `other`. */
const STEPS: [step: string, where: RegExp][] = [
  ['garbage collector', /^\(garbage collector\)$/],
  ['event loop', /^\(program\)$/],
  ['BullMQ', /\/node_modules\/(bullmq|tslib|cron-parser|msgpackr)/],
  ['Redis client', /\/node_modules\/(@?ioredis|denque|debug|standard-as-callback|cluster-key-slot)\//],
  ['PostgreSQL client', /\/node_modules\/(pg|pg-[\w-]+|postgres-[\w-]+)\/|\/src\/platform\/db\//],
  ['duplicates', /\/src\/imports\/entries\/duplicate-filter\.ts/],
  ['entries', /\/src\/(imports\/entries|platform\/text|passwords)\/|\/src\/platform\/(fields|phone|ids)\.ts/],
  ['entries', /\/node_modules\/(zod|libphonenumber-js)\//],
  ['lines for COPY', /\/src\/imports\/intake\//],
  ['our dispatcher', /\/src\/imports\/(run\/dispatch\.ts|queue\/)|\/workers\/dispatcher\.ts/],
  ['our batches', /\/src\/imports\/run\/|\/workers\/import-users\.ts/],
  ['our other loops', /\/src\/messages\/|\/src\/imports\/(control|upkeep)\/|\/workers\//],
  ['drafts and corrections', /\/src\/imports\/(drafts|repair)\//],
  ['HTTP and status calls', /^node:_http|^node:(internal\/)?(http|url|querystring)|\/src\/imports\/status\//],
  [
    'HTTP and status calls',
    /\/node_modules\/(express|express-rate-limit|router|body-parser|path-to-regexp|qs|raw-body)\//,
  ],
  [
    'HTTP and status calls',
    /\/node_modules\/(accepts|content-type|etag|fresh|negotiator|on-finished|parseurl|send|type-is)\//,
  ],
  ['HTTP and status calls', /\/src\/(platform\/http|contract|directory|signin|start)\//],
  [
    'logs and measures',
    /\/node_modules\/(pino|prom-client|sonic-boom|thread-stream)|\/src\/platform\/logger\.ts|\/src\/operate\//,
  ],
  [
    'promises and timers',
    /^node:(timers|async_hooks|internal\/(async|process\/|priority_queue|promise|timers|linkedlist))/,
  ],
  ['sockets and streams', /^node:(net|stream|internal\/(js_stream|net|stream))/],
];
export const IDLE = '(idle)';
export const OTHER = 'other';
export const STEP_NAMES = [...new Set(STEPS.map(([step]) => step)), OTHER];

/** @param caller the step of the function's caller */
export function stepOf({ functionName, url }: Frame, caller: string): string {
  const place = url || functionName;
  const found = STEPS.find(([, where]) => where.test(place));
  if (found) return found[0];
  return url === '' || url.startsWith('node:') ? caller : OTHER;
}

/** Each step's share of the main thread's working time, largest first; they add up to 1. */
export function stepShares(roots: Call[]): Map<string, number> {
  const time = new Map<string, number>();
  const add = (call: Call, caller: string): void => {
    if (call.frame.functionName === IDLE) return;
    const step = stepOf(call.frame, caller);
    time.set(step, (time.get(step) ?? 0) + call.self);
    for (const callee of call.callees) add(callee, step);
  };
  for (const root of roots) add(root, OTHER);
  const sum = [...time.values()].reduce((a, b) => a + b, 0);
  const shares = [...time].filter(([, t]) => t > 0).map(([step, t]) => [step, t / sum] as const);
  return new Map(shares.sort((a, b) => b[1] - a[1]));
}
