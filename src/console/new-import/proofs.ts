/**
 * What a manager can see for themselves on Decide, before anything happens: the mails as users get them and who sends
 * them, and whether the password of one user fits.
 */
import type { Answer } from '../../contract/client.ts';
import { ApiError } from '../../platform/errors.ts';
import { field, hidden, text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { importOf, type Result } from '../shapes.ts';
import {
  type Choice,
  choices,
  count,
  duration,
  type Fact,
  facts,
  list,
  notice,
  parameter,
  queryOf,
  selectField,
} from '../shell/blocks.ts';
import { mailFrame } from '../shell/mail-frame.ts';
import { MAILING, OUTLOOK, TRY } from '../texts/decide.ts';
import { consoleLanguage } from '../texts/language.ts';
import { DECIDE } from '../texts/new-import.ts';
import { type Frame, stepPath, type Tried, type WizardStep } from './frame.ts';
import type { Plan } from './plan.ts';

export interface MailsView {
  check: Result;
  plan: Plan;
  /** The mails, and who sends them. */
  mailing: Answer<'previewImportMails'>;
  /** Why they are not those of the organization that was asked for. */
  mailsProblem: string | undefined;
  /** Emails per second; 0: no limit. */
  mailRate: number;
}

const NONE = { verification: 0, initialisation: 0, passkey: 0 };

/** Mails that the import writes. */
export function mailsDue({ mailKinds }: Result): number {
  return (mailKinds?.verification ?? 0) + (mailKinds?.initialisation ?? 0);
}

/** The mails that are due, who sends them, what they say, and when to send them. @param form the id of the form that starts */
export function mailsCard(frame: Frame, view: MailsView, form: string): Html {
  const { plan, check, mailing, mailsProblem, mailRate } = view;
  const { verification, initialisation, passkey } = mailing.kinds ?? NONE;
  const due = mailsDue(check);
  const codes = check.signIn?.ways.MAIL_CODE ?? 0;
  const kinds = [
    ...(verification > 0 ? [DECIDE.verification(count(verification))] : []),
    ...(initialisation > 0 ? [DECIDE.initialisation(count(initialisation))] : []),
    ...(passkey > 0 ? [DECIDE.passkey(count(passkey))] : []),
    ...(codes > 0 ? [MAILING.codes(codes, count(codes))] : []),
  ];
  const takes = mailRate > 0 ? DECIDE.takes(duration((due / mailRate) * 1000), count(mailRate)) : DECIDE.unlimited;
  const sent = mailing.mails.filter(({ users = 0 }) => users > 0);
  return html`<section class="card" id="mails"><h2>${DECIDE.mails}</h2>${kinds.length > 0 ? list(kinds, 'plain') : html`<p>${DECIDE.noMails}</p>`}
${due > 0 ? html`<p class="soft small">${takes}</p>` : undefined}
${kinds.length > 0 ? html`${warnings(mailing)}${facts(sender(mailing))}${ofOrganization(frame, mailing, mailsProblem)}${sent.map((mail) => preview(frame, mailing.orgId, mail))}` : undefined}
${
  due > 0
    ? html`${choices(DECIDE.whenDue, 'mails', { none: DECIDE.hold, auto: DECIDE.send }, plan.mails, form)}`
    : html`<input type="hidden" name="mails" value="${plan.mails}" form="${form}">`
}</section>`;
}

/** Why the mails would not arrive. */
function warnings({ server, spf, domain }: MailsView['mailing']): Html | undefined {
  if (server === 'MAILBOX') return notice(MAILING.noServer, 'bad');
  if (spf === 'NONE') return notice(MAILING.noSpf(domain), 'bad');
  return spf === 'UNKNOWN' ? notice(MAILING.unknownSpf(domain), 'warn') : undefined;
}

function sender({ from, mails: [mail] }: MailsView['mailing']): Fact[] {
  return [
    [MAILING.from, from],
    [MAILING.valid, mail && lifetime(mail.validForSeconds)],
  ];
}

const DAY_S = 24 * 3600;

function lifetime(seconds: number): string {
  const days = seconds / DAY_S;
  return Number.isInteger(days) ? OUTLOOK.days(days, count(days)) : duration(seconds * 1000);
}

type Mail = MailsView['mailing']['mails'][number];

/** The parameter of Decide that names the organization whose mails are shown, and the field where another is typed. */
const MAILS_OF = 'mailsOf';
const MAILS_OF_ID = 'mailsOfId';

/** Chooses whose mails are shown, where an import has several organizations with mails. */
function ofOrganization(
  frame: Frame,
  { orgId = '', orgs, moreOrgs }: MailsView['mailing'],
  problem: string | undefined,
): Html | undefined {
  if (orgs.length < 2) return undefined;
  const isListed = orgs.some((org) => org.orgId === orgId);
  const listed = orgs.map(({ orgId: id, name, mails }): Choice => {
    return [id, MAILING.ofOrganization(isolated(name || id), mails, count(mails))];
  });
  const other = field({
    name: MAILS_OF_ID,
    label: MAILING.organizationId,
    value: isListed ? '' : orgId,
    hint: MAILING.more(moreOrgs, count(moreOrgs)),
    isOptional: true,
    more: html` maxlength="200"`,
  });
  return html`<form method="get" action="${frame.consoleUrl(stepPath(frame.importId, 'decide'))}#mails">
${hidden(Object.fromEntries(new URLSearchParams(frame.query)))}${notice(problem, 'bad')}<div class="field">${selectField(MAILING.organization, MAILS_OF, listed, orgId)}</div>
${moreOrgs > 0 ? other : undefined}<button class="quiet">${MAILING.show}</button></form>`;
}

/** A name in text without markup: one that is read from the right would turn the number beside it. */
function isolated(name: string): string {
  return /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(name) ? `\u2068${name}\u2069` : name;
}

/** The mails of the organization that was chosen, or of another one and why. */
export async function mailingOf({ api, req }: WizardStep): Promise<Pick<MailsView, 'mailing' | 'mailsProblem'>> {
  const orgId = parameter(req, MAILS_OF_ID) || parameter(req, MAILS_OF);
  const read = (query: { orgId?: string }) => api.call('previewImportMails', importOf(req), { query });
  try {
    return { mailing: await read(orgId === '' ? {} : { orgId }), mailsProblem: undefined };
  } catch (error) {
    if (!(error instanceof ApiError) || error.id !== 'IMPORT-QUERY') throw error;
    return { mailing: await read({}), mailsProblem: MAILING.notInImport };
  }
}

/** The part of an address under which a mail is a document, for its frame. */
export const MAIL_PATH = 'mails';

/** A mail in one language: as text and as mail programs show it. */
function preview({ consoleUrl, importId }: Frame, orgId: string | undefined, mail: Mail): Html {
  const { kind, language, users = 0, subject, text: body } = mail;
  const name = new Intl.DisplayNames(consoleLanguage(), { type: 'language' }).of(language) ?? language;
  const src = consoleUrl(`/imports/new/${importId}/${MAIL_PATH}/${kind}/${language}${queryOf({ orgId })}`);
  return html`<details><summary>${MAILING.preview} <bdi>${subject}</bdi> <span class="soft small">${MAILING.users(name, users, count(users))}</span></summary>
${mailFrame(`${MAILING.asHtml}: ${subject}`, src)}<details><summary>${MAILING.asText}</summary><pre class="mail" tabindex="0" lang="${language}">${body}</pre></details></details>`;
}

/** The part of the step's address to which the form goes: it starts nothing, and is no step. */
export const TRY_PATH = 'try-password';

/** The form. What is typed goes to the API and nowhere else: the page that answers has the name, not the password. */
export function tryForm({ consoleUrl, importId }: Frame, tried: Tried | undefined): Html {
  const { loginName = '', result, problem } = tried ?? {};
  const answer = result && notice(`${loginName}: ${TRY.results[result]}`, TRY.looks[result]);
  return html`<details${tried && html` open`}><summary>${TRY.title}</summary>
<form method="post" action="${consoleUrl(`/imports/new/${importId}/${TRY_PATH}`)}" autocomplete="off" data-repeatable><p class="soft small">${TRY.hint}</p>
${answer}${notice(problem, 'bad')}
${field({ name: 'triedName', label: TRY.name, value: loginName, more: html` maxlength="200"` })}
${field({ name: 'triedPassword', label: TRY.password, type: 'password', more: html` maxlength="1000"` })}
<button class="quiet">${TRY.button}</button></form></details>`;
}

/** Asks the API. What a person can correct or wait for is shown beside the form. */
export async function tryTyped({ api, req }: WizardStep): Promise<Tried> {
  const [loginName, password] = [text(req.body, 'triedName').trim(), text(req.body, 'triedPassword')];
  if (loginName === '' || password === '') return { loginName, problem: TRY.both };
  try {
    const { result } = await api.call('tryImportPassword', importOf(req), { body: { loginName, password } });
    return { loginName, result };
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 429, 503].includes(error.http)) throw error;
    return { loginName, problem: error.message };
  }
}
