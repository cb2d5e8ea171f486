/**
 * An SMTP server that misbehaves on demand, and keeps what it accepted.
 *
 * Guarantee: a mail counts as delivered when its data has arrived completely and was not refused, even if the sender
 * never gets the reply; `replied` says whether the server sent one.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';

export interface Copy {
  to: string;
  messageId: string;
  /** Of all bytes. */
  digest: string;
  /** When the data was complete, in milliseconds since 1970. */
  at: number;
  replied: boolean;
  /** The name of the process that sent it. */
  sender: string;
}

/** `slow`: replies after a second; `refuse`: 451 to the data; `busy`: 421 to the sender; `drop`: accepts, and breaks the connection instead of replying. */
export type Misbehaviour = 'none' | 'slow' | 'refuse' | 'busy' | 'drop';

export interface ChaosSmtp {
  port: number;
  copies: Copy[];
  behave(how: Misbehaviour): void;
  stop(): Promise<void>;
}

const SLOW_MS = 1000;

/** What the server knows of the other end of a connection, by the port from which it comes. */
export interface Senders {
  /** Empty when the connection is broken. */
  nameOf(port: number): string;
  /** Breaks the connection. */
  drop(port: number): void;
}

export async function openSmtp(senders: Senders): Promise<ChaosSmtp> {
  const copies: Copy[] = [];
  let how: Misbehaviour = 'none';

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    closeTimeout: 100,
    onMailFrom: (_address, _session, done) => done(how === 'busy' ? refusal(421) : null),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const now = how;
        if (now === 'refuse') return done(refusal(451));
        const raw = Buffer.concat(chunks);
        const copy = copyOf(raw, session.envelope.rcptTo[0]?.address ?? '', senders.nameOf(session.remotePort));
        copies.push(copy);
        if (now === 'drop') return senders.drop(session.remotePort);
        if (now === 'slow') await sleep(SLOW_MS);
        // A connection that was reset at the end of the data is unknown by now, and gets no reply.
        copy.replied = senders.nameOf(session.remotePort) !== '';
        done();
      });
    },
  });
  server.on('error', () => {}); // senders that hang up during a mail are part of the plan
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    copies,
    behave(next) {
      how = next;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function refusal(responseCode: number): Error {
  return Object.assign(new Error('refused by the plan'), { responseCode });
}

/** @param sender the name of the process that sent it */
export function copyOf(raw: Buffer, to: string, sender: string): Copy {
  const [, messageId = ''] = /^message-id:\s*(\S+)/im.exec(raw.toString('latin1')) ?? [];
  const digest = createHash('sha256').update(raw).digest('hex');
  return { to, messageId, digest, at: Date.now(), replied: false, sender };
}
