/**
 * Predicts how an imported user signs in: a function of the facts that are known of the user, the login policy of the
 * organization, and the options of the import. It writes nothing and decides nothing else.
 *
 * Guarantee: a way is predicted only if it works for the user as imported.
 */
import type { LoginPolicy } from '../../contract/policies.ts';
import type { Cause, Change, SignIn, Way } from '../../contract/sign-in.ts';
import { FACT, FACTOR_FACTS, PASSKEY_FACTS, USUAL } from './facts.ts';
import type { PasskeysHere } from './link-names.ts';

/** The facts that decide the way. */
export const WAY_MASK =
  FACT.password |
  FACT.atSource |
  FACT.perhaps |
  FACT.address |
  FACT.mailDue |
  FACT.inactive |
  FACT.locked |
  FACT.onlyEnterprise |
  FACT.withoutMailCodes |
  FACT.unverified |
  FACT.phone |
  FACT.phoneHeldTwice |
  FACT.passkey |
  FACT.recoveryCodes |
  FACT.rank |
  FACTOR_FACTS;
// In a search, above all facts:
/** A link of the user signs in. */
export const LINKED = 2 ** 31;
/** A passkey of the user was made for this service. */
export const PASSKEY_HERE = 2 ** 32;
/** A security key of the user was made for this service. */
export const KEY_HERE = 2 ** 33;
/** The number of the kind of organization begins here. */
export const ORG_KIND = 2 ** 34;

/** What a prediction depends on beside the facts. */
export interface Circumstances {
  policy: Pick<LoginPolicy, 'mailCode' | 'initMail' | 'forceMfa' | 'smsCode' | 'passkeys'> & {
    /** Of the sign-in names of the organization, the address alone; see `signsInWith`. */
    onlyAddresses: boolean;
    /** By which codes the import mails, where that differs from those that the user may use. */
    mailsBy?: LoginPolicy['mailCode'];
  };
  /** Text messages can be sent. */
  hasGateway: boolean;
  passkeys: PasskeysHere;
  /** The import holds its mails back. */
  holdsMails: boolean;
  /** The import leaves users who came only by a connection of their company out of mail codes. */
  leavesOutEnterprise: boolean;
  /** A link of the user belongs to a provider that may sign the user in, and nobody else has the account. */
  isLinked: boolean;
  /** A link belongs to a provider that is set up, and that may not sign in a user with these rights. */
  isOutranked?: boolean;
}

/** How a user with these facts signs in. */
export function predictSignIn(facts: number, given: Circumstances): SignIn {
  const { way, cause } = wayOf(facts, given);
  return { way, ...(cause === undefined ? {} : { cause }), changes: changesOf(facts, way, given) };
}

type Found = Pick<SignIn, 'way' | 'cause'>;

function wayOf(facts: number, given: Circumstances): Found {
  const { policy } = given;
  const has = (fact: number) => (facts & fact) !== 0;
  if (has(FACT.inactive)) return { way: 'NONE', cause: 'INACTIVE' };
  if (has(FACT.locked)) return { way: 'NONE', cause: 'LOCKED' };
  if (!has(FACT.password | FACT.atSource)) return wayWithoutPassword(facts, given);
  const perhaps = has(FACT.perhaps) ? otherWay(facts, given, true) : undefined;
  if (perhaps) return { way: perhaps, cause: 'UNKNOWN_PASSWORD' };
  const nameless = policy.onlyAddresses && !hasNumberAsName(facts, given) ? namelessBy(facts) : undefined;
  if (nameless) return { way: otherWay(facts, given, false) ?? 'NONE', cause: nameless };
  if (!completes(facts, given, 'password')) {
    return { way: otherWay(facts, given, false) ?? 'NONE', cause: 'SECOND_FACTOR_UNUSABLE' };
  }
  if (has(FACT.perhaps)) return { way: 'PASSWORD', cause: 'UNKNOWN_PASSWORD' };
  return has(FACT.password) ? { way: 'PASSWORD' } : { way: 'PASSWORD_SOURCE', cause: 'PASSWORD_AT_SOURCE' };
}

function wayWithoutPassword(facts: number, given: Circumstances): Found {
  const has = (fact: number) => (facts & fact) !== 0;
  const isByLink = has(FACT.link | FACT.onlyEnterprise);
  const byLink = given.isOutranked ? 'PROVIDER_NOT_ALLOWED' : 'PROVIDER_NOT_SET_UP';
  const cause = has(FACT.heldTwice) ? 'LINK_HELD_TWICE' : isByLink ? byLink : 'NO_PASSWORD';
  const way = otherWay(facts, given, true);
  if (way === 'PROVIDER') return isByLink ? { way } : { way, cause: 'NO_PASSWORD' };
  if (way === 'PASSKEY') return cause === 'NO_PASSWORD' ? { way } : { way, cause };
  if (way !== undefined) return { way, cause };
  if (!has(FACT.address)) return { way: 'NONE', cause: has(FACT.heldTwice) ? cause : withoutAddress(facts, given) };
  if (isLeftOut(facts, given)) return { way: 'NONE', cause: 'ONLY_ENTERPRISE' };
  if (!completes(facts, given, 'password')) return { way: 'NONE', cause: 'SECOND_FACTOR_UNUSABLE' };
  if (!has(FACT.mailDue)) return { way: 'NONE', cause };
  return given.holdsMails ? { way: 'NONE', cause: 'MAILS_HELD' } : { way: 'INIT_MAIL', cause };
}

function withoutAddress(facts: number, { policy }: Circumstances): Cause {
  const isHeldTwice = policy.smsCode !== 'off' && (facts & FACT.phone) !== 0 && (facts & FACT.phoneHeldTwice) !== 0;
  return isHeldTwice ? 'NUMBER_HELD_TWICE' : 'NO_ADDRESS';
}

/** The first way that needs no password. @param withCodes codes alone may sign the user in */
function otherWay(facts: number, given: Circumstances, withCodes: boolean): Way | undefined {
  const { policy, isLinked, hasGateway, passkeys } = given;
  const has = (fact: number) => (facts & fact) !== 0;
  const isLeft = isLeftOut(facts, given);
  const hasText = hasNumberAsName(facts, given) && hasGateway && !isLeft;
  const mayText = policy.smsCode === 'all' || !has(FACT.password | FACT.atSource) || has(FACT.perhaps);
  if (isLinked && completes(facts, given, 'provider')) return 'PROVIDER';
  if (policy.passkeys && has(FACT.passkey) && passkeys.hasPasskey) return 'PASSKEY';
  const mayMail = withCodes && policy.mailCode !== 'off' && has(FACT.address) && !isLeft;
  if (mayMail && completes(facts, given, 'mail')) return 'MAIL_CODE';
  return hasText && mayText && completes(facts, given, 'sms') ? 'SMS_CODE' : undefined;
}

/** Whether the user may type their number in place of a name. */
function hasNumberAsName(facts: number, { policy }: Circumstances): boolean {
  return policy.smsCode !== 'off' && (facts & (FACT.phone | FACT.phoneHeldTwice)) === FACT.phone;
}

/**
 * Whether the user can give the second factor that is asked for, if one is: a factor that cannot be used is demanded all
 * the same. A code by the way that the user came by proves nothing more.
 */
function completes(facts: number, given: Circumstances, by: 'password' | 'provider' | 'mail' | 'sms'): boolean {
  const has = (fact: number) => (facts & fact) !== 0;
  if (!has(FACTOR_FACTS) || has(FACT.totp | FACT.recoveryCodes)) return true;
  if (has(FACT.otpEmail) && by !== 'mail' && has(FACT.address) && !has(FACT.unverified)) return true;
  if (has(FACT.otpSms) && by !== 'sms' && has(FACT.phone) && given.hasGateway) return true;
  return has(FACT.securityKey) && given.passkeys.hasSecurityKey;
}

/** Whether no mail signs the user in, by the rule of `users.without_mail_codes`. */
export function isLeftOut(
  facts: number | null,
  { leavesOutEnterprise }: Pick<Circumstances, 'leavesOutEnterprise'>,
): boolean {
  const which = FACT.withoutMailCodes | (leavesOutEnterprise ? FACT.onlyEnterprise : 0);
  return ((facts ?? USUAL) & which) !== 0;
}

/** Why a user with a password has no name to type where addresses alone sign in. */
function namelessBy(facts: number): Cause | undefined {
  if ((facts & FACT.address) === 0) return 'NO_ADDRESS';
  return (facts & FACT.unverified) === 0 ? undefined : 'ADDRESS_NOT_VERIFIED';
}

/** A user who is inactive or locked did not sign in to the other system either. */
function changesOf(facts: number, way: Way, given: Circumstances): Change[] {
  if ((facts & (FACT.inactive | FACT.locked)) !== 0) return [];
  const { policy, isLinked } = given;
  const has = (fact: number) => (facts & fact) !== 0;
  const hasPassword = has(FACT.password | FACT.atSource);
  const usesPassword = way === 'PASSWORD' || way === 'PASSWORD_SOURCE';
  const all: [Change, boolean][] = [
    ['TYPES_USER_NAME', usesPassword && has(FACT.typesUserName)],
    ['GETS_MAIL', getsMail(facts, given)],
    ['SECOND_FACTOR_LOST', has(FACT.secondFactorLost) && !policy.forceMfa],
    ['SECOND_FACTOR_RE_ENROL', has(FACT.secondFactorLost) && policy.forceMfa],
    ['PASSKEYS_LOST', has(FACT.passkeyLost)],
    ['RECOVERY_CODES_LOST', has(FACT.recoveryCodesLost)],
    ['PASSKEYS_OTHER_HOST', hasPasskeysElsewhere(facts, given)],
    ['SMS_OFF', lacksTexts(facts, way, given)],
    ['RELAY_ADDRESS', has(FACT.relay)],
    ['LINK_UNUSED', !isLinked && hasPassword && has(FACT.link) && !has(FACT.onlyEnterprise)],
    ['ENTERPRISE_LINK_UNUSED', !isLinked && has(FACT.onlyEnterprise)],
    ['NEW_PASSWORD', usesPassword && has(FACT.changeRequired)],
  ];
  return all.filter(([, is]) => is).map(([change]) => change);
}

/** Where nothing is known of the domains of passkeys, they count as those of others. */
function hasPasskeysElsewhere(facts: number, { passkeys }: Circumstances): boolean {
  const isKnown = passkeys.hasPasskey || passkeys.hasSecurityKey;
  return (facts & PASSKEY_FACTS) !== 0 && (passkeys.hasOther || !isKnown);
}

function lacksTexts(facts: number, way: Way, given: Circumstances): boolean {
  const has = (fact: number) => (facts & fact) !== 0;
  if (has(FACT.otpSms) && !given.hasGateway) return true;
  const isWithout = way === 'NONE' || way === 'INIT_MAIL';
  const isOff = given.policy.smsCode === 'off' || !given.hasGateway;
  return has(FACT.phone) && !has(FACT.password | FACT.atSource) && isWithout && isOff;
}

/** By the rule of the SQL function `import_mails`. */
function getsMail(facts: number, given: Circumstances): boolean {
  const { policy, holdsMails, isLinked } = given;
  const isDue =
    (facts & FACT.mailDue) !== 0 || isInvited(facts, { ...given, canAdd: policy.passkeys && given.passkeys.canAdd });
  if (!isDue || holdsMails) return false;
  const hasPassword = (facts & (FACT.password | FACT.atSource)) !== 0;
  if (!hasPassword && isLeftOut(facts, given)) return false;
  const byPasskey = policy.passkeys && (facts & FACT.passkey) !== 0 && given.passkeys.hasPasskey;
  const byNumber = policy.smsCode !== 'off' && given.hasGateway && isNumberEnough(facts);
  const hasWay = hasPassword || isLinked || (policy.mailsBy ?? policy.mailCode) !== 'off' || byPasskey || byNumber;
  return policy.initMail === 'always' || !hasWay;
}

/**
 * Whether the mail to a new user is an invitation to add a passkey, by the rule of `run/write-batch.sql`.
 * @param given.canAdd passkeys can be added in the organization
 */
export function isInvited(
  facts: number | null,
  given: Pick<Circumstances, 'leavesOutEnterprise'> & { canAdd: boolean },
): boolean {
  return given.canAdd && ((facts ?? USUAL) & FACT.passkeyWanted) !== 0 && !isLeftOut(facts, given);
}

/**
 * Whether a code to their number lets in a user without a password, where such codes do: `run/write-batch.sql` has the rule
 * too. Who is asked for a code by mail or a security key as well gets the mail all the same.
 */
export function isNumberEnough(facts: number): boolean {
  const isAlone = (facts & (FACT.phone | FACT.phoneHeldTwice)) === FACT.phone;
  return isAlone && ((facts & FACTOR_FACTS) === 0 || (facts & (FACT.totp | FACT.recoveryCodes)) !== 0);
}

/** How the organizations of an import differ for a search. */
export type OrgKind = Pick<Circumstances['policy'], 'mailCode' | 'onlyAddresses' | 'smsCode' | 'passkeys'>;

/** What is the same for all organizations in a search. */
export type SearchGiven = Pick<Circumstances, 'holdsMails' | 'leavesOutEnterprise' | 'hasGateway'>;

/**
 * The way of a user, of bits that a search has read: the facts of WAY_MASK, LINKED, PASSKEY_HERE, KEY_HERE, and the number
 * of the kind of organization.
 */
export function wayOfBits(bits: number, kinds: readonly OrgKind[], given: SearchGiven): Way | undefined {
  const kind = kinds[Math.floor(bits / ORG_KIND)];
  if (!kind) return undefined;
  const has = (flag: number) => Math.floor(bits / flag) % 2 === 1;
  const policy = { ...kind, initMail: 'always', forceMfa: false } as const;
  const passkeys = { hasPasskey: has(PASSKEY_HERE), hasSecurityKey: has(KEY_HERE), hasOther: false, canAdd: false };
  return wayOf(bits % LINKED, { policy, ...given, passkeys, isLinked: has(LINKED) }).way;
}
