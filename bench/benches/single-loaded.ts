/**
 * `single-loaded`: how long single imports take, one after the other, while a large import of the same organization
 * runs, from sending the request to the response. It belongs to the bench `single`.
 *
 * Ceilings: 300 ms for the 99th percentile; 60 ms for the median, which is the limit of the slowest on an idle machine.
 */
import { type Context, percentile, type Result, rounded } from '../bench.ts';
import { timed } from '../machine/timed.ts';
import { user } from '../testbed/load.ts';
import { DEFAULT_USERS, type Running, whileRunning } from '../testbed/running.ts';

const CALLS = 150;
/** Users of the running import for each call, so that the import does not end first. */
const USERS_PER_CALL = 2000;
const WARM_UP = 2;
const CEILING_MS = { 50: 60, 99: 300 };
const TARGET_P99_MS = 50;

export async function singleLoaded(context: Context): Promise<Result[]> {
  const { users = DEFAULT_USERS, say } = context;
  const calls = Math.min(CALLS, Math.ceil(users / USERS_PER_CALL));
  const { figures, loadPerSecond } = await whileRunning(context, users, (running) => {
    say(`single: ${calls} calls meanwhile`);
    return timedCalls(running, users, calls);
  });
  return ([50, 99] as const).map((p) => {
    const value = rounded(percentile(figures, p / 100), 2);
    const ceiling = CEILING_MS[p];
    return {
      name: `single-loaded-p${p}`,
      value,
      unit: 'ms',
      ceiling,
      ratio: rounded(value / ceiling, 3),
      notes: [
        `${calls} calls while ${users} users are imported at ${loadPerSecond} users/s; less is better`,
        ...(p === 99 ? [`target: at most ${TARGET_P99_MS} ms`] : []),
      ],
      extras: { calls, users, loadPerSecond },
    };
  });
}

/** Milliseconds of each call. @param first number of the first user outside the running import */
async function timedCalls({ client, orgId }: Running, first: number, calls: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = first; n < first + WARM_UP + calls; n++) {
    times.push(await timed(() => client.call('POST', '/management/v1/users/human/_import', user(n), orgId)));
  }
  return times.slice(WARM_UP);
}
