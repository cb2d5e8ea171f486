/**
 * Delivers mail over SMTP, on a bounded number of persistent connections.
 *
 * Guarantee: a mail that the server acknowledged is reported as sent, and no send takes longer than SEND_MS after its
 * wait for a connection. Lines of mails take turns at the connections, however many mails one of them has.
 *
 * On crash: between the server's acknowledgement and our record of it, the mail is sent again with the same Message-ID.
 */
import { Readable } from 'node:stream';
import SMTPPool from 'nodemailer/lib/smtp-pool';
import { openFairQueue } from '../../platform/fair-queue.ts';
import type { ComposedMail, SendResult, Transport } from './message.ts';

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
  const pool = new SMTPPool({ url, ...LIMITS });
  // The pool has its own queue, but does not say when a mail leaves it, and takes all in the order in which they came.
  const connections = openFairQueue({ limit: SMTP_CONNECTIONS });
  return {
    send: (mail, mayBegin = always) =>
      connections.run(mail.line ?? '', async (): Promise<SendResult> => {
        if (!(await mayBegin())) return { sent: false, permanent: false, reason: 'withdrawn' };
        return sendBy(pool, mail);
      }),
    close() {
      pool.close();
    },
  };
}

/** A message as a transport of nodemailer takes it. */
type PoolMail = Parameters<SMTPPool['send']>[0];

/**
 * Hands the message to the pool without nodemailer's mailer around it, which would parse the envelope and the message,
 * and pass the bytes through more streams. They are complete.
 */
function sendBy(pool: SMTPPool, mail: ComposedMail): Promise<SendResult> {
  return new Promise((resolve) => {
    const tooLong = new AbortController();
    const timer = setTimeout(() => tooLong.abort(), SEND_MS);
    const message = {
      getEnvelope: () => ({ from: mail.from, to: [mail.to] }),
      messageId: () => mail.id,
      getHeader: () => mail.id,
      // Called once for each connection that the pool tries.
      createReadStream: () => streamOf(mail.raw),
    };
    pool.send({ data: { signal: tooLong.signal }, message } as unknown as PoolMail, (error) => {
      clearTimeout(timer);
      resolve(error ? refusal(error as SmtpError) : { sent: true });
    });
  });
}

/** Cheaper than `Readable.from`, which iterates asynchronously. */
function streamOf(raw: Buffer): Readable {
  return new Readable({
    read() {
      this.push(raw);
      this.push(null);
    },
  });
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
