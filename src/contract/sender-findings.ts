/** Findings about what DNS says of the domain of the sender, and what to put there. */
import type { DkimFacts, DmarcFacts, SenderFacts, SpfFacts } from './diagnostics.ts';
import { type Finding, many, ok, problem, skipped, warning } from './finding.ts';

/** SPF, DKIM and DMARC. @param facts absent without a mail server */
export function checkSender(facts: SenderFacts | undefined): Finding[] {
  if (!facts) return [];
  const { domain, spf, dkim, dmarc } = facts;
  return [checkSpf(domain, spf), checkDkim(dkim), checkDmarc(domain, dmarc)];
}

const UNANSWERED = 'DNS did not answer in time';

function checkSpf(domain: string, { state, record = '', lookups = 0, include = '' }: SpfFacts): Finding {
  switch (state) {
    case 'FOUND':
      return ok('spf', `${domain} has "${record}", which asks DNS ${many(lookups, 'time')} of at most 10`);
    case 'NONE':
      return problem(
        'spf',
        `${domain} has no SPF record, so many receivers treat the mails as spam`,
        `Add a TXT record to ${domain}: "v=spf1 include:NAME -all". Your mail provider says which NAME; for a server of your own write ip4:ADDRESS instead of include:NAME.`,
      );
    case 'SEVERAL':
      return problem(
        'spf',
        `${domain} has several SPF records, so receivers use none`,
        'Join them into one TXT record.',
      );
    case 'TOO_MANY_LOOKUPS':
      return problem(
        'spf',
        `"${record}" of ${domain} asks DNS more than 10 times, so receivers do not use it`,
        'Remove the parts that you do not need, or replace an include by the ip4: and ip6: that it stands for.',
      );
    case 'BROKEN_INCLUDE':
      return problem(
        'spf',
        `the SPF record of ${domain} names ${include}, which has none, so receivers do not use it`,
        `Remove ${include} from "${record}", or correct it.`,
      );
    case 'ALLOWS_ALL':
      return warning(
        'spf',
        `"${record}" lets every server send mails of ${domain}`,
        'End the record with -all, once it names all of your servers.',
      );
    case 'UNKNOWN':
      return skipped('spf', UNANSWERED);
  }
}

function checkDkim({ state, name = '' }: DkimFacts): Finding {
  switch (state) {
    case 'FOUND':
      return ok('dkim', `${name} has a key`);
    case 'NONE':
      return problem(
        'dkim',
        `${name} has no key, so receivers cannot verify the signatures of the mails`,
        'Add the TXT or CNAME record that your mail provider or server shows for this selector, or correct MAIL_DKIM_SELECTOR.',
      );
    case 'SEVERAL':
      return problem(
        'dkim',
        `${name} has several keys, so receivers may use the wrong one`,
        'Remove those that are not in use.',
      );
    case 'REVOKED':
      return problem(
        'dkim',
        `the key of ${name} is revoked (p= is empty)`,
        'Sign with another key, and set its MAIL_DKIM_SELECTOR.',
      );
    case 'NO_SELECTOR':
      return skipped(
        'dkim',
        'not checked: set MAIL_DKIM_SELECTOR to the value of s= in the header DKIM-Signature of a mail that has arrived',
      );
    case 'UNKNOWN':
      return skipped('dkim', UNANSWERED);
  }
}

function checkDmarc(domain: string, { state, name = '', policy }: DmarcFacts): Finding {
  const record = `"v=DMARC1; p=none; rua=mailto:dmarc@${domain}"`;
  switch (state) {
    case 'FOUND':
      return ok('dmarc', `${name} has the policy ${policy}`);
    case 'NONE':
      return warning(
        'dmarc',
        `there is no DMARC record, which large receivers ask of those who send many mails`,
        `Add a TXT record to ${name}: ${record}. Once the reports show that all of your mails pass, change it to p=quarantine.`,
      );
    case 'SEVERAL':
      return warning('dmarc', `${name} has several DMARC records, so receivers use none`, 'Leave one.');
    case 'INVALID':
      return warning(
        'dmarc',
        `the DMARC record of ${name} has no valid policy`,
        `Write p=none, p=quarantine or p=reject: ${record}.`,
      );
    case 'UNKNOWN':
      return skipped('dmarc', UNANSWERED);
  }
}
