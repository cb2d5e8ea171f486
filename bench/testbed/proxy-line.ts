/**
 * One direction of a connection, on which data arrives about `ms` after it was sent, in order.
 *
 * Chunks that are due at the same time leave together. Timers have a resolution of a millisecond, so each chunk is late
 * or early by up to half of one; the delay actually added must be measured. Back-pressure: it accepts no more data
 * while it holds `MOST_BYTES`, and passes on no more than is requested.
 */
import { Duplex } from 'node:stream';

const MOST_BYTES = 1024 * 1024;
const SLACK_MS = 0.5;

export function delayLine(ms: number): Duplex {
  let waiting: { due: number; chunk: Buffer }[] = [];
  let bytes = 0;
  let wanted = false;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  /** Accepts the next chunk; set while there is no room for it. */
  let takeMore: (() => void) | undefined;

  function release(): void {
    timer = undefined;
    const due = wanted ? takeDue() : [];
    if (due.length > 0) wanted = line.push(due.length === 1 ? due[0] : Buffer.concat(due));
    if (ended && waiting.length === 0) line.push(null);
    else if (wanted) untilDue();
    if (!takeMore || bytes >= MOST_BYTES) return;
    const take = takeMore;
    takeMore = undefined;
    take();
  }

  /** Waits until the oldest chunk is due; each chunk has its own due time. */
  function untilDue(): void {
    const [next] = waiting;
    if (next) timer ??= setTimeout(release, Math.max(0, next.due - performance.now()));
  }

  function takeDue(): Buffer[] {
    const now = performance.now() + SLACK_MS;
    const first = waiting.findIndex(({ due }) => due > now);
    const count = first === -1 ? waiting.length : first;
    const due = waiting.slice(0, count).map(({ chunk }) => chunk);
    waiting = waiting.slice(count);
    for (const chunk of due) bytes -= chunk.length;
    return due;
  }

  const line = new Duplex({
    write(chunk: Buffer, _encoding, done) {
      waiting.push({ due: performance.now() + ms, chunk });
      bytes += chunk.length;
      if (bytes < MOST_BYTES) done();
      else takeMore = done;
      if (wanted) untilDue();
    },
    read() {
      wanted = true;
      untilDue();
    },
    final(done) {
      ended = true;
      timer ??= setTimeout(release, 0);
      done();
    },
    destroy(error, done) {
      clearTimeout(timer);
      done(error);
    },
  });
  return line;
}
