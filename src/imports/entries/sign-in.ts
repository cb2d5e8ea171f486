/**
 * Predicts how an imported user signs in. What is known of the user are facts, the bits of one integer that travels
 * with the item; the prediction is a function of the facts, the login policy of the organization, and the options of
 * the import. It writes nothing and decides nothing else.
 *
 * Guarantee: a way is predicted only if it works for the user as imported. A user of whom nothing is known is usual:
 * active, with a known password, and with a name or address that signs in.
 */
import type { LoginPolicy } from '../../contract/policies.ts';
import type { Cause, Change, SignIn, Way } from '../../contract/sign-in.ts';
import type { UserState } from '../../contract/users.ts';
import { sourceOf } from '../../passwords/marks.ts';
import { signInNumber } from '../../platform/phone.ts';
import { LOST, type OldSignIn } from '../../sources/entry.ts';
import type { Extras } from './factors.ts';
import type { PasskeysHere } from './link-names.ts';

/** What is known of a user. The numbers are stored; they never change their meaning. */
export const FACT = {
  /** A hash that can be verified, or a plain password. */
  password: 1,
  /** A password source verifies the password. */
  atSource: 2,
  /** The user may not know the password of the hash. */
  perhaps: 4,
  address: 8,
  /** The import sends a mail, unless the policy or an option says otherwise. */
  mailDue: 16,
  /** Neither verified nor the user name: the address does not sign in. */
  typesUserName: 32,
  inactive: 64,
  locked: 128,
  relay: 256,
  changeRequired: 512,
  secondFactorLost: 1024,
  passkeyLost: 2048,
  recoveryCodesLost: 4096,
  /** An account at an external provider; without a password: the way that the user came by. */
  link: 8192,
  /** Came by a connection of their company and no other way. `run/write-batch.sql` has the number too. */
  onlyEnterprise: 16384,
  /** An existing user whom an earlier import or an administrator left out of mail codes. */
  withoutMailCodes: 32768,
  /** Another user of the organization has the same account at a provider, which signs in neither. */
  heldTwice: 65536,
  /** There is an address, which is not verified. */
  unverified: 131072,
  /** Of an existing user: two bits, the rank of directory/idp-links.ts from `RANK_SHIFT` on. */
  rank: 786432,
  /** A verified number, noted where it may matter: it may sign in, or gets codes. */
  phone: 2 ** 23,
  /** Another user of the organization has the same verified number, which signs in neither. */
  phoneHeldTwice: 2 ** 24,
  /** Passkeys that sign in alone; `links` names their domains. */
  passkey: 2 ** 25,
  /** An authenticator app. */
  totp: 2 ** 26,
  /** After the password, a code by mail. */
  otpEmail: 2 ** 27,
  /** After the password, a code by text message. */
  otpSms: 2 ** 28,
  /** After the password, a security key; `links` names its domain. */
  securityKey: 2 ** 29,
  recoveryCodes: 2 ** 30,
} as const;

/** Whose credential ids must be unique. */
export const PASSKEY_FACTS = FACT.passkey | FACT.securityKey;
/** What is a second factor. */
const FACTOR_FACTS = FACT.totp | FACT.otpEmail | FACT.otpSms | FACT.securityKey;
/** The facts of items whose `extras` may have encrypted values. */
export const SEALED_FACTS = FACT.totp | FACT.recoveryCodes;

const RANK_SHIFT = 18;

/** SQL: the rank in the facts that this SQL yields. */
export const rankIn = (facts: string) => `((${facts}) & ${FACT.rank}) >> ${RANK_SHIFT}`;

/** The rank in an item's facts. */
export function rankOfItem(facts: number | null): number {
  return ((facts ?? USUAL) & FACT.rank) >> RANK_SHIFT;
}

/** The facts of a usual user, which are stored as null. */
export const USUAL = FACT.password | FACT.address;

const LOST_FACTS: Record<(typeof LOST)[number], number> = {
  secondFactor: FACT.secondFactorLost,
  passkey: FACT.passkeyLost,
  recoveryCodes: FACT.recoveryCodesLost,
};

/** The domain of addresses that Apple makes up for a user who hides theirs. */
export const RELAY = '@privaterelay.appleid.com';

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
  if ((facts & FACT.mailDue) === 0 || holdsMails) return false;
  const hasPassword = (facts & (FACT.password | FACT.atSource)) !== 0;
  if (!hasPassword && isLeftOut(facts, given)) return false;
  const byPasskey = policy.passkeys && (facts & FACT.passkey) !== 0 && given.passkeys.hasPasskey;
  const byNumber = policy.smsCode !== 'off' && given.hasGateway && isNumberEnough(facts);
  const hasWay = hasPassword || isLinked || (policy.mailsBy ?? policy.mailCode) !== 'off' || byPasskey || byNumber;
  return policy.initMail === 'always' || !hasWay;
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
  const passkeys = { hasPasskey: has(PASSKEY_HERE), hasSecurityKey: has(KEY_HERE), hasOther: false };
  return wayOf(bits % LINKED, { policy, ...given, passkeys, isLinked: has(LINKED) }).way;
}

/** What the facts of a user come from: an item, or an existing user as an import leaves them. */
interface FactsSource {
  userState: UserState;
  userNameKey: string;
  emailKey: string | null;
  emailVerified: boolean;
  passwordHash: string | null;
  /** A plain password, encrypted. */
  passwordSealed: string | null;
  passwordChangeRequired: boolean;
  phone: string | null;
  phoneVerified: boolean;
}

interface ItemFactsSource extends FactsSource {
  totpSealed: string | null;
  extras: Extras | null;
  oldSignIn: OldSignIn | null;
}

/** The facts of an item as a new user; null: the user is usual. */
export function itemFacts(item: ItemFactsSource): number | null {
  const own = userFacts(item);
  const old = item.oldSignIn ?? {};
  const ways = old.ways ?? [];
  const lost = old.lost ?? [];
  const hasPassword = (own & (FACT.password | FACT.atSource)) !== 0;
  const hasLink = (item.extras?.idps.length ?? 0) > 0 || ways.includes('provider') || ways.includes('enterprise');
  const isMailDue = item.userState === 'active' && item.emailKey !== null && !(hasPassword && item.emailVerified);
  const facts =
    own |
    bit(isMailDue, FACT.mailDue) |
    bit((own & FACT.password) !== 0 && old.password === 'perhaps', FACT.perhaps) |
    lost.reduce((sum, what) => sum | LOST_FACTS[what], 0) |
    factorFacts(item) |
    bit(hasLink && (hasPassword || !ways.includes('password')), FACT.link) |
    bit(ways.length > 0 && ways.every((way) => way === 'enterprise'), FACT.onlyEnterprise);
  const known = withPhone(withoutLoss(facts), item);
  return known === USUAL ? null : known;
}

/** What came along. */
function factorFacts({ totpSealed, extras }: Pick<ItemFactsSource, 'totpSealed' | 'extras'>): number {
  if (totpSealed === null && extras === null) return 0;
  const { passkeys = [], otp = [], recovery } = extras ?? {};
  const hasKey = (alone: boolean) => passkeys.some(({ passwordless }) => passwordless === alone);
  return (
    bit(totpSealed !== null, FACT.totp) |
    bit(hasKey(true), FACT.passkey) |
    bit(hasKey(false), FACT.securityKey) |
    bit(otp.includes('email'), FACT.otpEmail) |
    bit(otp.includes('sms'), FACT.otpSms) |
    bit(recovery !== undefined, FACT.recoveryCodes)
  );
}

/** An account with another second factor is no weaker, and other codes take the place of lost ones. */
function withoutLoss(facts: number): number {
  const isStrong = (facts & FACTOR_FACTS) !== 0;
  const hasCodes = (facts & FACT.recoveryCodes) !== 0;
  return facts & ~(bit(isStrong, FACT.secondFactorLost) | bit(hasCodes, FACT.recoveryCodesLost));
}

/** Adds the fact of a number. Nobody asks for that of a user whose password and address sign in: most users cost nothing. */
export function withPhone(
  facts: number,
  { phone, phoneVerified }: Pick<FactsSource, 'phone' | 'phoneVerified'>,
): number {
  const others = FACT.perhaps | FACT.unverified | FACT.otpSms;
  const isUsual = (facts & USUAL) === USUAL && (facts & others) === 0;
  return facts | bit(phone !== null && phoneVerified && !isUsual && signInNumber(phone) !== undefined, FACT.phone);
}

/**
 * The facts of an existing user as an import leaves them.
 * @param item the facts of the item that updates the user
 */
export function mergedFacts(
  item: number | null,
  user: Omit<FactsSource, 'passwordSealed'> & { withoutMailCodes: boolean },
  given: { setsPassword: boolean; hasLinks: boolean; rank: number; factors: number },
): number {
  const { setsPassword, hasLinks, rank, factors } = given;
  const ofUser = { ...user, passwordSealed: null };
  const old =
    FACT.secondFactorLost |
    FACT.passkeyLost |
    FACT.recoveryCodesLost |
    FACT.link |
    FACT.onlyEnterprise |
    FACT.heldTwice |
    FACT.phoneHeldTwice |
    FACTOR_FACTS |
    FACT.passkey |
    FACT.recoveryCodes;
  const kept = (item ?? USUAL) & (old | (setsPassword ? FACT.perhaps : 0));
  const isByLink = hasLinks && user.passwordHash === null;
  const now = bit(user.withoutMailCodes, FACT.withoutMailCodes) | bit(isByLink, FACT.link);
  const facts = userFacts(ofUser) | kept | factors | now | (rank << RANK_SHIFT);
  return withPhone(withoutLoss(facts), user);
}

function userFacts(user: FactsSource): number {
  const { userState, userNameKey, emailKey, emailVerified, passwordHash, passwordSealed } = user;
  const isAtSource = sourceOf(passwordHash) !== undefined;
  const hasPassword = passwordSealed !== null || (passwordHash !== null && !isAtSource);
  return (
    bit(hasPassword, FACT.password) |
    bit(isAtSource && !hasPassword, FACT.atSource) |
    bit(emailKey !== null, FACT.address) |
    bit(emailKey !== null && !emailVerified && emailKey !== userNameKey, FACT.typesUserName) |
    bit(emailKey !== null && !emailVerified, FACT.unverified) |
    bit(userState === 'inactive', FACT.inactive) |
    bit(userState === 'locked', FACT.locked) |
    bit(emailKey?.endsWith(RELAY) === true, FACT.relay) |
    bit(user.passwordChangeRequired, FACT.changeRequired)
  );
}

function bit(is: boolean, fact: number): number {
  return is ? fact : 0;
}

/**
 * What `oldSignIn` of an entry with these facts must say at least, so that the entry can be sent again.
 * @param hasLinks the entry has links of its own
 */
export function oldSignInOf(stored: number | null, hasLinks: boolean): OldSignIn | undefined {
  const facts = stored ?? USUAL;
  const has = (fact: number) => (facts & fact) !== 0;
  const lost = LOST.filter((what) => has(LOST_FACTS[what]));
  const way = has(FACT.onlyEnterprise) ? 'enterprise' : has(FACT.link) && !hasLinks ? 'provider' : undefined;
  const said: OldSignIn = {
    ...(way === undefined ? {} : { ways: [way] }),
    ...(has(FACT.perhaps) ? { password: 'perhaps' } : {}),
    ...(lost.length > 0 ? { lost } : {}),
  };
  return Object.keys(said).length > 0 ? said : undefined;
}
