/** A local SMTP server that takes every mail, in a process of its own, so that it has no share in anybody's loop. */
import type { ChildProcess } from 'node:child_process';
import type { Scope } from '../scope.ts';
import { startHelper } from './helper.ts';
import type { Caught, SinkReport } from './sink-process.ts';

const FILE = new URL('./sink-process.ts', import.meta.url);
const STUCK_AFTER_MS = 60_000;

export interface Sink {
  url: string;
  pid: number;
  /**
   * Waits for that many mails since the last call, and takes them.
   * @throws Error when none comes for a minute, or when some came that were not to be sent
   */
  take(mails: number): Promise<Caught>;
}

export async function startSink(scope: Scope): Promise<Sink> {
  const { child, ready } = await startHelper<SinkReport>(scope, FILE, {});
  return {
    url: `smtp://127.0.0.1:${ready.port}`,
    pid: child.pid as number,
    async take(mails) {
      await next(child, ({ count = 0 }) => count >= mails);
      child.send({});
      const { caught } = await next(child, (report) => report.caught !== undefined);
      const { arrivals, recipients } = caught as Caught;
      if (arrivals.length === mails && recipients === mails) return caught as Caught;
      throw new Error(`${arrivals.length} mails came for ${recipients} users, where each of ${mails} was to get one.`);
    },
  };
}

/** The next report that is meant; reports that come together are looked at one by one. */
function next(child: ChildProcess, isMeant: (report: SinkReport) => boolean): Promise<SinkReport> {
  return new Promise((resolve, reject) => {
    const stuck = setTimeout(() => settle(() => reject(new Error('The mails do not come.'))), STUCK_AFTER_MS);
    const settle = (how: () => void) => {
      clearTimeout(stuck);
      child.off('message', look).off('exit', dead);
      how();
    };
    const dead = () => settle(() => reject(new Error('The SMTP sink ended.')));
    const look = (report: SinkReport) => {
      stuck.refresh();
      if (isMeant(report)) settle(() => resolve(report));
    };
    child.on('message', look).once('exit', dead);
  });
}
