/**
 * Tries every way in for an imported user, over HTTP and with real mails, and says which of them work: the password by
 * name and by address, a code by mail, and the link of the mail that the import sent.
 */
import type { Answer } from '../support/answers.ts';
import { errorId } from '../support/answers.ts';
import type { TestOrg } from '../support/calls.ts';
import { type CaughtMail, type SmtpCatcher, urlsIn } from '../support/smtp.ts';
import { codeAt } from '../support/totp.ts';
import { waitFor } from '../support/wait.ts';
import { nameOf, numberOf, type WaysUser } from './cases.ts';
import type { Stage } from './stage.ts';
import { byPasskey, byPasswordAndText, byText } from './try-page.ts';

/** What happened when somebody tried; every field is a fact. */
export interface Tried {
  /** Somebody got in with a password that is wrong. */
  wrongPassword: boolean;
  /** The password signs in beside the name, and beside the address as imported. */
  byName: boolean;
  byAddress: boolean;
  /** The session says that the user must set another password. */
  mustChange: boolean;
  /** A code was mailed, and signed the user in. */
  code: boolean;
  /** The right password or code led to the enrolment of a second factor. */
  setsUpFactor: boolean;
  /** Mails of the import to the user. */
  mails: number;
  /** The link of the import's mail led to a sign-in with a new password. */
  initLink: boolean;
  /** A code was texted, and signed the user in. */
  text: boolean;
  passkey: boolean;
  /** The link of the import's mail verified the address, which then signs in with the password. */
  verifyLink: boolean;
}

const SESSIONS = '/v2beta/sessions';
const WRONG = 'wrong horse';
/** What somebody would type for a user without a password. */
const GUESSED = 'correct horse';
const NEW = 'Newer-horse-7';

/** The mails of an import, kept apart from those that are asked for later. */
export type MailsOf = (address: string) => CaughtMail[];

export function mailsOf({ mails }: SmtpCatcher, from: number): MailsOf {
  const kept = mails.slice(from);
  return (address) => kept.filter(({ to }) => to.some((one) => one.toLowerCase() === address.toLowerCase()));
}

/** Tries all ways: the code before the password, as a user who turns out to know the password needs no code. */
export async function tryWays(stage: Stage, org: TestOrg, user: WaysUser, sent: MailsOf): Promise<Tried> {
  const name = nameOf(user);
  const password = user.password ?? GUESSED;
  const opens = (loginName: string, typed: string) => signIn(stage, org, { loginName, typed, user });
  const wrongPassword = (await opens(name, WRONG)).isIn;
  const isSeparate = user.address !== undefined && user.address !== name;
  const { code, mustSetUp } = await signInWithCode(stage, org, { name, address: user.address });
  const byAddress = isSeparate && (await knows(stage, org, user.address as string, password));
  const { isIn: byName, mustChange, setsUp } = await opens(name, password);
  const mails = user.address === undefined ? [] : sent(user.address);
  const link = mails[0] && urlsIn((await mails[0].parsed()).text ?? '')[0];
  const isInit = link?.pathname.endsWith('/init') === true;
  const followed = link !== undefined && (await follow(stage, link));
  const initLink = isInit && followed && (await opens(name, NEW)).isIn;
  const number = numberOf(user);
  const byNumber = number === undefined ? undefined : await byText(stage, org, number, user.way === 'SMS_CODE');
  return {
    wrongPassword,
    byName,
    byAddress: isSeparate ? byAddress : byName && user.address !== undefined,
    mustChange,
    code,
    setsUpFactor: mustSetUp || setsUp || byNumber?.setsUp === true,
    mails: mails.length,
    initLink,
    text: byNumber?.isIn === true,
    // Last, as it ends the links of others.
    passkey: user.passkey !== undefined && (await byPasskey(stage, user.passkey)).isIn,
    verifyLink: !isInit && followed && (await knows(stage, org, user.address as string, password)),
  };
}

interface Typed {
  loginName: string;
  typed: string;
  user: WaysUser;
}

/** The password, and the second factor that came along. */
async function signIn(stage: Stage, org: TestOrg, { loginName, typed, user }: Typed) {
  const { phone } = user;
  if (phone === undefined) return openSession(stage, org, { loginName, typed, user });
  // Programs cannot ask for such a code.
  return { ...(await byPasswordAndText(stage, org, { loginName, typed, phone })), mustChange: false };
}

function factorOf({ totp, totpParameters, recoveryCode }: WaysUser): object {
  if (recoveryCode !== undefined) return { recoveryCode: { code: recoveryCode } };
  return totp === undefined ? {} : { totp: { code: codeAt(totp, Date.now(), totpParameters) } };
}

async function openSession({ call }: Stage, org: TestOrg, { loginName, typed, user }: Typed) {
  const factor = factorOf(user);
  const checks = { user: { loginName }, password: { password: typed }, ...factor };
  const answer = judged(await call('POST', SESSIONS, { checks }, { token: org.ownerToken, orgId: org.orgId }));
  const setsUp = isSetUp(answer);
  return { isIn: answer.status === 201 || setsUp, setsUp, mustChange: answer.body.passwordChangeRequired === true };
}

/** Whether name and password are right, without a code of the second factor, which works once. */
async function knows({ call }: Stage, org: TestOrg, loginName: string, typed: string): Promise<boolean> {
  const checks = { user: { loginName }, password: { password: typed } };
  const answer = judged(await call('POST', SESSIONS, { checks }, { token: org.ownerToken, orgId: org.orgId }));
  return answer.status === 201 || isSetUp(answer) || errorId(answer) === 'SESSION-TOTP-REQUIRED';
}

/** Whoever proved who they are has to set up a second factor first, on a page. */
const isSetUp = (answer: Answer) => answer.status === 400 && errorId(answer) === 'SESSION-MFA-SETUP-REQUIRED';

/** A session that waits for a code, the mail with it, and the code. */
async function signInWithCode(
  { call, smtp }: Stage,
  org: TestOrg,
  { name, address }: { name: string; address: string | undefined },
): Promise<{ code: boolean; mustSetUp: boolean }> {
  const before = smtp.mails.length;
  const body = { checks: { user: { loginName: name } }, challenges: { otpEmail: { sendCode: {} } } };
  const options = { token: org.ownerToken, orgId: org.orgId };
  const opened = judged(await call('POST', SESSIONS, body, options));
  if (opened.status !== 201) return { code: false, mustSetUp: false };
  if (address === undefined) throw new Error(`${name}: a code is mailed to nobody`);
  const code = await waitFor(() => mailedCode(smtp.mails.slice(before), address), { what: `a code for ${address}` });
  const path = `${SESSIONS}/${opened.body.sessionId}`;
  const wrong = await call('PATCH', path, { checks: { otpEmail: { code: other(code) } } }, options);
  if (wrong.status === 200) throw new Error(`${address}: a wrong code signs in`);
  const answer = judged(await call('PATCH', path, { checks: { otpEmail: { code } } }, options));
  const mustSetUp = isSetUp(answer);
  return { code: answer.status === 200 || mustSetUp, mustSetUp };
}

async function mailedCode(mails: readonly CaughtMail[], address: string): Promise<string | undefined> {
  for (const mail of mails) {
    if (!mail.to.some((one) => one.toLowerCase() === address.toLowerCase())) continue;
    const code = /^(\d{4}) ?(\d{4})$/m.exec((await mail.parsed()).text ?? '');
    if (code) return `${code[1]}${code[2]}`;
  }
  return undefined;
}

const other = (code: string) => String((Number(code) + 1) % 10 ** 8).padStart(8, '0');

/** Opens the page of a mail's link and sends its form; whether the page says that it is done. */
async function follow({ url }: Stage, link: URL): Promise<boolean> {
  const page = new URL(link.pathname + link.search, url);
  const seen = await fetch(page);
  if (seen.status !== 200) throw new Error(`${link.pathname} answers ${seen.status}`);
  const body = new URLSearchParams({ ...Object.fromEntries(link.searchParams), password: NEW, repeated: NEW });
  const done = await fetch(new URL(link.pathname, url), { method: 'POST', body });
  await done.text();
  return done.status === 200;
}

/** @throws Error when the API is too busy to judge */
function judged(answer: Answer): Answer {
  if ([429, 503].includes(answer.status)) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}
