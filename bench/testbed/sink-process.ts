/**
 * The process of the SMTP sink (sink.ts): accepts every mail, and keeps the first one, all arrival times and all
 * recipients. It reports the number of mails every 20 ms while that changes.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { endWithParent } from './helper.ts';

export interface SinkReport {
  port?: number;
  /** Mails since they were last taken. */
  count?: number;
  caught?: Caught;
}

export interface Caught {
  /** When each mail had arrived completely, in milliseconds, ascending. */
  arrivals: number[];
  /** Number of different recipients. */
  recipients: number;
  /** The first mail, one character per byte. */
  first: string;
}

const REPORT_MS = 20;

let arrivals: number[] = [];
let recipients = new Set<string>();
let first = '';
let reported = 0;

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  logger: false,
  async onData(stream, session, done) {
    const raw = await buffer(stream);
    if (arrivals.length === 0) first = raw.toString('latin1');
    arrivals.push(performance.now());
    for (const { address } of session.envelope.rcptTo) recipients.add(address);
    done();
  },
});
server.on('error', () => {}); // a client that is stopped during a mail ends with its bench

endWithParent();
process.once('message', async () => {
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  setInterval(reportCount, REPORT_MS);
  process.on('message', giveAll);
  report({ port: (server.server.address() as AddressInfo).port });
});

function reportCount(): void {
  if (arrivals.length === reported) return;
  reported = arrivals.length;
  report({ count: reported });
}

function giveAll(): void {
  report({ caught: { arrivals, recipients: recipients.size, first } });
  arrivals = [];
  recipients = new Set();
  reported = 0;
}

function report(message: SinkReport): void {
  process.send?.(message);
}
