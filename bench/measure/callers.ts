/** Callers who call one after the other, each as soon as the call before is answered. */
import { percentile, rounded } from '../bench.ts';
import { timed } from '../machine/timed.ts';

export interface Calls {
  perSecond: number;
  /** Milliseconds of a call. */
  p50: number;
  p99: number;
}

/** Makes `count` calls from `callers` callers. @throws what a call throws */
export async function callAll(count: number, callers: number, call: (n: number) => Promise<unknown>): Promise<Calls> {
  const times: number[] = [];
  let next = 0;
  const caller = async () => {
    while (next < count) {
      const n = next++;
      times.push(await timed(() => call(n)));
    }
  };
  const ms = await timed(() => Promise.all(Array.from({ length: callers }, caller)));
  const at = (p: number) => rounded(percentile(times, p), 1);
  return { perSecond: rounded((count * 1000) / ms, 1), p50: at(0.5), p99: at(0.99) };
}
