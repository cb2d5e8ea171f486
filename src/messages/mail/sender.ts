/**
 * Who sends the mails: the sender's address, whether there is a mail server, and whether the domain of the sender has an
 * SPF record (RFC 7208). Without one, most receivers treat the mails as spam.
 *
 * Guarantee: DNS is asked for at most two seconds, and once in five minutes for all who ask. What DNS does not answer is
 * unknown, never missing.
 */
import { Resolver } from 'node:dns/promises';
import addressparser from 'nodemailer/lib/addressparser';
import type { Config } from '../../platform/config.ts';

export interface Sender {
  /** `Name <address>` */
  from: string;
  domain: string;
  server: 'SMTP' | 'MAILBOX';
  /** Absent without a mail server. */
  spf?: Spf;
}

export type Spf = 'FOUND' | 'NONE' | 'UNKNOWN';

const TRY_MS = 900;
const TRIES = 2;
const KEPT_MS = 5 * 60_000;
/** There is no such domain, or it has no record of this type. */
const MISSING = ['ENOTFOUND', 'ENODATA'];

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

function domainOf(from: string): string {
  const address = addressparser(from, { flatten: true })[0]?.address ?? '';
  return address.slice(address.lastIndexOf('@') + 1);
}

async function spfOf(domain: string, servers: readonly string[] | undefined): Promise<Spf> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  try {
    const records = await resolver.resolveTxt(domain);
    return records.some((parts) => /^v=spf1(?: |$)/i.test(parts.join(''))) ? 'FOUND' : 'NONE';
  } catch (error) {
    return MISSING.includes((error as NodeJS.ErrnoException).code ?? '') ? 'NONE' : 'UNKNOWN';
  }
}
