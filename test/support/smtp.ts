/** A real SMTP server on a free loopback port, which keeps all mails and rejects them as instructed. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export interface CaughtMail {
  from: string;
  to: string[];
  /** The raw mail as received, dots unstuffed. */
  raw: Buffer;
  /** Parsed on first use, as most tests only count mails. */
  parsed(): Promise<Email>;
}

export interface Refusal {
  after: 'MAIL FROM' | 'RCPT TO' | 'DATA';
  /** Three digits, 4xx or 5xx. */
  code: number;
  text?: string;
  times: number;
}

export interface SmtpCatcher {
  url: string;
  /** In order of arrival. */
  mails: CaughtMail[];
  /** Rejects the next `times` mails. */
  refuse(refusal: Refusal): void;
  /** Leaves all mails after the next `count` without a reply, until the returned function is called. */
  holdAfter(count: number): () => void;
  /** Number of senders that wait for a reply. */
  readonly held: number;
  stop(): Promise<void>;
}

export async function startSmtp(): Promise<SmtpCatcher> {
  const mails: CaughtMail[] = [];
  let refusal: Refusal | undefined;
  let gate = { left: Number.POSITIVE_INFINITY, opened: Promise.withResolvers<void>() };
  let held = 0;

  function refused(after: Refusal['after']): Error | null {
    if (!refusal || refusal.after !== after || refusal.times === 0) return null;
    refusal.times--;
    return Object.assign(new Error(refusal.text ?? 'refused by the test'), { responseCode: refusal.code });
  }

  async function passGate(): Promise<void> {
    if (gate.left-- > 0) return;
    held++;
    await gate.opened.promise;
    held--;
  }

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    closeTimeout: 100,
    onMailFrom: (_address, _session, done) => done(refused('MAIL FROM')),
    onRcptTo: (_address, _session, done) => done(refused('RCPT TO')),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const problem = refused('DATA');
        if (problem) return done(problem);
        const raw = Buffer.concat(chunks);
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : '';
        mails.push({ from, to: rcptTo.map((r) => r.address), raw, parsed: () => PostalMime.parse(raw) });
        await passGate();
        done();
      });
    },
  });
  function open(): void {
    gate.opened.resolve();
    gate = { left: Number.POSITIVE_INFINITY, opened: Promise.withResolvers<void>() };
  }

  server.on('error', () => {}); // clients that hang up during a mail are part of the tests
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;

  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse(next) {
      refusal = { ...next };
    },
    holdAfter(count) {
      const { opened } = gate;
      gate = { left: count, opened };
      return open;
    },
    get held() {
      return held;
    },
    stop() {
      open();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** All URLs of a text. */
export function urlsIn(text: string): URL[] {
  return [...text.matchAll(/\bhttps?:\/\/[^\s"'<>()]+/g)].map(([url]) => new URL(url));
}
