/**
 * The content of emails (subject, text and HTML) and of text messages, in the language of the work in progress
 * (`inLanguage`).
 *
 * Guarantee: the same facts give the same message. The text of an email holds one URL, the link, beside those of the
 * branding; a notice, a text message and a code for a sign-in hold none, unless a program gave the code a link of its
 * own. Names come from imports and are not trusted: they are reduced to one line, escaped in HTML, and left out where a
 * mail program or a phone would turn them into a link.
 */
import type { LinkKind, NoticeKind, TextKind } from '../../contract/link-templates.ts';
import { currentLanguage, type MessageKey, say } from '../../platform/messages/catalogue.ts';
import { harmless, layOut, type MailBranding, type MailContent } from './layout.ts';

export interface MailFacts {
  kind: LinkKind;
  /** The name in the greeting; empty for an address that is not verified (deliver.ts). */
  displayName: string;
  orgName: string;
  userName: string;
  link: string;
  expiresAt: Date;
}

const LINK_WORDS = {
  verify_email: ['mail.verifySubject', 'mail.verifyIntro', 'mail.verifyAction', 'mail.ignoreUnknown'],
  initialise: ['mail.initialiseSubject', 'mail.initialiseIntro', 'mail.initialiseAction', 'mail.initialiseIgnore'],
  add_passkey: ['mail.passkeySubject', 'mail.passkeyIntro', 'mail.passkeyAction', 'mail.ignoreUnknown'],
  reset_password: ['mail.resetSubject', 'mail.resetIntro', 'mail.resetAction', 'mail.resetIgnore'],
} as const satisfies Record<LinkKind, readonly MessageKey[]>;

/** Renders an email with a link. */
export function renderMail(facts: MailFacts, branding?: MailBranding): MailContent {
  const [subject, intro, action, ignore] = LINK_WORDS[facts.kind];
  const { own } = branding ?? {};
  // With the organization's own words: what is left to say.
  const name = user(own?.namesUser ? '' : facts.userName);
  const said = say(intro, { ...at(facts.orgName), ...name, hasOwn: own ? 'yes' : 'no' }).trim();
  return layOut(
    {
      subject: subjectOf(subject, facts.orgName),
      greeting: greetingFor(facts.displayName),
      lines: said === '' ? [] : [said],
      button: { text: say(action), href: facts.link },
      small: [say('mail.linkUntil', { moment: utc(facts.expiresAt) }), say(ignore)],
    },
    branding,
  );
}

/** What a notice is called, what happened, and what to do about it if it was somebody else. */
const NOTICES = {
  email_changed: ['mail.emailChangedSubject', 'mail.emailChanged', 'mail.emailChangedElse'],
  phone_changed: ['mail.phoneChangedSubject', 'mail.phoneChanged', 'mail.phoneChangedElse'],
  password_changed: ['mail.passwordChangedSubject', 'mail.passwordChanged', 'mail.resetElse'],
  link_added: ['mail.linkAddedSubject', 'mail.linkAdded', 'mail.linkAddedElse'],
  link_removed: ['mail.linkRemovedSubject', 'mail.linkRemoved', 'mail.linkRemovedElse'],
  factor_added: ['mail.factorAddedSubject', 'mail.factorAdded', 'mail.factorAddedElse'],
  factor_removed: ['mail.factorRemovedSubject', 'mail.factorRemoved', 'mail.factorRemovedElse'],
  factors_reset: ['mail.factorsResetSubject', 'mail.factorsReset', 'mail.factorsResetElse'],
  passkey_added: ['mail.passkeyAddedSubject', 'mail.passkeyAdded', 'mail.passkeyAddedElse'],
  passkey_removed: ['mail.passkeyRemovedSubject', 'mail.passkeyRemoved', 'mail.passkeyRemovedElse'],
  recovery_codes_made: ['mail.recoveryCodesMadeSubject', 'mail.recoveryCodesMade', 'mail.recoveryCodesMadeElse'],
  recovery_code_used: ['mail.recoveryCodeUsedSubject', 'mail.recoveryCodeUsed', 'mail.recoveryCodeUsedElse'],
  account_deleted: ['mail.accountDeletedSubject', 'mail.accountDeleted', 'mail.accountDeletedElse'],
} as const satisfies Record<NoticeKind, readonly MessageKey[]>;

/** The facts of a notice. */
export type NoticeFacts = Pick<MailFacts, 'orgName'> & {
  kind: NoticeKind;
  /** How many recovery codes the user has left. */
  recoveryLeft?: number | undefined;
};

/** Tells what was changed about the account. A thief of the account gains nothing by it: it has no link. */
export function renderNotice({ kind, orgName, recoveryLeft }: NoticeFacts, branding?: MailBranding): MailContent {
  const [subject, what, ifNot] = NOTICES[kind];
  // Somebody else does it, when the user asks for it.
  const ifSo = say(kind === 'factors_reset' ? 'mail.askedFor' : 'mail.wasYou');
  return layOut(
    {
      subject: subjectOf(subject, orgName),
      greeting: greetingFor(''),
      lines: [say(what, { ...at(orgName), left: recoveryLeft ?? 0 }), ifSo, say(ifNot)],
      small: [],
    },
    branding,
  );
}

/** The facts of the mail that tells how to sign in. */
export type HowToSignInFacts = Pick<MailFacts, 'displayName' | 'orgName' | 'userName'> & {
  /** The address of the mail signs in too. */
  byAddress: boolean;
  /** Where they sign in. */
  link: string | undefined;
};

/** Tells a user who was moved here how to sign in. It has no code: whoever else reads it gains nothing. */
export function renderHowToSignIn(
  { displayName, orgName, userName, byAddress, link }: HowToSignInFacts,
  branding?: MailBranding,
): MailContent {
  const { hasUser, ...name } = user(userName);
  const by = byAddress && hasUser === 'yes' ? 'both' : hasUser === 'yes' ? 'user' : 'address';
  return layOut(
    {
      subject: subjectOf('mail.howToSubject', orgName),
      greeting: greetingFor(displayName),
      lines: [
        say('mail.howToIntro', at(orgName)),
        ...(byAddress || hasUser === 'yes' ? [say('mail.howToWith', { by, ...name })] : []),
        say('mail.howToForgot'),
      ],
      button: link === undefined ? undefined : { text: say('mail.howToAction'), href: link },
      small: [say('mail.ignoreUnknown')],
    },
    branding,
  );
}

/** The facts of a mail with a code for a sign-in. */
export type SignInFacts = Pick<MailFacts, 'displayName' | 'orgName' | 'expiresAt'> & {
  code: string;
  link: string | undefined;
};

/**
 * Renders the mail with the code that somebody typed their name for, or their password.
 * @param kind `factor_mail`: it is asked for after the right password
 */
export function renderSignInCode(
  kind: 'sign_in' | 'factor_mail',
  { displayName, orgName, code, link, expiresAt }: SignInFacts,
  branding?: MailBranding,
): MailContent {
  const isFactor = kind === 'factor_mail';
  return layOut(
    {
      subject: subjectOf('mail.codeSubject', orgName),
      greeting: greetingFor(displayName),
      lines: [say(isFactor ? 'mail.factorIntro' : 'mail.codeIntro', at(orgName))],
      code,
      button: link === undefined ? undefined : { text: say('mail.codeAction'), href: link },
      small: [
        say('mail.codeUntil', { moment: utc(expiresAt) }),
        say(isFactor ? 'mail.factorIgnore' : 'mail.codeIgnore'),
      ],
    },
    branding,
  );
}

/** Renders the mail with the code that a change of the account needs. */
export function renderConfirmCode(
  { orgName, code, expiresAt }: Pick<SignInFacts, 'orgName' | 'code' | 'expiresAt'>,
  branding?: MailBranding,
): MailContent {
  return layOut(
    {
      subject: subjectOf('mail.confirmSubject', orgName),
      greeting: greetingFor(''),
      lines: [say('mail.confirmIntro', at(orgName))],
      code,
      after: [say('mail.confirmUntil', { moment: utc(expiresAt) }), say('mail.resetElse')],
      small: [],
    },
    branding,
  );
}

function subjectOf(about: MessageKey, orgName: string): string {
  const org = harmless(orgName);
  return org === '' ? say(about) : say('mail.subject', { org, about: say(about) });
}

function greetingFor(displayName: string): string {
  const name = harmless(displayName);
  return name === '' ? say('mail.hello') : say('mail.helloName', { name });
}

/** A message says where the account is, if the name of the organization can be said. */
function at(orgName: string) {
  const org = harmless(orgName);
  return { org, hasOrg: org === '' ? 'no' : 'yes' };
}

function user(name: string) {
  const userName = harmless(name);
  return { userName, hasUser: userName === '' ? 'no' : 'yes' };
}

interface Moments {
  day: Intl.DateTimeFormat;
  time: Intl.DateTimeFormat;
  /** The last that was said: many mails in a row name the same. */
  minute?: number;
  said?: string;
}

const moments = new Map<string, Moments>();

/** The time in the language, as `24 November 2025, 03:26 UTC`. */
function utc(at: Date): string {
  const language = currentLanguage();
  const known = moments.get(language) ?? momentsIn(language);
  const minute = Math.floor(at.getTime() / 60_000);
  if (known.said === undefined || known.minute !== minute) {
    known.said = say('mail.moment', { day: known.day.format(at), time: known.time.format(at) });
    known.minute = minute;
  }
  return known.said;
}

function momentsIn(language: string): Moments {
  // English is read in more countries that put the day before the month.
  const locale = language === 'en' ? 'en-GB' : language;
  const made: Moments = {
    day: new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' }),
    time: new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' }),
  };
  moments.set(language, made);
  return made;
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

const TEXT_WORDS = {
  verify_phone: 'text.confirmPhone',
  sign_in_text: 'text.signIn',
  factor_text: 'text.signIn',
} as const satisfies Record<TextKind, MessageKey>;

/** Renders the text message that carries a code. @throws Error when the user has no phone number */
export function composeText(kind: TextKind, facts: TextFacts): TextMessage {
  if (facts.to === null) throw new Error('The user has no phone number.');
  const minutes = Math.round((facts.expiresAt.getTime() - facts.createdAt.getTime()) / MINUTE);
  const said = say(TEXT_WORDS[kind], { code: facts.code, minutes });
  const name = harmless(facts.orgName);
  const org = /\w\.\w/.test(name) ? '' : Array.from(name).slice(0, MAX_NAME).join('');
  const text = org === '' ? said : say('text.from', { org, text: said });
  return { id: facts.id, key: `text.${facts.id}.${facts.createdAt.getTime().toString(36)}`, to: facts.to, text };
}
