/**
 * Who sends the mails: the sender's address, whether there is a mail server, and whether the domain of the sender has an
 * SPF record (sender-records.ts). Without one, most receivers treat the mails as spam.
 *
 * Guarantee: DNS is asked once in five minutes for all who ask.
 */
import addressparser from 'nodemailer/lib/addressparser';
import type { Config } from '../../platform/config.ts';
import { readSpf } from './sender-records.ts';

export interface Sender {
  /** `Name <address>` */
  from: string;
  domain: string;
  server: 'SMTP' | 'MAILBOX';
  /** Absent without a mail server. */
  spf?: Spf;
}

export type Spf = 'FOUND' | 'NONE' | 'UNKNOWN';

const KEPT_MS = 5 * 60_000;

/** @param servers of DNS, `address:port`; default: the servers of this machine */
export function openSender(
  { MAIL_FROM: from, SMTP_URL }: Pick<Config, 'MAIL_FROM' | 'SMTP_URL'>,
  servers?: readonly string[],
): () => Promise<Sender> {
  const domain = domainOf(from);
  let kept: { until: number; spf: Promise<Spf> } | undefined;
  return async () => {
    if (SMTP_URL === undefined) return { from, domain, server: 'MAILBOX' };
    if (!kept || performance.now() > kept.until)
      kept = { until: performance.now() + KEPT_MS, spf: spfOf(domain, servers) };
    return { from, domain, server: 'SMTP', spf: await kept.spf };
  };
}

/** The domain of a sender, `Name <address>`. */
export function domainOf(from: string): string {
  const address = addressparser(from, { flatten: true })[0]?.address ?? '';
  return address.slice(address.lastIndexOf('@') + 1);
}

/** Whether there is one: `muster doctor` says what may be wrong with it. */
async function spfOf(domain: string, servers: readonly string[] | undefined): Promise<Spf> {
  const { state } = await readSpf({ domain, servers });
  return state === 'NONE' || state === 'UNKNOWN' ? state : 'FOUND';
}
