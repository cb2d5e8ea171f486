/**
 * How an existing user differs from an entry of an updating import, and what follows from the difference: which codes
 * and logins end, whether a mail is due, how the user signs in. Writes nothing.
 */
import { createHash } from 'node:crypto';
import type { MailKind } from '../../contract/link-templates.ts';
import type { UserState } from '../../contract/users.ts';
import { ADDRESS_CODES, PASSWORD_CODES, PHONE_CODES, SIGN_IN_CODES } from '../../messages/mail/codes.ts';
import { sourceOf } from '../../passwords/marks.ts';
import { originalHash } from '../../passwords/pepper.ts';
import type { Present } from '../../platform/db/rows.ts';
import type { ImportItems, ImportOrgs, Users } from '../../platform/db/tables.ts';
import { FACT, mergedFacts } from '../entries/facts.ts';
import { isProviderName, joinedNames } from '../entries/link-names.ts';
import type { OmittedField } from '../entries/notes.ts';
import { isLeftOut } from '../entries/sign-in.ts';

/** The columns that items and users have in common. */
export interface Columns
  extends Pick<Users, 'user_name' | 'user_name_key' | 'gender' | 'email' | 'email_key' | 'email_verified' | 'phone'>,
    Pick<Users, 'phone_verified' | 'password_hash' | 'password_change_required'>,
    Present<Pick<Users, 'given_name' | 'family_name' | 'nick_name' | 'display_name' | 'preferred_language'>> {}

export interface CandidateItem
  extends Columns,
    Pick<ImportItems, 'ordinal' | 'org_index' | 'changed_by' | 'sign_in' | 'links'>,
    Present<Pick<ImportItems, 'user_id'>>,
    Pick<ImportOrgs, 'org_id'> {
  user_state: 'active' | 'inactive' | 'locked';
  omitted: OmittedField[];
  /** Whether it contains an encrypted plain password. */
  is_sealed: boolean;
  has_totp: boolean;
  /** The credential ids of its passkeys, in base64; null: it has none of the rare fields. */
  passkeys: string[] | null;
}

/** `rehashed_from` is the SHA-256 of the imported hash that the current one replaced at a login. */
export interface CandidateUser
  extends Columns,
    Pick<Users, 'id' | 'org_id' | 'kind' | 'state' | 'without_mail_codes' | 'rehashed_from'> {
  /** The names under which they have links that nobody else of the organization has, and those of their passkeys. */
  links: string[];
  /** Another user of the organization has the same verified number. Read only where a mail depends on it. */
  is_number_held: boolean;
  /** The facts of their second factors, passkeys and recovery codes. */
  factors: number;
}

/**
 * How an existing user differs from an entry of an updating import, and what follows from the difference. Fields that
 * the entry omits keep their values. A password is set if the entry has one and it is a different one; it is never
 * removed.
 */
export interface Difference {
  user: CandidateUser;
  next: Columns & Pick<Users, 'state' | 'without_mail_codes'>;
  /** Names of the import's fields that change, as paths below `user` in an entry. */
  changed: string[];
  setsPassword: boolean;
  /** Purposes of the codes that become invalid. */
  endsCodes: MailKind[];
  /** Whether sessions and grants end. */
  endsLogins: boolean;
  /** Whether a deactivated or locked user may log in again, with all attempts. */
  reactivates: boolean;
  /** The mail to send because of the change. */
  mail: 'verify_email' | 'initialise' | undefined;
  /** How the changed user signs in; see entries/facts.ts. */
  signIn: number;
  /** The names under which the user then has links that nobody else has. */
  links: string[];
}

export interface DifferenceRules {
  /** Whether a mail that is due is sent. */
  mails(user: { hasPassword: boolean; links: readonly string[]; rank: number; facts: number }): boolean;
  leavesOutEnterprise: boolean;
  /** How many rights the user has; see directory/idp-links.ts. */
  rank: number;
}

const STOPPED: readonly UserState[] = ['inactive', 'locked'];

const FIELDS: [name: string, column: keyof Columns][] = [
  ['userName', 'user_name'],
  ['profile.firstName', 'given_name'],
  ['profile.lastName', 'family_name'],
  ['profile.nickName', 'nick_name'],
  ['profile.displayName', 'display_name'],
  ['profile.preferredLanguage', 'preferred_language'],
  ['profile.gender', 'gender'],
  ['email.email', 'email'],
  ['email.isEmailVerified', 'email_verified'],
  ['phone.phone', 'phone'],
  ['phone.isPhoneVerified', 'phone_verified'],
  ['password', 'password_hash'],
  ['passwordChangeRequired', 'password_change_required'],
];

/**
 * @param given.mails whether a user of the organization for whom a mail is due gets it
 * @param given.leavesOutEnterprise the import leaves users of company connections out of mail codes
 */
export function difference(
  item: CandidateItem,
  user: CandidateUser,
  { mails, leavesOutEnterprise, rank }: DifferenceRules,
): Difference {
  const columns = nextColumns(item, user);
  const setsPassword = columns.password_hash !== user.password_hash;
  const next = {
    ...columns,
    state: nextState(item, user, columns.password_hash),
    // No import takes the mark away: who manages the user does.
    without_mail_codes: user.without_mail_codes || isLeftOut(item.sign_in, { leavesOutEnterprise }),
  };
  const changed = FIELDS.filter(([, column]) => (next[column] ?? '') !== (user[column] ?? '')).map(([name]) => name);
  if (next.state !== user.state && !item.omitted.includes('state')) changed.push('state');
  if (next.without_mail_codes !== user.without_mail_codes) changed.push('oldSignIn.ways');
  const links = joinedNames(user.links, item.links ?? []);
  const facts = mergedFacts(item.sign_in, factsSource(next), {
    setsPassword,
    hasLinks: links.some(isProviderName),
    rank,
    // Before the import: the number of an item is judged with the item.
    factors: user.factors | (user.is_number_held && item.omitted.includes('phone') ? FACT.phoneHeldTwice : 0),
  });
  const { due, ...others } = consequences(user, next, setsPassword, (hasPassword) =>
    mails({ hasPassword, links, rank, facts }),
  );
  const signIn = facts | (due === undefined ? 0 : FACT.mailDue);
  return { user, next, changed, setsPassword, signIn, links, ...others };
}

function nextColumns(item: CandidateItem, user: CandidateUser): Columns {
  /** The source of a column: the entry if it has the field, else the user. */
  const from = (field: CandidateItem['omitted'][number]): Columns => (item.omitted.includes(field) ? user : item);
  return {
    user_name: from('userName').user_name,
    user_name_key: from('userName').user_name_key,
    given_name: item.given_name,
    family_name: item.family_name,
    nick_name: from('nickName').nick_name,
    display_name: item.omitted.includes('displayName') && !isMadeOfNames(user) ? user.display_name : item.display_name,
    preferred_language: from('preferredLanguage').preferred_language,
    gender: from('gender').gender,
    ...nextEmail(item, user),
    ...nextPhone(item, user),
    password_hash: isNewPassword(item, user) ? item.password_hash : user.password_hash,
    password_change_required: from('passwordChangeRequired').password_change_required,
  };
}

function nextEmail(item: CandidateItem, user: CandidateUser): Pick<Columns, 'email' | 'email_key' | 'email_verified'> {
  const { email, email_key } = item.omitted.includes('email') ? user : item;
  const isSame = email === user.email;
  const email_verified = item.omitted.includes('isEmailVerified') ? isSame && user.email_verified : item.email_verified;
  return { email, email_key, email_verified };
}

function nextPhone(item: CandidateItem, user: CandidateUser): Pick<Columns, 'phone' | 'phone_verified'> {
  if (item.omitted.includes('phone')) return { phone: user.phone, phone_verified: user.phone_verified };
  const isSame = item.phone === user.phone;
  const phone_verified = item.omitted.includes('isPhoneVerified') ? isSame && user.phone_verified : item.phone_verified;
  return { phone: item.phone, phone_verified };
}

/** If true, the display name follows the names; otherwise somebody chose it. */
function isMadeOfNames(user: CandidateUser): boolean {
  return (user.display_name ?? '') === `${user.given_name} ${user.family_name}`;
}

/**
 * A hash that replaced the sent one at a login (rehashing) is the same password. A password source is for users without
 * a password, and never replaces one.
 */
function isNewPassword({ password_hash: sent }: CandidateItem, user: CandidateUser): boolean {
  if (sent === null || sent === user.password_hash) return false;
  if (sourceOf(sent) !== undefined && user.password_hash !== null) return sourceOf(user.password_hash) !== undefined;
  return !user.rehashed_from?.equals(createHash('sha256').update(originalHash(sent)).digest());
}

/** A first password makes an INITIAL user active; a user that is reactivated without a password becomes INITIAL. */
function nextState(item: CandidateItem, user: CandidateUser, hash: string | null): UserState {
  const isStopped = STOPPED.includes(user.state);
  if (!item.omitted.includes('state')) {
    if (item.user_state !== 'active') return item.user_state;
    if (isStopped) return hash === null ? 'initial' : 'active';
  }
  return user.state === 'initial' && hash !== null ? 'active' : user.state;
}

function factsSource(next: Difference['next']): Parameters<typeof mergedFacts>[1] {
  return {
    userState: next.state,
    userNameKey: next.user_name_key,
    emailKey: next.email_key,
    emailVerified: next.email_verified,
    passwordHash: next.password_hash,
    passwordChangeRequired: next.password_change_required,
    phone: next.phone,
    phoneVerified: next.phone_verified,
    withoutMailCodes: next.without_mail_codes,
  };
}

interface Consequences extends Pick<Difference, 'endsCodes' | 'endsLogins' | 'reactivates' | 'mail'> {
  /** The mail that is due, whether or not the user gets it. */
  due: Difference['mail'];
}

function consequences(
  user: CandidateUser,
  next: Difference['next'],
  setsPassword: boolean,
  mails: (hasPassword: boolean) => boolean,
): Consequences {
  const movesEmail = next.email !== user.email;
  const movesPhone = next.phone !== user.phone || next.phone_verified !== user.phone_verified;
  const isStopped = next.state !== user.state && STOPPED.includes(next.state);
  const isLetIn = STOPPED.includes(user.state) && !STOPPED.includes(next.state);
  const losesProof = user.email_verified && !next.email_verified && next.state !== 'initial';
  const isNewlyLeftOut = next.without_mail_codes && !user.without_mail_codes;
  const losesLink = user.state === 'initial' && setsPassword;
  const isDue = movesEmail || losesProof || losesLink || isLetIn;
  const due = isDue ? mailFor(next) : undefined;
  const mail = mails(next.password_hash !== null) ? due : undefined;
  const ended = new Set<MailKind>([
    ...(movesEmail ? ADDRESS_CODES : []),
    ...(next.email_verified !== user.email_verified ? (['verify_email'] as const) : []),
    ...(setsPassword || isNewlyLeftOut ? ([...PASSWORD_CODES, ...SIGN_IN_CODES] as const) : []),
    ...(movesPhone ? PHONE_CODES : []),
    ...(mail ? [mail] : []),
  ]);
  return {
    endsCodes: [...ended],
    endsLogins: setsPassword || isStopped,
    reactivates: isLetIn,
    mail,
    due,
  };
}

/** The mail for the step that the user still has to take, if any. */
function mailFor(next: Difference['next']): Difference['mail'] {
  if (next.email === null) return undefined;
  if (next.state === 'initial') return next.without_mail_codes ? undefined : 'initialise';
  return next.state === 'active' && !next.email_verified ? 'verify_email' : undefined;
}
