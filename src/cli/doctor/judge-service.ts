/** What is wrong with the service itself, by what it says: versions, key, mails, limits. */
import type { MailFacts } from '../../diagnostics/mail.ts';
import type { Diagnostics } from '../../diagnostics/routes.ts';
import { number } from '../imports/progress.ts';
import { type Finding, ok, problem, size, warning } from './finding.ts';

type SmtpAnswer = NonNullable<MailFacts['smtp']>;

/** @param version of the command line */
export function judgeVersions({ version: ofService, node }: Diagnostics, version: string): Finding {
  const message = `the service is version ${ofService} on Node.js ${node}`;
  if (ofService === version) return ok('version', message);
  return warning('version', `${message}, this command ${version}`, 'Use the same version of both.');
}

export function judgeKey({ encryptionKey }: Diagnostics): Finding {
  return encryptionKeyFinding(encryptionKey.opensSigningKeys);
}

export function encryptionKeyFinding(fits: boolean): Finding {
  if (fits) return ok('encryption key', 'opens what was sealed with it');
  const message = 'ENCRYPTION_KEY does not open the signing keys in the database';
  return problem('encryption key', message, 'Put the key back with which this database was filled.');
}

export function judgeMail({ smtp, pending, failedLastWeek }: MailFacts): Finding[] {
  const waiting = `${number(pending)} wait`;
  const way = smtp ? judgeSmtp(smtp, waiting) : keptAsFiles(waiting);
  if (failedLastWeek === 0) return [way];
  const message = `${number(failedLastWeek)} mails of the last seven days could not be delivered`;
  return [way, warning('mail', message, 'The log of the workers says why.')];
}

/** @param waiting the end of the sentence */
export function judgeSmtp(smtp: SmtpAnswer, waiting?: string): Finding {
  const rest = waiting ? `; ${waiting}` : '';
  if (smtp.answers) return ok('mail', `the mail server answers${rest}`);
  const advice = 'Is SMTP_URL right, its log-in too, and is the server running? Mails wait until it is.';
  return problem('mail', `the mail server does not take our mails (${smtp.reason})${rest}`, advice);
}

export function keptAsFiles(waiting?: string): Finding {
  const message = `mails are kept as files in DATA_DIR/mailbox and reach nobody${waiting ? `; ${waiting}` : ''}`;
  return warning('mail', message, 'Set SMTP_URL, unless this is a trial.');
}

/** Beyond this share a large import may be refused. */
const NEARLY = 0.9;

export function judgeLimits({ limits }: Diagnostics): Finding {
  const { maxImportBytes, maxImportTimeout, backlog, maxBacklog } = limits;
  const waiting = `${number(backlog)} users wait to be written`;
  const message = `an import may have ${size(maxImportBytes)} and take ${maxImportTimeout}; ${waiting}`;
  if (maxBacklog === 0 || backlog < maxBacklog * NEARLY) return ok('limits', message);
  const advice = 'Wait, start more workers, or raise MAX_BACKLOG.';
  return warning('limits', `${waiting}, of at most ${number(maxBacklog)}: imports are refused soon`, advice);
}
