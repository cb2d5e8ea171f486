/** Judges what the service reports about itself: versions, key, mails, limits. */
import type { MailFacts } from '../diagnostics/mail.ts';
import type { Diagnostics } from '../diagnostics/routes.ts';
import { type Finding, number, ok, problem, size, warning } from './finding.ts';

type SmtpAnswer = NonNullable<MailFacts['smtp']>;

/** @param version of the command line */
export function judgeVersions({ version: ofService, node }: Diagnostics, version: string): Finding {
  const message = `the service is version ${ofService} on Node.js ${node}`;
  if (ofService === version) return ok('version', message);
  return warning('version', `${message}, this command is version ${version}`, 'Use the same version of both.');
}

export function judgeKey({ encryptionKey }: Diagnostics): Finding {
  return encryptionKeyFinding(encryptionKey);
}

/** @param missingIds of keys that the database needs and that are not set, where this is known */
export function encryptionKeyFinding(key: { opensSigningKeys: boolean; missingIds?: string[] }): Finding {
  const { opensSigningKeys, missingIds = [] } = key;
  if (!opensSigningKeys) {
    const message = 'ENCRYPTION_KEY does not decrypt the signing keys in the database';
    return problem('encryption key', message, 'Restore the key that this database was set up with.');
  }
  if (missingIds.length > 0) {
    const message = `the database needs the key with the id ${missingIds.join(', ')}, which is not set`;
    return problem('encryption key', message, 'Set it as ENCRYPTION_KEY, or add it to DECRYPTION_KEYS.');
  }
  return ok('encryption key', 'decrypts the signing keys');
}

const WHY_FAILED = "Ask the database why: select user_id, last_error from mail_outbox where state = 'failed'";

export function judgeMail({ smtp, pending, failedLastWeek }: MailFacts): Finding[] {
  const waiting = `${number(pending)} waiting`;
  const way = smtp ? judgeSmtp(smtp, waiting) : keptAsFiles(waiting);
  if (failedLastWeek === 0) return [way];
  const message = `${number(failedLastWeek)} mails of the last seven days could not be delivered`;
  return [way, warning('mail', message, WHY_FAILED)];
}

/** @param waiting the end of the sentence */
export function judgeSmtp(smtp: SmtpAnswer, waiting?: string): Finding {
  const rest = waiting ? `; ${waiting}` : '';
  if (smtp.answers) return ok('mail', `the mail server answers${rest}`);
  const advice =
    'Check SMTP_URL and its credentials, and that the server is running. A mail is tried eight times within nine hours, and then fails.';
  return problem('mail', `Muster cannot connect or log in to the mail server (${smtp.reason})${rest}`, advice);
}

export function keptAsFiles(waiting?: string): Finding {
  const message = `mails are kept as files in DATA_DIR/mailbox and are not delivered${waiting ? `; ${waiting}` : ''}`;
  return warning('mail', message, 'Set SMTP_URL, unless this is a trial.');
}

/** Above this share of the limit, a large import may be refused. */
const NEARLY = 0.9;

export function judgeLimits({ limits }: Diagnostics): Finding {
  const { maxImportBytes, maxImportTimeout, backlog, maxBacklog } = limits;
  const waiting = `${number(backlog)} users are waiting to be written`;
  const message = `an import may have up to ${size(maxImportBytes)} and take up to ${maxImportTimeout}; ${waiting}`;
  if (maxBacklog === 0 || backlog < maxBacklog * NEARLY) return ok('limits', message);
  const advice = 'Wait, start more workers, or raise MAX_BACKLOG.';
  return warning('limits', `${waiting}, of at most ${number(maxBacklog)}: imports will soon be refused`, advice);
}
