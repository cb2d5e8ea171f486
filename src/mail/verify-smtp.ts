/**
 * Whether a mail server would take our mails: it is reached, and takes our log-in. Nothing is sent.
 *
 * Guarantee: answers within some seconds, with a word for what is wrong that names no host, no user and no password.
 */
import { withTimeout } from '../timeout.ts';

export type SmtpAnswer = { answers: true } | { answers: false; reason: string };

const LIMITS = { connectionTimeout: 3000, greetingTimeout: 3000, dnsTimeout: 3000, socketTimeout: 5000 };
/** All of it: a server that says a little from time to time keeps within each of them. */
const VERIFY_MS = 15_000;

/** @param url `smtp://user:password@host:port` or `smtps://…` */
export async function verifySmtp(url: string): Promise<SmtpAnswer> {
  // The API, which sends no mails, starts sooner without it.
  const { createTransport } = await import('nodemailer');
  const transporter = createTransport({ url, ...LIMITS });
  try {
    await withTimeout(transporter.verify(), VERIFY_MS, 'the mail server');
    return { answers: true };
  } catch (error) {
    const { code, errno, responseCode } = error as { code?: string; errno?: unknown; responseCode?: number };
    // ESOCKET and EDNS say where it happened; what happened is the system's own word.
    const word = typeof errno === 'string' ? errno : causeIn(error as Error);
    return { answers: false, reason: [word ?? code ?? 'unknown', responseCode].filter(Boolean).join(' ') };
  } finally {
    transporter.close();
  }
}

function causeIn({ message }: Error): string | undefined {
  return /\bE[A-Z]{4,}\b/.exec(message)?.[0];
}
