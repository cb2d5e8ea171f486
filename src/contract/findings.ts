/** Findings about what a service reports about itself: stores, replica, queue, mails, key, limits and versions. */
import type {
  Diagnostics,
  FirstStartSetting,
  MailFacts,
  ProviderFacts,
  ProxyFacts,
  ReplicaFacts,
} from './diagnostics.ts';
import { type Finding, many, number, ok, problem, size, skipped, warning } from './finding.ts';
import { checkSender } from './sender-findings.ts';
import { checkConnections, checkPostgres, checkQueue } from './store-findings.ts';

/** Above this share of the limit, a large import may be refused. */
const NEARLY = 0.9;

/** Reads wait 30 ms for the replica; a replica that is so far behind rarely answers any. */
const MOST_SECONDS = 10;
const MOST_BYTES = 64 * 2 ** 20;

const WHY_FAILED = "Ask the database why: select user_id, last_error from mail_outbox where state = 'failed'";

type SmtpAnswer = NonNullable<MailFacts['smtp']>;

/** Everything that follows from what a service reports about itself. */
export function checkService(facts: Diagnostics): Finding[] {
  return [
    ...checkPostgres(facts.postgres),
    ...checkConnections(facts.postgres.connections, {
      backend: facts.queue.backend,
      workers: Math.max(facts.queue.workers?.imports ?? 0, facts.queue.workers?.mails ?? 0),
    }),
    ...checkReplica(facts.replica),
    ...checkQueue(facts.queue),
    ...checkMail(facts.mail),
    ...checkSender(facts.mail.sender),
    ...checkProxy(facts.proxy),
    ...checkProviders(facts.identityProviders),
    checkKey(facts),
    checkLimits(facts),
    ...checkFirstStart(facts.unusedSettings),
  ];
}

/** @param version of the command line */
export function checkVersions({ version: ofService, node }: Diagnostics, version: string): Finding {
  const message = `the service is version ${ofService} on Node.js ${node}`;
  if (ofService === version) return ok('version', message);
  return warning('version', `${message}, this command is version ${version}`, 'Use the same version of both.');
}

/**
 * Findings about the replica of DATABASE_REPLICA_URL. Without it, or while it is behind, the primary answers its reads.
 * @param facts absent if no replica is set
 * @param reason why it does not answer, if that is known
 */
export function checkReplica(facts: ReplicaFacts | undefined, reason?: string): Finding[] {
  if (!facts) return [];
  const { answers, isReplica, lagBytes = 0, lagSeconds = 0 } = facts;
  if (!answers) {
    const advice = 'Check that it is running and that DATABASE_REPLICA_URL is right. Until then the primary answers.';
    return [warning('replica', `it does not answer${reason ? ` (${reason})` : ''}`, advice)];
  }
  if (!isReplica) {
    const advice =
      'It was promoted, or never was a replica: correct DATABASE_REPLICA_URL. The primary answers its reads.';
    return [warning('replica', 'it is not a replica of the database', advice)];
  }
  const lag = `${size(lagBytes)} and ${Math.round(lagSeconds)} s behind`;
  if (lagSeconds <= MOST_SECONDS && lagBytes <= MOST_BYTES) return [ok('replica', lagBytes === 0 ? 'up to date' : lag)];
  return [
    warning(
      'replica',
      `it is ${lag}, so the primary answers`,
      'Check its load, its disk, and the network between them.',
    ),
  ];
}

/** @param facts absent from a service of an earlier version, and where no connection led to it */
export function checkProxy(facts: ProxyFacts | undefined): Finding[] {
  if (!facts) return [];
  const { address, forwarded, contradiction } = facts;
  const seen = `the service sees you at ${address}`;
  if (!contradiction) return [ok('proxy', forwarded === 0 ? seen : `${seen}; ${forwarded} addresses were forwarded`)];
  const advice = 'Set TRUST_PROXY to the networks of your proxies. Without proxies, set it to 0.';
  return [warning('proxy', `${seen}: ${contradiction.replace(/\.$/, '')}`, advice)];
}

/** Providers that have a finding each. */
const MOST_SILENT = 10;
const idOf = ({ idpId }: { idpId: string }) => idpId;

/** @param facts absent from a service of an earlier version */
export function checkProviders(facts: ProviderFacts | undefined): Finding[] {
  if (!facts) return [];
  const { providers, clashes, notAsked = 0 } = facts;
  const silent = providers.filter(({ answers }) => !answers);
  const found = silent.slice(0, MOST_SILENT).map(({ idpId, name, orgId, orgName, reason = '' }) => {
    const owner = orgId === undefined ? '' : ` of ${orgName ?? orgId} (${orgId})`;
    const advice = `See muster idps check ${idpId}. Until then nobody signs in with it.`;
    return warning('identity providers', `${name}${owner}: ${reason.replace(/\.$/, '')}`, advice);
  });
  const others = silent.slice(MOST_SILENT);
  if (others.length > 0) {
    const message = `${number(others.length)} more do not answer as they should`;
    found.push(warning('identity providers', message, `See muster idps check ${others.map(idOf).join(', ')}.`));
  }
  const good = providers.length - silent.length;
  if (good > 0)
    found.unshift(
      ok('identity providers', good === 1 ? '1 identity provider answers' : `${good} identity providers answer`),
    );
  if (notAsked > 0) found.push(skipped('identity providers', `${number(notAsked)} more were not asked this time`));
  if (!clashes || clashes.accounts === 0) return found;
  const message = `${many(clashes.accounts, 'account')} at providers are held by ${many(clashes.users, 'user')} of the same organization, and sign in none of them`;
  const advice =
    'Remove the wrong links: GET and DELETE /v2beta/users/{userId}/links. _check of a provider says where.';
  return [...found, warning('links to providers', message, advice)];
}

export function checkMail({ smtp, pending, failedLastWeek }: MailFacts): Finding[] {
  const waiting = `${number(pending)} waiting`;
  const way = smtp ? checkSmtp(smtp, waiting) : keptAsFiles(waiting);
  if (failedLastWeek === 0) return [way];
  const message = `${number(failedLastWeek)} mails of the last seven days could not be delivered`;
  return [way, warning('mail', message, WHY_FAILED)];
}

/** @param waiting the end of the sentence */
export function checkSmtp(smtp: SmtpAnswer, waiting?: string): Finding {
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

export function checkKey({ encryptionKey }: Diagnostics): Finding {
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

export function checkLimits({ limits }: Diagnostics): Finding {
  const { maxImportBytes, maxImportTimeout, backlog, maxBacklog } = limits;
  const waiting = `${number(backlog)} users are waiting to be written`;
  const message = `an import may have up to ${size(maxImportBytes)} and take up to ${maxImportTimeout}; ${waiting}`;
  if (maxBacklog === 0 || backlog < maxBacklog * NEARLY) return ok('limits', message);
  const advice = 'Wait, start more workers, or raise MAX_BACKLOG.';
  return warning('limits', `${waiting}, of at most ${number(maxBacklog)}: imports will soon be refused`, advice);
}

/** @param unused absent from a service of an earlier version, and where the database cannot be read */
export function checkFirstStart(unused: readonly FirstStartSetting[] = []): Finding[] {
  return unused.map((name) => warning('first start', ...firstStartTexts(name)));
}

/** Why a setting of the first start has no effect, and what to do about it. */
export function firstStartTexts(name: FirstStartSetting): [message: string, advice: string] {
  const nobody = name === 'ADMIN_EMAIL' ? 'no IAM_OWNER has this address' : 'no IAM_OWNER has this token';
  const message = `${name} has no effect: only the first start uses it, and ${nobody} now`;
  return [
    message,
    `Remove the setting. If nobody can sign in any more, run \`muster admin recover\` beside the service.`,
  ];
}
