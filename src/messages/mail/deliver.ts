/**
 * The mail job: load, compose, send, settle. A text message is a mail here too: its kind decides the transport. Jobs
 * that run at the same time load their mails in one statement and commit their outcomes in one transaction.
 *
 * Guarantee: a mail settles as sent or failed once, however often it is delivered. Each delivery has the same
 * Message-ID and the same bytes, unless the user or the organization was renamed, or got another language, in between. A
 * process that froze sends only mails that nobody else has claimed meanwhile, and a job that the queue handed out twice
 * sends its mail once (workers/mailer.ts). A mail may be sent again only if its process froze between that check and the
 * end of the data, and the mail server kept the connection.
 *
 * On crash: between send and settle, the row is handed over again and the mail is sent again with the same Message-ID.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  isNotice,
  type LinkKind,
  type MailKind,
  type PreviewKind,
  pageLink,
  type SignInKind,
  type TellingKind,
  type TextKind,
  templateLink,
} from '../../contract/link-templates.ts';
import type { Config } from '../../platform/config.ts';
import { ORG_COUNTS, takeWithin } from '../../platform/db/counts.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { loggable } from '../../platform/logger.ts';
import { inLanguage } from '../../platform/messages/catalogue.ts';
import { e164 } from '../../platform/phone.ts';
import type { LanguageWishes } from '../../platform/request-context.ts';
import { inImport, publish } from '../../platform/telemetry.ts';
import { type MailLook, mailLook } from './branding.ts';
import type { MailBranding, MailContent } from './layout.ts';
import { type ComposedMail, composeMail, type SendResult, type TextTransport, type Transport } from './message.ts';
import { dropMail, HOLD_MS, holdMail, type LoadedMail, loadMails, type MailPointer, renewClaim } from './outbox.ts';
import { previewMail, validForMs } from './preview.ts';
import type { MailOutcome } from './relay.ts';
import { digitsOf } from './sign-in-codes.ts';
import { takeText } from './text-cap.ts';
import {
  composeText,
  renderConfirmCode,
  renderHowToSignIn,
  renderMail,
  renderNotice,
  renderSignInCode,
  type TextMessage,
} from './texts.ts';

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
export interface RedeliveryRisk {
  /** Whether a mail that was loaded then may be in other hands. */
  existsFor(loadedAt: number): boolean;
  /** Whether a new doubt has arisen since then. */
  since(then: number): boolean;
}

export interface DeliverDeps {
  pool: Pool;
  secrets: Secrets;
  config: Pick<Config, 'baseUrl' | 'MAIL_FROM' | 'SMS_PER_DAY' | 'CODE_TTL_MS' | 'RESET_CODE_TTL_MS'>;
  transport: Transport;
  texts: TextTransport;
  settler: BatchCommitter;
  loader: MailLoader;
  logger: Logger;
  risk: RedeliveryRisk;
  retryDelaysMs?: readonly number[];
}

/** `gone`: already settled, of no use any more, deleted with its user, claimed by another process, or a job of an earlier attempt.
 * `held`: its organization is not active, or has sent its mails of the day. */
export type Delivery = 'sent' | 'retry' | 'failed' | 'held' | 'gone';

/** Delivers one mail. @throws Error when the database cannot be reached; the row is then handed over again */
export async function deliverMail(deps: DeliverDeps, pointer: MailPointer): Promise<Delivery> {
  const loadedAt = performance.now();
  const mail = await deps.loader.load(pointer.id);
  if (!mail || mail.attempts !== pointer.attempt) return 'gone';
  if (mail.is_moot) {
    await dropMail(deps.pool, mail);
    return 'gone';
  }
  if (!mail.org_is_active) {
    await holdMail(deps.pool, mail, HOLD_MS);
    return 'held';
  }
  if (await isOverLimit(deps, mail)) {
    await holdMail(deps.pool, mail, restOfDayMs());
    return 'held';
  }
  const about = { 'muster.attempt': mail.attempts + 1 };
  const held = { loadedAt, until: pointer.until ?? mail.claimed_until };
  return inImport(mail.import_id, 'mail.send', about, () => deliver(deps, mail, held));
}

const DAY_MS = 24 * HOUR;

/** Until the next day of UTC begins, in milliseconds. */
function restOfDayMs(): number {
  return DAY_MS - (Date.now() % DAY_MS);
}

/**
 * Counts a message at its first attempt for its organization and the day, as far as that is limited. A code for a
 * sign-in was counted when it was asked for, as nobody can wait for it until tomorrow.
 */
async function isOverLimit(
  { pool, config }: Pick<DeliverDeps, 'pool' | 'config'>,
  { kind, attempts, org_id: orgId, mails_per_day: most, texts_per_day: ownTexts }: LoadedMail,
): Promise<boolean> {
  if (attempts > 0 || isOfDigits(kind)) return false;
  if (most !== null && !(await takeWithin(pool, ORG_COUNTS.mails(orgId), most, DAY_MS))) return true;
  return isText(kind) && !(await takeText(pool, config, { orgId, most: ownTexts }));
}

const DIGITS: ReadonlySet<string> = new Set<SignInKind>(['sign_in', 'sign_in_text', 'factor_mail', 'factor_text']);

/** Whether its code is one of digits (sign-in-codes.ts). */
function isOfDigits(kind: MailKind | TellingKind): kind is SignInKind {
  return DIGITS.has(kind);
}

const TEXTS: ReadonlySet<string> = new Set<TextKind>(['verify_phone', 'sign_in_text', 'factor_text']);

function isText(kind: MailKind | TellingKind): kind is TextKind {
  return TEXTS.has(kind);
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

async function attempt(deps: DeliverDeps, mail: LoadedMail, held: Held): Promise<Attempt | 'gone'> {
  const long = mail.code_id === null ? '' : deps.secrets.code(mail.code_id, mail.generation ?? 0);
  const code = isOfDigits(mail.kind) ? digitsOf(long) : long;
  let send: Send;
  let isGone = false;
  try {
    const look = mailLook(mail.brandings, deps.config.baseUrl);
    send = inLanguage(languagesOf(mail, look), () => prepare(deps, mail, look, code));
  } catch (error) {
    return notComposed(deps.logger, mail, error as Error);
  }
  const result = await send(async () => {
    isGone = !(await isStillOurs(deps, mail, held));
    return !isGone;
  });
  if (isGone) return 'gone';
  return result.sent ? result : { ...result, reason: tidy(result.reason, code) };
}

/** A mail that lacks something will never have it. */
class Incomplete extends Error {}

type Attempt = SendResult & { keeps?: boolean };

/**
 * Anything but a mail that lacks something is a fault of the service, its settings or its stores: it is reported, and
 * the mail is kept until somebody has corrected it. The message may contain words of users.
 */
function notComposed(logger: Logger, mail: LoadedMail, error: Error): Attempt {
  if (error instanceof Incomplete) return { sent: false, permanent: true, reason: error.message };
  logger.error({ mail: mail.id, attempt: mail.attempts + 1, err: loggable(error) }, 'mail cannot be composed');
  const reason = tidy(`cannot be composed: ${error.message}`, '');
  return { sent: false, permanent: false, keeps: true, reason };
}

type Send = (mayBegin: () => Promise<boolean>) => Promise<SendResult>;

/** Asks the database only in doubt, and again if a doubt arises during the question. */
async function isStillOurs({ pool, risk }: DeliverDeps, mail: LoadedMail, held: Held): Promise<boolean> {
  let { until } = held;
  for (let inDoubt = risk.existsFor(held.loadedAt); inDoubt; ) {
    const asked = performance.now();
    const renewed = await renewClaim(pool, { ...mail, claimed_until: until });
    if (renewed === undefined) return false;
    until = renewed;
    inDoubt = risk.since(asked);
  }
  return true;
}

const WITHDRAWN: SendResult = { sent: false, permanent: false, reason: 'withdrawn' };

/** The language of a mail is the user's, else the organization's, else the instance's; and English if none is known. */
function languagesOf({ preferred_language: user, sample }: LoadedMail, { languages }: MailLook): LanguageWishes {
  return { chosen: sample || undefined, user: user ?? undefined, ...languages };
}

/** Composes first, to tell a mail that cannot be composed from one that cannot be sent. */
function prepare(deps: DeliverDeps, mail: LoadedMail, look: MailLook, code: string): Send {
  const { kind } = mail;
  if (isText(kind)) {
    const message = textMessage(mail, kind, code);
    return async (mayBegin) => ((await mayBegin()) ? deps.texts.send(message) : WITHDRAWN);
  }
  const facts = { displayName: nameFor(mail), orgName: mail.org_name ?? '', userName: mail.user_name };
  const content =
    mail.sample === null
      ? contentOf(deps.config, mail, kind, code, look.brandingFor(kind, facts))
      : sampleOf(deps.config, mail, kind, look);
  const composed = compose(deps.config, mail, content, look.senderName);
  return (mayBegin) => deps.transport.send(composed, mayBegin);
}

function textMessage(mail: LoadedMail, kind: TextKind, code: string): TextMessage {
  const { id, created_at: createdAt, address: to } = mail;
  if (to === null) throw new Incomplete('The user has no phone number.');
  const facts = { id, createdAt, expiresAt: expiryOf(mail), to: e164(to) ?? to, orgName: mail.org_name ?? '', code };
  return composeText(kind, facts);
}

function contentOf(
  config: DeliverDeps['config'],
  mail: LoadedMail,
  kind: LinkKind | TellingKind | 'sign_in' | 'factor_mail' | 'confirm_change',
  code: string,
  branding: MailBranding,
): MailContent {
  const orgName = mail.org_name ?? '';
  if (isNotice(kind)) return renderNotice({ kind, orgName, recoveryLeft: mail.recovery_left ?? 0 }, branding);
  const parts = { userId: mail.user_id, orgId: mail.org_id, code };
  if (kind === 'how_to_sign_in') {
    const link = mail.url_template ? templateLink(mail.url_template, parts) : undefined;
    return renderHowToSignIn({ displayName: nameFor(mail), orgName, link, ...namesOf(mail) }, branding);
  }
  if (kind === 'confirm_change') return renderConfirmCode({ orgName, code, expiresAt: expiryOf(mail) }, branding);
  if (kind === 'sign_in' || kind === 'factor_mail') {
    const link = mail.url_template ? templateLink(mail.url_template, parts) : undefined;
    const facts = { displayName: nameFor(mail), orgName, code, link, expiresAt: expiryOf(mail) };
    return renderSignInCode(kind, facts, branding);
  }
  const link = mail.url_template ? templateLink(mail.url_template, parts) : pageLink(config.baseUrl, kind, parts);
  const { user_name: userName } = mail;
  return renderMail({ kind, displayName: nameFor(mail), orgName, userName, link, expiresAt: expiryOf(mail) }, branding);
}

function sampleOf(config: DeliverDeps['config'], mail: LoadedMail, kind: PreviewKind, look: MailLook): MailContent {
  return previewMail(config, {
    kind,
    org: { id: mail.org_id, name: mail.org_name ?? '' },
    languages: languagesOf(mail, look),
    look,
    expiresAt: new Date(mail.created_at.getTime() + validForMs(kind, config)),
    displayName: nameFor(mail),
  });
}

/** What the user signs in with, as the organization allows. */
function namesOf({ sign_in_names: names, user_name: userName, primary_domain: domain, verified }: LoadedMail) {
  const allows = (name: string) => names?.includes(name) ?? true;
  const full = domain !== null && allows('loginName') ? `${userName}@${domain}` : '';
  return { userName: allows('userName') ? userName : full, byAddress: verified && allows('email') };
}

function compose(
  config: DeliverDeps['config'],
  mail: LoadedMail,
  content: MailContent,
  fromName: string | undefined,
): ComposedMail {
  if (mail.address === null) throw new Incomplete('The user has no email address.');
  const address = { id: mail.id, createdAt: mail.created_at, from: config.MAIL_FROM, fromName };
  const composed = composeMail({ ...address, toName: nameFor(mail), toAddress: mail.address }, content);
  // Somebody waits for a code; nobody does for one of the mails of an import.
  return { ...composed, line: mail.import_id === null ? `organization ${mail.org_id}` : `import ${mail.import_id}` };
}

/**
 * Empty unless the address is the user's verified one: users choose their display name, and must not send words of
 * their own to the addresses of others.
 */
function nameFor(mail: LoadedMail): string {
  return mail.verified ? (mail.display_name ?? '') : '';
}

function expiryOf(mail: LoadedMail): Date {
  if (mail.expires_at === null) throw new Incomplete('The mail has no code.');
  return mail.expires_at;
}

/** A mail is not retried if its code would have expired by then. One that could not be composed is kept until then. */
function outcomeOf(result: Attempt, mail: LoadedMail, delays: readonly number[]) {
  if (result.sent) return { state: 'sent' as const, error: null, delayMs: 0 };
  const delayMs = result.permanent ? undefined : (delays[mail.attempts] ?? (result.keeps ? delays.at(-1) : undefined));
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

/** Loads the mails of many jobs in one statement: jobs that start while a statement runs go into the next one. */
export interface MailLoader {
  /**
   * A mail that is still to be sent; undefined when it has settled or its user was deleted.
   * @throws Error when the database refused the statement
   */
  load(id: MailPointer['id']): Promise<LoadedMail | undefined>;
}

interface Asked {
  id: string;
  resolve(mail: LoadedMail | undefined): void;
  reject(error: unknown): void;
}

/** A mail is read after it was asked for. A mail that is asked for alone waits for nothing. */
export function openBatchLoader(db: Db): MailLoader {
  let asked: Asked[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    while (asked.length > 0) {
      const group = asked;
      asked = [];
      await loadGroup(db, group);
    }
    isRunning = false;
  }

  return {
    load: (id) =>
      new Promise((resolve, reject) => {
        asked.push({ id, resolve, reject });
        if (isRunning) return;
        isRunning = true;
        setImmediate(run);
      }),
  };
}

async function loadGroup(db: Db, group: Asked[]): Promise<void> {
  const ids = group.map(({ id }) => id);
  try {
    const mails = new Map((await loadMails(db, ids)).map((mail) => [mail.id, mail]));
    for (const { id, resolve } of group) resolve(mails.get(id));
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
}

/**
 * Commits outcomes of mails in groups, as a commit takes as long for one as for many: outcomes that arrive during one
 * commit go into the next one.
 */
export interface BatchCommitter {
  /** @throws Error when the database refused the group after all retries */
  settle(outcome: MailOutcome): Promise<void>;
}

export interface BatchCommitterOptions {
  /** How long a group waits for more outcomes, in milliseconds. */
  gatherMs?: number;
  /** Pauses before each retry of a group that the database refused, in milliseconds. */
  retryDelaysMs?: readonly number[];
}

interface Waiting {
  outcome: MailOutcome;
  resolve: () => void;
  reject: (error: unknown) => void;
}

const COMMIT_RETRIES_MS = [50, 200, 1000, 3000];

/**
 * A group is never larger than the number of deliveries in progress, so it needs no limit.
 * @param write settles a group in one transaction
 */
export function openBatchCommitter(
  write: (group: MailOutcome[]) => Promise<void>,
  options: BatchCommitterOptions = {},
): BatchCommitter {
  const { gatherMs = 5, retryDelaysMs = COMMIT_RETRIES_MS } = options;
  let waiting: Waiting[] = [];
  let running = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      await sleep(gatherMs);
      const group = waiting;
      waiting = [];
      await commit(write, group, retryDelaysMs);
    }
    running = false;
  }

  return {
    settle: (outcome) =>
      new Promise((resolve, reject) => {
        waiting.push({ outcome, resolve, reject });
        if (running) return;
        running = true;
        void run();
      }),
  };
}

async function commit(
  write: (group: MailOutcome[]) => Promise<void>,
  group: Waiting[],
  retryDelaysMs: readonly number[],
): Promise<void> {
  const outcomes = group.map((w) => w.outcome);
  for (let attempt = 0; ; attempt++) {
    try {
      await write(outcomes);
      for (const w of group) w.resolve();
      return;
    } catch (error) {
      const delay = retryDelaysMs[attempt];
      if (delay === undefined) {
        for (const w of group) w.reject(error);
        return;
      }
      await sleep(delay);
    }
  }
}
