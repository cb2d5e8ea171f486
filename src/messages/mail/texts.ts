/**
 * The content of emails (subject, text and HTML) and of text messages.
 *
 * Guarantee: the same facts give the same message. The text of an email holds exactly one URL, the link; a notice, a
 * text message and a code for a sign-in hold none, unless a program gave the code a link of its own. Names come from imports and are not trusted: they are reduced to one line, escaped in HTML,
 * and left out where a mail program or a phone would turn them into a link. Nothing remote is loaded.
 */
import type { LinkKind, NoticeKind, TextKind } from '../../contract/link-templates.ts';
import { type Html, html } from '../../platform/html/html.ts';

export interface MailFacts {
  kind: LinkKind;
  /** The name in the greeting; empty for an address that is not verified (deliver.ts). */
  displayName: string;
  orgName: string;
  userName: string;
  link: string;
  expiresAt: Date;
}

export interface MailContent {
  subject: string;
  text: string;
  html: string;
}

interface Words {
  subject: string;
  intro: string;
  action: string;
  ignore: string;
}

/** Renders an email with a link. */
export function renderMail(facts: MailFacts): MailContent {
  const name = harmless(facts.displayName);
  const greeting = name === '' ? 'Hello,' : `Hello ${name},`;
  const words = wordsOf(facts.kind, harmless(facts.orgName), harmless(facts.userName));
  const until = `The link works once and expires on ${utc(facts.expiresAt)}.`;
  return {
    subject: words.subject,
    text: [greeting, words.intro, `${words.action}:`, facts.link, until, words.ignore].join('\n\n').concat('\n'),
    html: page(words.subject, linkBody(words, greeting, facts.link, until)).markup,
  };
}

interface Notice {
  subject: string;
  what: string;
  more?: string;
  ifNot: string;
  /** Somebody else does it, when the user asks for it. */
  isAskedFor?: true;
}

const RESET = 'select “Forgot password?” on the sign-in page and choose a new password. ';
const SIGNS_OUT = `${RESET}This signs you out everywhere. `;
const PROVIDER = 'An account at another provider, such as Google or Microsoft,';
const FACTOR = 'A second factor, such as an authenticator app,';

const NOTICES: Record<NoticeKind, (at: string) => Notice> = {
  email_changed: (at) => ({
    subject: 'Your email address is being changed',
    what: `Someone signed in to your account${at} and asked to replace this email address with another one. `,
    more: 'The new address replaces this one as soon as it is confirmed.',
    ifNot: `${RESET}This cancels the change and signs you out everywhere. Then tell your administrator.`,
  }),
  phone_changed: (at) => ({
    subject: 'Your phone number was changed',
    what: `The phone number of your account${at} was added, changed or removed.`,
    ifNot: `${SIGNS_OUT}Then correct the number on the page of your account, or tell your administrator.`,
  }),
  password_changed: (at) => ({
    subject: 'Your password was changed',
    what: `The password of your account${at} was changed.`,
    ifNot: `${SIGNS_OUT}Then tell your administrator.`,
  }),
  link_added: (at) => ({
    subject: 'Another account can sign in to yours',
    what: `${PROVIDER} was linked to your account${at}. Who signs in there can sign in here as you.`,
    ifNot: `tell your administrator, who can remove the link. Then ${SIGNS_OUT.trim()}`,
  }),
  link_removed: (at) => ({
    subject: 'A linked account was removed from yours',
    what: `${PROVIDER} no longer signs in to your account${at}.`,
    ifNot: `tell your administrator. Then ${SIGNS_OUT.trim()}`,
  }),
  factor_added: (at) => ({
    subject: 'A second factor was added to your account',
    what: `${FACTOR} was added to your account${at}. Signing in with your password can now ask for it.`,
    ifNot: `tell your administrator, who can remove it. Then ${SIGNS_OUT.trim()}`,
  }),
  factor_removed: (at) => ({
    subject: 'A second factor was removed from your account',
    what: `${FACTOR} was removed from your account${at}.`,
    ifNot: `${SIGNS_OUT}Then set up a second factor again on the page of your account, and tell your administrator.`,
  }),
  factors_reset: (at) => ({
    subject: 'Your second factors were removed',
    what: `An administrator removed all second factors and recovery codes of your account${at}. `,
    more: 'Set up a new second factor the next time you sign in.',
    ifNot: `ask your administrator why. Then ${SIGNS_OUT.trim()}`,
    isAskedFor: true,
  }),
  passkey_added: (at) => ({
    subject: 'A passkey was added to your account',
    what: `A passkey or security key was added to your account${at}. Who has it can sign in here as you.`,
    ifNot: `tell your administrator, who can remove it. Then ${SIGNS_OUT.trim()}`,
  }),
  passkey_removed: (at) => ({
    subject: 'A passkey was removed from your account',
    what: `A passkey or security key no longer signs in to your account${at}.`,
    ifNot: `tell your administrator. Then ${SIGNS_OUT.trim()}`,
  }),
  recovery_codes_made: (at) => ({
    subject: 'You have new recovery codes',
    what: `New recovery codes were made for your account${at}. Earlier ones no longer work.`,
    ifNot: `${SIGNS_OUT}Then make new recovery codes on the page of your account, so that nobody else has them.`,
  }),
  recovery_code_used: (at) => ({
    subject: 'A recovery code was used to sign in',
    what: `Someone signed in to your account${at} with one of your recovery codes, in place of a second factor. It does not work again.`,
    ifNot: `${SIGNS_OUT}Then make new recovery codes on the page of your account.`,
  }),
  account_deleted: (at) => ({
    subject: 'Your account was deleted',
    what: `Your account${at} was deleted, as somebody who was signed in to it asked. It cannot be restored.`,
    ifNot: 'tell your administrator at once. They can tell where the request came from.',
  }),
};

/** The facts of a notice. */
export type NoticeFacts = Pick<MailFacts, 'orgName'> & {
  kind: NoticeKind;
  /** How many recovery codes the user has left. */
  recoveryLeft?: number | undefined;
};

function codesLeft(left: number): string {
  if (left === 0) return ' You have no recovery code left.';
  return ` You have ${left === 1 ? 'one recovery code' : `${left} recovery codes`} left.`;
}

/** Tells what was changed about the account. A thief of the account gains nothing by it: it has no link. */
export function renderNotice({ kind, orgName, recoveryLeft }: NoticeFacts): MailContent {
  const org = harmless(orgName);
  const { subject: about, what, more = '', ifNot, isAskedFor } = NOTICES[kind](org === '' ? '' : ` at ${org}`);
  const subject = `${org === '' ? '' : `${org}: `}${about}`;
  const left = kind === 'recovery_code_used' ? codesLeft(recoveryLeft ?? 0) : '';
  const lines = [
    'Hello,',
    `${what}${more}${left}`,
    `If ${isAskedFor ? 'you asked for this' : 'this was you'}, you have nothing more to do here.`,
    `If ${isAskedFor ? 'you did not ask for this' : 'this was not you'}, ${ifNot}`,
  ];
  const body = html`${lines.map((line) => html`<p style="margin:0 0 16px">${line}</p>\n`)}`;
  return { subject, text: lines.join('\n\n').concat('\n'), html: page(subject, body).markup };
}

/** The facts of the mail that tells how to sign in. */
export type HowToSignInFacts = Pick<MailFacts, 'displayName' | 'orgName' | 'userName'> & {
  /** The address of the mail signs in too. */
  byAddress: boolean;
  /** Where they sign in. */
  link: string | undefined;
};

/** Tells a user who was moved here how to sign in. It has no code: whoever else reads it gains nothing. */
export function renderHowToSignIn({ displayName, orgName, userName, byAddress, link }: HowToSignInFacts): MailContent {
  const [name, org, user] = [harmless(displayName), harmless(orgName), harmless(userName)];
  const subject = `${org === '' ? '' : `${org}: `}How to sign in`;
  const names = [...(user === '' ? [] : [`the user name ${user}`]), ...(byAddress ? ['this email address'] : [])];
  const lines = [
    name === '' ? 'Hello,' : `Hello ${name},`,
    `Your account${org === '' ? '' : ` at ${org}`} has a new sign-in page, and you have not signed in there yet.`,
    ...(names.length > 0 ? [`Sign in with ${names.join(' or ')}.`] : []),
    'If you do not know your password, or have none, select “Forgot password?” on that page.',
  ];
  const ignore = 'If you do not recognize this account, you can ignore this email.';
  const text = [...lines, ...(link === undefined ? [] : ['Sign in:', link]), ignore];
  const body = html`${lines.map((line) => html`<p style="margin:0 0 16px">${line}</p>\n`)}${
    link === undefined
      ? undefined
      : html`<p style="margin:0 0 24px"><a href="${link}" style="${BUTTON}">Sign in</a></p>\n`
  }<p style="${SMALL}">${ignore}</p>
`;
  return { subject, text: text.join('\n\n').concat('\n'), html: page(subject, body).markup };
}

/** The facts of a mail with a code for a sign-in. */
export type SignInFacts = Pick<MailFacts, 'displayName' | 'orgName' | 'expiresAt'> & {
  code: string;
  link: string | undefined;
};

const IF_NOT_ASKED = {
  sign_in: 'you can ignore this email.',
  factor_mail: `somebody may know your password: ${RESET.trim()}`,
};

/**
 * Renders the mail with the code that somebody typed their name for, or their password.
 * @param kind `factor_mail`: it is asked for after the right password
 */
export function renderSignInCode(
  kind: 'sign_in' | 'factor_mail',
  { displayName, orgName, code, link, expiresAt }: SignInFacts,
): MailContent {
  const [name, org] = [harmless(displayName), harmless(orgName)];
  const subject = `${org === '' ? '' : `${org}: `}Your code to sign in`;
  const greeting = name === '' ? 'Hello,' : `Hello ${name},`;
  const at = org === '' ? '' : ` at ${org}`;
  const who =
    kind === 'sign_in'
      ? `Someone asked to sign in to your account${at}.`
      : `Someone entered the password of your account${at}, or signed in to it in another way. A code is needed too.`;
  const intro = `${who} Enter this code on the page where you asked for it:`;
  const until = `The code works once, in the browser that asked for it, and expires on ${utc(expiresAt)}.`;
  const ignore = `Tell the code to nobody, not even to us. If you did not ask for it, ${IF_NOT_ASKED[kind]}`;
  const text = [greeting, intro, code, ...(link === undefined ? [] : [link]), until, ignore];
  const body = html`<p style="margin:0 0 16px">${greeting}</p>
<p style="margin:0 0 24px">${intro}</p>
<p style="${DIGITS}">${code}</p>
${link === undefined ? undefined : html`<p style="margin:0 0 24px"><a href="${link}" style="${BUTTON}">Open the page</a></p>\n`}<p style="${SMALL}">${until}</p>
<p style="${SMALL}">${ignore}</p>
`;
  return { subject, text: text.join('\n\n').concat('\n'), html: page(subject, body).markup };
}

/** Renders the mail with the code that a change of the account needs. */
export function renderConfirmCode({
  orgName,
  code,
  expiresAt,
}: Pick<SignInFacts, 'orgName' | 'code' | 'expiresAt'>): MailContent {
  const org = harmless(orgName);
  const subject = `${org === '' ? '' : `${org}: `}Your code to change your account`;
  const before = [
    'Hello,',
    `Someone who knows the password of your account${org === '' ? '' : ` at ${org}`} wants to change how you sign in. Enter this code to allow it:`,
  ];
  const after = [
    `The code works once and expires on ${utc(expiresAt)}. Tell it to nobody, not even to us.`,
    `If this was not you, ${SIGNS_OUT}Then tell your administrator.`,
  ];
  const lines = (all: readonly string[]) => all.map((line) => html`<p style="margin:0 0 16px">${line}</p>\n`);
  const body = html`${lines(before)}<p style="${DIGITS}">${code}</p>\n${lines(after)}`;
  return { subject, text: [...before, code, ...after].join('\n\n').concat('\n'), html: page(subject, body).markup };
}

function wordsOf(kind: LinkKind, org: string, userName: string): Words {
  const prefix = org === '' ? '' : `${org}: `;
  const at = org === '' ? '' : ` at ${org}`;
  const as = userName === '' ? '' : ` Your user name is ${userName}.`;
  switch (kind) {
    case 'verify_email':
      return {
        subject: `${prefix}Confirm your email address`,
        intro: `Your account${at} was set up with this email address. Please confirm that it is yours.`,
        action: 'Confirm your email address',
        ignore: 'If you do not recognize this account, you can ignore this email.',
      };
    case 'initialise':
      return {
        subject: `${prefix}Set up your account`,
        intro: `An account${at} was created for you.${as} Please choose a password to get started.`,
        action: 'Choose your password',
        ignore: 'If you did not expect this account, you can ignore this email.',
      };
    case 'add_passkey':
      return {
        subject: `${prefix}Add a passkey to your account`,
        intro: `You can sign in to your account${at} without a password: with your fingerprint, your face or the lock of your device.${as} Open the link on the device that you want to sign in with.`,
        action: 'Add a passkey',
        ignore: 'If you do not recognize this account, you can ignore this email.',
      };
    case 'reset_password':
      return {
        subject: `${prefix}Reset your password`,
        intro: `Someone asked to reset your password${at}.${as}`,
        action: 'Choose a new password',
        ignore: 'If you did not request this, you can ignore this email. Your password will not change.',
      };
  }
}

/** The name as one line of text; empty when it holds a link. */
export function harmless(name: string): string {
  const line = name
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .trim();
  return /:\/\/|\bwww\./i.test(line) ? '' : line;
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** The time as `24 November 2025, 03:26 UTC`. */
function utc(at: Date): string {
  return `${DAY.format(at)}, ${at.toISOString().slice(11, 16)} UTC`;
}

const BUTTON =
  'display:inline-block;padding:12px 22px;border-radius:8px;background:#1f4fd8;color:#ffffff;font-weight:600;text-decoration:none';
const DIGITS = 'margin:0 0 24px;font-size:30px;font-weight:700;letter-spacing:4px';
const SMALL = 'margin:24px 0 0;font-size:13px;line-height:1.5;color:#5b6270';
const CARD = 'max-width:520px;margin:32px auto;padding:32px;background:#ffffff;border-radius:12px';
const FONT = 'font-family:-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5';

function page(subject: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${subject}</title></head>
<body style="margin:0;padding:0 12px;background:#f2f4f8;color:#1b1f27;${FONT}">
<div style="${CARD}">
${body}</div>
</body>
</html>
`;
}

function linkBody(words: Words, greeting: string, link: string, until: string): Html {
  return html`<p style="margin:0 0 16px">${greeting}</p>
<p style="margin:0 0 24px">${words.intro}</p>
<p style="margin:0 0 24px"><a href="${link}" style="${BUTTON}">${words.action}</a></p>
<p style="${SMALL}">${until} If the button does not work, copy this address into your browser:<br>
<a href="${link}" style="color:#1f4fd8;word-break:break-all">${link}</a></p>
<p style="${SMALL}">${words.ignore}</p>
`;
}

/** A text message ready for any transport. */
export interface TextMessage {
  /** Outbox id. */
  id: string;
  /** Unique to this message, in any database; the same for each of its deliveries. */
  key: string;
  /** The number as stored: E.164, unless an import brought another form. */
  to: string;
  text: string;
}

export interface TextFacts {
  id: string;
  /** When the message was queued. */
  createdAt: Date;
  to: string | null;
  orgName: string;
  code: string;
  expiresAt: Date;
}

/** Longer names would split the message in two. */
const MAX_NAME = 40;
const MINUTE = 60_000;

const TEXT_WORDS: Record<TextKind, string> = {
  verify_phone: 'is your code to confirm your phone number.',
  sign_in_text: 'is your code to sign in. Tell it to nobody.',
  factor_text: 'is your code to sign in. Tell it to nobody.',
};

/** Renders the text message that carries a code. @throws Error when the user has no phone number */
export function composeText(kind: TextKind, facts: TextFacts): TextMessage {
  if (facts.to === null) throw new Error('The user has no phone number.');
  const name = harmless(facts.orgName);
  const from = name === '' || /\w\.\w/.test(name) ? '' : `${Array.from(name).slice(0, MAX_NAME).join('')}: `;
  const minutes = Math.round((facts.expiresAt.getTime() - facts.createdAt.getTime()) / MINUTE);
  const text = `${from}${facts.code} ${TEXT_WORDS[kind]} It works once and expires in ${minutes} minutes.`;
  return { id: facts.id, key: `text.${facts.id}.${facts.createdAt.getTime().toString(36)}`, to: facts.to, text };
}
