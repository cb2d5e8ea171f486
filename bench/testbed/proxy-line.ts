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
  return new DelayLine(ms);
}

class DelayLine extends Duplex {
  private readonly ms: number;
  private waiting: { due: number; chunk: Buffer }[] = [];
  private bytes = 0;
  private isWanted = false;
  private isEnded = false;
  private timer: NodeJS.Timeout | undefined;
  /** Accepts the next chunk; set while there is no room for it. */
  private takeMore: (() => void) | undefined;

  constructor(ms: number) {
    super();
    this.ms = ms;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.waiting.push({ due: performance.now() + this.ms, chunk });
    this.bytes += chunk.length;
    if (this.bytes < MOST_BYTES) done();
    else this.takeMore = done;
    if (this.isWanted) this.untilDue();
  }

  override _read(): void {
    this.isWanted = true;
    this.untilDue();
  }

  override _final(done: () => void): void {
    this.isEnded = true;
    this.timer ??= setTimeout(() => this.release(), 0);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.timer);
    done(error);
  }

  /** Waits until the oldest chunk is due; each chunk has its own due time. */
  private untilDue(): void {
    const [next] = this.waiting;
    if (next) this.timer ??= setTimeout(() => this.release(), Math.max(0, next.due - performance.now()));
  }

  private release(): void {
    this.timer = undefined;
    const due = this.isWanted ? this.takeDue() : [];
    if (due.length > 0) this.isWanted = this.push(due.length === 1 ? due[0] : Buffer.concat(due));
    if (this.isEnded && this.waiting.length === 0) this.push(null);
    else if (this.isWanted) this.untilDue();
    if (!this.takeMore || this.bytes >= MOST_BYTES) return;
    const take = this.takeMore;
    this.takeMore = undefined;
    take();
  }

  private takeDue(): Buffer[] {
    const now = performance.now() + SLACK_MS;
    const first = this.waiting.findIndex(({ due }) => due > now);
    const count = first === -1 ? this.waiting.length : first;
    const due = this.waiting.slice(0, count).map(({ chunk }) => chunk);
    this.waiting = this.waiting.slice(count);
    for (const chunk of due) this.bytes -= chunk.length;
    return due;
  }
}
