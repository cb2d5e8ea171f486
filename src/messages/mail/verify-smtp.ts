/**
 * Checks whether we can reach a mail server and log in to it. Nothing is sent.
 *
 * Guarantee: answers within VERIFY_MS; the reason for a failure names no host, no user and no password.
 */
import { withTimeout } from '../../platform/timeouts.ts';

export type SmtpAnswer = { answers: true } | { answers: false; reason: string };

const LIMITS = { connectionTimeout: 3000, greetingTimeout: 3000, dnsTimeout: 3000, socketTimeout: 5000 };
/** For the whole check: a server that sends a little from time to time stays within each of the limits above. */
const VERIFY_MS = 15_000;

/** @param url `smtp://user:password@host:port` or `smtps://…` */
export async function verifySmtp(url: string): Promise<SmtpAnswer> {
  // Imported here, as the API, which sends no mails, starts faster without it.
  const { createTransport } = await import('nodemailer');
  const transporter = createTransport({ url, ...LIMITS });
  try {
    await withTimeout(transporter.verify(), VERIFY_MS, 'the mail server');
    return { answers: true };
  } catch (error) {
    const { code, errno, responseCode } = error as { code?: string; errno?: unknown; responseCode?: number };
    // ESOCKET and EDNS say only where it failed; the system's own error code says why.
    const word = typeof errno === 'string' ? errno : causeIn(error as Error);
    return { answers: false, reason: [word ?? code ?? 'unknown', responseCode].filter(Boolean).join(' ') };
  } finally {
    transporter.close();
  }
}

function causeIn({ message }: Error): string | undefined {
  return /\bE[A-Z]{4,}\b/.exec(message)?.[0];
}
