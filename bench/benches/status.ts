/**
 * `status`: how long it takes to read the status of a running import and the list of imports, alternately at a moderate
 * rate; for an import of a tenth of the users and one of all of them, because the time must not depend on the size.
 *
 * Ceiling: 20 ms for the 99th percentile while the workers are at full speed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, percentile, type Result, rounded, timed } from '../bench.ts';
import { DEFAULT_USERS, type Running, tooFew, whileRunning } from '../testbed/running.ts';

const CALLS = 300;
/** Users of the running import for each call, so that a short import gets few calls. */
const USERS_PER_CALL = 100;
/** Fewer calls give no meaningful percentile. */
const LEAST_CALLS = 3;
const PAUSE_MS = 20;
const WARM_UP = 2;
const CEILING_MS = 20;
const TARGET_MS = 15;

interface Figures {
  users: number;
  calls: number;
  p50: number;
  p99: number;
  listP50: number;
  listP99: number;
  loadPerSecond: number;
}

export async function status(context: Context): Promise<Result[]> {
  const most = context.users ?? DEFAULT_USERS;
  const small = await measured(context, Math.max(1, Math.round(most / 10)));
  const large = await measured(context, most);
  const p50Ratio = rounded(large.p50 / small.p50, 2);
  return [
    resultOf(small, {}, ''),
    resultOf(large, { p50Ratio }, `; its p50 is ${p50Ratio} times that of ${small.users} users`),
  ];
}

async function measured(context: Context, users: number): Promise<Figures> {
  const { figures, loadPerSecond } = await whileRunning(context, users, (running) => {
    context.say(`status: up to ${CALLS} calls for an import of ${users} users`);
    return timedCalls(running, users);
  });
  const at = (times: number[], p: number) => rounded(percentile(times, p), 2);
  const { one, list } = figures;
  const [p50, p99, listP50, listP99] = [at(one, 0.5), at(one, 0.99), at(list, 0.5), at(list, 0.99)];
  return { users, calls: one.length, p50, p99, listP50, listP99, loadPerSecond };
}

/** Milliseconds of each call; stops when only a quarter of the import is left. */
async function timedCalls({ client, importId }: Running, users: number): Promise<{ one: number[]; list: number[] }> {
  const one: number[] = [];
  const list: number[] = [];
  const most = WARM_UP + Math.min(CALLS, Math.ceil(users / USERS_PER_CALL));
  for (let pending = users; one.length < most && pending > users / 4; ) {
    const ms = await timed(async () => {
      ({ pending } = (await client.call('GET', `/admin/v1/imports/${importId}`)).counts);
    });
    one.push(ms);
    await sleep(PAUSE_MS / 2);
    list.push(await timed(() => client.call('GET', '/admin/v1/imports')));
    await sleep(PAUSE_MS / 2);
  }
  if (one.length < WARM_UP + LEAST_CALLS) throw tooFew(users);
  return { one: one.slice(WARM_UP), list: list.slice(WARM_UP) };
}

function resultOf({ users, ...figures }: Figures, extras: Record<string, unknown>, remark: string): Result {
  const { calls, p50, p99, listP50, listP99, loadPerSecond } = figures;
  return {
    name: `status-${users}`,
    value: p99,
    unit: 'ms',
    ceiling: CEILING_MS,
    ratio: rounded(p99 / CEILING_MS, 3),
    notes: [
      `p99 of ${calls} calls while ${users} users are imported, p50 ${p50} ms${remark}; less is better`,
      `the list of imports: p50 ${listP50} ms, p99 ${listP99} ms; target: p99 at most ${TARGET_MS} ms`,
      `meanwhile ${loadPerSecond} users/s of the import`,
    ],
    extras: { users, ...figures, ...extras },
  };
}
