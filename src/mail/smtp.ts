/**
 * Delivers mail over SMTP, on a bounded number of persistent connections.
 *
 * Guarantee: a mail that the server acknowledged is reported as sent, and no send takes longer than SEND_MS after its wait
 * for a connection.
 *
 * On crash: between the server's acknowledgement and our record of it, the mail is sent again, byte for byte the same.
 */
import { createTransport } from 'nodemailer';
import type { SendResult, Transport } from './transport.ts';

/** Connections of one process; further deliveries wait for a free one. */
export const SMTP_CONNECTIONS = 8;
const SEND_MS = 120_000;

const LIMITS = {
  pool: true,
  maxConnections: SMTP_CONNECTIONS,
  maxMessages: 1000,
  // Our own retries wait longer; one immediate retry covers an idle connection that the server has closed.
  maxRequeues: 1,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  dnsTimeout: 10_000,
  // Not longer than a claim (relay.ts): when a process that froze continues, this ends what it was sending, before it
  // reads a reply, as another process may have sent the mail meanwhile.
  socketTimeout: 60_000,
  disableFileAccess: true,
  disableUrlAccess: true,
} as const;

/** @param url `smtp://user:password@host:port` or `smtps://…`; connects with the first mail */
export function openSmtp(url: string): Transport {
  const transporter = createTransport({ url, ...LIMITS });
  // The pool has its own queue, but does not say when a mail leaves it.
  const inSlot = openSlots(SMTP_CONNECTIONS);
  return {
    send: (mail, mayBegin = always) =>
      inSlot(async (): Promise<SendResult> => {
        if (!(await mayBegin())) return { sent: false, permanent: false, reason: 'withdrawn' };
        const envelope = { from: mail.from, to: [mail.to] };
        try {
          await transporter.sendMail({ envelope, raw: mail.raw, signal: AbortSignal.timeout(SEND_MS) });
          return { sent: true };
        } catch (error) {
          return refusal(error as SmtpError);
        }
      }),
    close() {
      transporter.close();
    },
  };
}

async function always(): Promise<boolean> {
  return true;
}

/** The properties that nodemailer sets on its errors. */
interface SmtpError extends Error {
  code?: string;
  /** The server's three-digit reply code. */
  responseCode?: number;
  command?: string;
}

/**
 * Permanent errors: the server refuses this recipient or this message (5xx after RCPT TO or DATA), or the address does
 * not fit into an envelope. A 5xx before that is about us (login, sender, blocked host) and can be fixed.
 */
function refusal(error: SmtpError): SendResult {
  const ofThisMail = error.command === 'RCPT TO' || error.command === 'DATA';
  const noEnvelope = error.code === 'EENVELOPE' && error.command === 'API';
  const permanent = noEnvelope || (ofThisMail && (error.responseCode ?? 0) >= 500);
  return { sent: false, permanent, reason: error.message };
}

/** Runs work in a number of slots; further work waits for a free one, in order. */
function openSlots(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = count;
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((start) => waiting.push(start));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
