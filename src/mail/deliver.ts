/**
 * The mail job: load, compose, send, settle. A text message is a mail here too: its kind decides the transport.
 *
 * Guarantee: a mail settles as sent or failed once, however often it is delivered. Each delivery has the same Message-ID
 * and the same bytes, unless the user or the organization was renamed in between. A process that froze sends only mails
 * that nobody else has claimed meanwhile, and a job that the queue handed out twice sends its mail once
 * (workers/doubts.ts). A mail may be sent again only if its process froze between that check and the end of the data, and
 * the mail server kept the connection.
 *
 * On crash: between send and settle, the row is handed over again and the mail is sent again.
 */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Pool } from '../db/pool.ts';
import { publish } from '../observations.ts';
import type { Secrets } from '../secrets.ts';
import { inImport } from '../spans.ts';
import type { BatchCommitter } from './batch-committer.ts';
import type { MailLoader } from './batch-loader.ts';
import { type ComposedMail, composeMail } from './compose.ts';
import { type LinkKind, type NoticeKind, pageLink, templateLink } from './links.ts';
import { type LoadedMail, type MailPointer, renewClaim } from './outbox.ts';
import { type MailContent, renderMail, renderNotice } from './templates.ts';
import { composeText, type TextMessage } from './text-message.ts';
import type { SendResult, TextTransport, Transport } from './transport.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first, second … failed attempt, in milliseconds; there is one attempt more than pauses. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  6 * HOUR,
];

/** Times are those of `performance.now()`. */
export interface Doubts {
  /** Whether a mail that was loaded then may be in other hands. */
  about(loadedAt: number): boolean;
  /** Whether a new doubt has arisen since then. */
  since(then: number): boolean;
}

export interface DeliverDeps {
  pool: Pool;
  secrets: Secrets;
  config: Pick<Config, 'baseUrl' | 'MAIL_FROM'>;
  transport: Transport;
  texts: TextTransport;
  settler: BatchCommitter;
  loader: MailLoader;
  logger: Logger;
  doubts: Doubts;
  retryDelaysMs?: readonly number[];
}

/** `gone`: already settled, deleted with its user, claimed by another process, or a job of an earlier attempt. */
export type Delivery = 'sent' | 'retry' | 'failed' | 'gone';

/** Delivers one mail. @throws Error when the database cannot be reached; the row is then handed over again */
export async function deliverMail(deps: DeliverDeps, pointer: MailPointer): Promise<Delivery> {
  const loadedAt = performance.now();
  const mail = await deps.loader.load(pointer.id);
  if (!mail || mail.attempts !== pointer.attempt) return 'gone';
  const about = { 'muster.attempt': mail.attempts + 1 };
  const held = { loadedAt, until: pointer.until ?? mail.claimed_until };
  return inImport(mail.import_id, 'mail.send', about, () => deliver(deps, mail, held));
}

/** The claim under which a mail was loaded, and when, by `performance.now()`. */
interface Held {
  loadedAt: number;
  until: string;
}

async function deliver(deps: DeliverDeps, mail: LoadedMail, held: Held): Promise<Delivery> {
  const result = await attempt(deps, mail, held);
  if (result === 'gone') return result;
  const outcome = outcomeOf(result, mail, deps.retryDelaysMs ?? RETRY_DELAYS_MS);
  if (outcome.error) logRefusal(deps.logger, mail, outcome.state, result);
  await deps.settler.settle({ id: mail.id, attempt: mail.attempts, importId: mail.import_id, ...outcome });
  const delivery = outcome.state === 'pending' ? 'retry' : outcome.state;
  publish('mail', delivery);
  return delivery;
}

async function attempt(deps: DeliverDeps, mail: LoadedMail, held: Held): Promise<SendResult | 'gone'> {
  const code = mail.code_id === null ? '' : deps.secrets.code(mail.code_id, mail.generation ?? 0);
  let send: Send;
  let isGone = false;
  try {
    send = prepare(deps, mail, code);
  } catch (error) {
    return { sent: false, permanent: true, reason: `cannot be composed: ${(error as Error).message}` };
  }
  const result = await send(async () => {
    isGone = !(await isStillOurs(deps, mail, held));
    return !isGone;
  });
  if (isGone) return 'gone';
  return result.sent ? result : { ...result, reason: tidy(result.reason, code) };
}

type Send = (mayBegin: () => Promise<boolean>) => Promise<SendResult>;

/** Asks the database only in doubt, and again if a doubt arises during the question. */
async function isStillOurs({ pool, doubts }: DeliverDeps, mail: LoadedMail, held: Held): Promise<boolean> {
  let { until } = held;
  for (let inDoubt = doubts.about(held.loadedAt); inDoubt; ) {
    const asked = performance.now();
    const renewed = await renewClaim(pool, { ...mail, claimed_until: until });
    if (renewed === undefined) return false;
    until = renewed;
    inDoubt = doubts.since(asked);
  }
  return true;
}

const WITHDRAWN: SendResult = { sent: false, permanent: false, reason: 'withdrawn' };

/** Composes first, to tell a mail that cannot be composed from one that cannot be sent. */
function prepare(deps: DeliverDeps, mail: LoadedMail, code: string): Send {
  if (mail.kind === 'verify_phone') {
    const message = textMessage(mail, code);
    return async (mayBegin) => ((await mayBegin()) ? deps.texts.send(message) : WITHDRAWN);
  }
  const composed = compose(deps.config, mail, contentOf(deps.config, mail, mail.kind, code));
  return (mayBegin) => deps.transport.send(composed, mayBegin);
}

function textMessage(mail: LoadedMail, code: string): TextMessage {
  const { id, created_at: createdAt, address: to } = mail;
  return composeText({ id, createdAt, expiresAt: expiryOf(mail), to, orgName: mail.org_name ?? '', code });
}

function contentOf(
  config: DeliverDeps['config'],
  mail: LoadedMail,
  kind: LinkKind | NoticeKind,
  code: string,
): MailContent {
  const orgName = mail.org_name ?? '';
  if (kind === 'email_changed') return renderNotice({ orgName });
  const parts = { userId: mail.user_id, orgId: mail.org_id, code };
  const link = mail.url_template ? templateLink(mail.url_template, parts) : pageLink(config.baseUrl, kind, parts);
  const { user_name: userName } = mail;
  return renderMail({ kind, displayName: nameFor(mail), orgName, userName, link, expiresAt: expiryOf(mail) });
}

function compose(config: DeliverDeps['config'], mail: LoadedMail, content: MailContent): ComposedMail {
  if (mail.address === null) throw new Error('The user has no email address.');
  const address = { id: mail.id, createdAt: mail.created_at, from: config.MAIL_FROM };
  return composeMail({ ...address, toName: nameFor(mail), toAddress: mail.address }, content);
}

/**
 * Empty unless the address is the user's verified one: users choose their display name, and must not send words of
 * their own to the addresses of others.
 */
function nameFor(mail: LoadedMail): string {
  return mail.verified ? (mail.display_name ?? '') : '';
}

function expiryOf(mail: LoadedMail): Date {
  if (mail.expires_at === null) throw new Error('The mail has no code.');
  return mail.expires_at;
}

/** A mail is not retried if its code would have expired by then. */
function outcomeOf(result: SendResult, mail: LoadedMail, delays: readonly number[]) {
  if (result.sent) return { state: 'sent' as const, error: null, delayMs: 0 };
  const delayMs = result.permanent ? undefined : delays[mail.attempts];
  if (delayMs === undefined || Date.now() + delayMs >= (mail.expires_at?.getTime() ?? Infinity)) {
    return { state: 'failed' as const, error: result.reason, delayMs: 0 };
  }
  return { state: 'pending' as const, error: result.reason, delayMs };
}

/** Some servers quote the message they refuse: removes its code, and characters that PostgreSQL cannot store. */
function tidy(reason: string, code: string): string {
  const line = (code === '' ? reason : reason.replaceAll(code, '…')).replace(/\p{Cc}+/gu, ' ');
  return Array.from(line).slice(0, 500).join('').toWellFormed();
}

/** Omits the server's text, which may name the recipient. */
function logRefusal(logger: Logger, mail: LoadedMail, state: string, result: SendResult): void {
  const permanent = !result.sent && result.permanent;
  logger.warn({ mail: mail.id, attempt: mail.attempts + 1, permanent, next: state }, 'mail was not taken');
}
