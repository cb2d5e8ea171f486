/**
 * What is known of an imported user and of how they signed in before: facts, the bits of one integer that travels with the
 * item. sign-in.ts predicts from them; SQL reads them too.
 *
 * Guarantee: a user of whom nothing is known is usual: active, with a known password, and with a name or address that signs
 * in.
 */
import type { UserState } from '../../contract/users.ts';
import { sourceOf } from '../../passwords/marks.ts';
import { signInNumber } from '../../platform/phone.ts';
import { LOST, type OldSignIn } from '../../sources/entry.ts';
import type { Extras } from './factors.ts';

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
  /** A link that came to the address may add a passkey. `run/write-batch.sql` has the number too. */
  passkeyWanted: 2 ** 20,
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
export const FACTOR_FACTS = FACT.totp | FACT.otpEmail | FACT.otpSms | FACT.securityKey;
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
  const hasLink = (item.extras?.idps?.length ?? 0) > 0 || ways.includes('provider') || ways.includes('enterprise');
  const isMailDue = item.userState === 'active' && item.emailKey !== null && !(hasPassword && item.emailVerified);
  const facts =
    own |
    bit(isMailDue, FACT.mailDue) |
    bit((own & FACT.password) !== 0 && old.password === 'perhaps', FACT.perhaps) |
    lost.reduce((sum, what) => sum | LOST_FACTS[what], 0) |
    factorFacts(item) |
    bit(hasLink && (hasPassword || !ways.includes('password')), FACT.link) |
    bit(ways.length > 0 && ways.every((way) => way === 'enterprise'), FACT.onlyEnterprise);
  const all = withPhone(withoutLoss(facts), item);
  const known = all | bit(item.extras?.wantsPasskey === true && isLinkEnough(all), FACT.passkeyWanted);
  return known === USUAL ? null : known;
}

/** Whether a link that came to the address may add a passkey, by the rule of signin/passkeys/link.ts. */
function isLinkEnough(facts: number): boolean {
  const has = (fact: number) => (facts & fact) !== 0;
  if (!has(FACT.address) || has(FACT.inactive | FACT.locked | FACT.secondFactorLost) || has(FACTOR_FACTS)) return false;
  return !has(FACT.password | FACT.atSource) || !has(FACT.unverified);
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
