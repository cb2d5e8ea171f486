/** A local SMTP server that accepts every mail, in a separate process, so that it does not load other event loops. */
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
   * @throws Error when none arrives for a minute, or when unexpected mails arrived
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
      throw new Error(`${arrivals.length} mails arrived for ${recipients} users; expected one for each of ${mails}.`);
    },
  };
}

/** The next report that matches; reports that arrive together are checked one by one. */
function next(child: ChildProcess, matches: (report: SinkReport) => boolean): Promise<SinkReport> {
  return new Promise((resolve, reject) => {
    const stuck = setTimeout(() => settle(() => reject(new Error('No mail arrived for a minute.'))), STUCK_AFTER_MS);
    const settle = (how: () => void) => {
      clearTimeout(stuck);
      child.off('message', check).off('exit', dead);
      how();
    };
    const dead = () => settle(() => reject(new Error('The SMTP sink ended.')));
    const check = (report: SinkReport) => {
      stuck.refresh();
      if (matches(report)) settle(() => resolve(report));
    };
    child.on('message', check).once('exit', dead);
  });
}
