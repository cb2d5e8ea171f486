/**
 * Checks what proves a user in addition to the first factor: one table of all kinds.
 *
 * Guarantee: a kind that is not in the table is never right. An attempt is counted before the code is checked, and the
 * attempts of all kinds together, so neither parallel requests nor a change of the kind exceed the limit (RFC 4226
 * section 7.3); beyond the limit even a right code is refused until the cool-down has passed. The login itself also
 * delays answers and locks users; this limit applies even where locking is off. A way that was the first factor of a
 * sign-in is not its second one as well.
 *
 * On crash: after a code was used and before the login was answered, the user needs the next one.
 */
import type { Logger } from 'pino';
import { factorsOf, forgetTries, spendTry } from '../../directory/users/second-factors.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { Config } from '../../platform/config.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import type { RelyingPartyConfig } from '../../platform/relying-party.ts';
import { useKey } from '../webauthn/security-key.ts';
import { useRecoveryCode } from './recovery.ts';
import { usableKinds, useFactorCode } from './sent-codes.ts';
import { useTotp } from './totp.ts';

/** What somebody gave as their second factor. */
export type FactorGiven =
  | { totp: string }
  | { recoveryCode: string }
  | { otpEmail: string }
  | { otpSms: string }
  | { webAuthN: unknown };

/** The kinds, as sessions name them. */
export type FactorKind = 'totp' | 'recoveryCode' | 'otpEmail' | 'otpSms' | 'webAuthN';

/** What the first factor was. */
export type FirstFactor = 'password' | 'mail' | 'sms' | 'provider' | 'passkey';

/** What the checks need, of the dependencies of a login check. */
export interface FactorDeps {
  pool: Pool;
  secrets: Secrets;
  hasher: Hasher;
  config: Pick<Config, 'TOTP_WINDOW' | 'SMS_URL'> & RelyingPartyConfig;
  logger: Logger;
}

/** The result of one kind. */
export interface FactorResult {
  ok: boolean;
  /** Recovery codes that are left. */
  left?: number;
  /** Of a key: it has verified its user. */
  userVerified?: boolean;
}

interface FactorOfKind {
  /** Authentication methods (RFC 8176) besides `mfa`. */
  amr: readonly string[];
  /** The first factor that was the same thing. */
  sameAs?: FirstFactor;
  /** Whether it counts as an attempt; a signature cannot be guessed. */
  isGuessable: boolean;
  /**
   * Whether it is right, and then used up.
   * @param given what was typed, or the answer of the browser
   * @param holder of the sign-in or session that codes and challenges were made for; see `holderOf`
   * @param now milliseconds since 1970
   */
  check(deps: FactorDeps, userId: string, given: unknown, holder: Buffer, now: number): Promise<FactorResult>;
}

/** One row a kind. */
const KINDS: Partial<Record<FactorKind, FactorOfKind>> = {
  totp: {
    amr: ['otp'],
    isGuessable: true,
    check: async (deps, userId, code, _holder, now) => ({ ok: await useTotp(deps, userId, String(code), now) }),
  },
  recoveryCode: {
    amr: ['otp'],
    isGuessable: true,
    check: (deps, userId, code) => useRecoveryCode(deps, userId, String(code)),
  },
  otpEmail: {
    amr: ['otp'],
    sameAs: 'mail',
    isGuessable: true,
    check: async (deps, userId, code, holder) => ({
      ok: await useFactorCode(deps, { userId, kind: 'otpEmail', holder }, String(code)),
    }),
  },
  otpSms: {
    amr: ['sms'],
    sameAs: 'sms',
    isGuessable: true,
    check: async (deps, userId, code, holder) => ({
      ok: await useFactorCode(deps, { userId, kind: 'otpSms', holder }, String(code)),
    }),
  },
  webAuthN: {
    amr: ['hwk'],
    sameAs: 'passkey',
    isGuessable: false,
    check: useKey,
  },
};

/** The kind of what was given. */
export function kindOf(given: FactorGiven): FactorKind {
  return Object.keys(given)[0] as FactorKind;
}

/** Whether something was given that can be checked: an empty code counts as none. */
export function isGiven(given: FactorGiven | undefined): given is FactorGiven {
  const value = given && (given as Record<string, unknown>)[kindOf(given)];
  return value !== undefined && value !== null && value !== '';
}

/**
 * Whether this proves the user now; then it is used up.
 * @param holder of the sign-in or session that codes and challenges were made for; see `holderOf`
 * @param now milliseconds since 1970
 * @returns with the authentication methods (RFC 8176) that it adds
 */
export async function checkFactor(
  deps: FactorDeps,
  userId: string,
  given: FactorGiven,
  holder: Buffer,
  now: number = Date.now(),
): Promise<FactorResult & { amr: string[] }> {
  const kind = kindOf(given);
  const found = KINDS[kind];
  if (!found) return { ok: false, amr: [] };
  if (found.isGuessable && !(await spendTry(deps.pool, userId))) return { ok: false, amr: [] };
  const result = await found.check(deps, userId, (given as Record<string, unknown>)[kind], holder, now);
  if (!result.ok) return { ok: false, amr: [] };
  if (found.isGuessable) await forgetTries(deps.pool, userId);
  return { ...result, amr: [...found.amr, 'mfa'] };
}

/** A second factor that was right. */
export interface PassedFactor {
  kind: FactorKind;
  amr: string[];
  /** Recovery codes that are left. */
  left?: number;
  /** Of a key: it has verified its user. */
  userVerified?: boolean;
}

/** The second factor of a sign-in, and what it is checked with. */
export interface FactorAttempt {
  factor?: FactorGiven | undefined;
  /** Of the sign-in or session; absent where nothing can have been asked for. */
  holder?: Buffer | undefined;
}

const NO_HOLDER = Buffer.alloc(0);

/**
 * Checks the second factor of a sign-in.
 * @param by the first factor @param failed counts the failure
 * @throws ApiError 400 SESSION-TOTP
 */
export async function passFactor(
  deps: FactorDeps,
  userId: string,
  { factor, holder = NO_HOLDER }: FactorAttempt & { factor: FactorGiven },
  by: FirstFactor,
  failed: () => Promise<void>,
): Promise<PassedFactor> {
  const kind = kindOf(factor);
  if (isSecondAfter(kind, by)) {
    const { ok, ...rest } = await checkFactor(deps, userId, factor, holder);
    if (ok) return { kind, ...rest };
  }
  await failed();
  throw new ApiError('INVALID_ARGUMENT', 'SESSION-TOTP', 'The code is wrong.');
}

/**
 * What the user may choose from to complete a sign-in, the most common first; it may be none, where the only factor was
 * the first one or cannot be used now.
 */
export async function offeredFactors(
  { pool, config }: Pick<FactorDeps, 'pool'> & { config: Pick<Config, 'SMS_URL'> },
  userId: string,
  by: FirstFactor,
): Promise<FactorKind[]> {
  const { totps, securityKeys, recoveryLeft } = await factorsOf(pool, userId);
  const usable = await usableKinds(pool, config, userId);
  const has: Record<FactorKind, boolean> = {
    webAuthN: securityKeys > 0,
    totp: totps.some((app) => app.confirmedAt !== null),
    otpSms: usable.has('otpSms'),
    otpEmail: usable.has('otpEmail'),
    recoveryCode: recoveryLeft > 0,
  };
  return (Object.keys(has) as FactorKind[]).filter((kind) => has[kind] && isSecondAfter(kind, by));
}

function isSecondAfter(kind: FactorKind, by: FirstFactor): boolean {
  const found = KINDS[kind];
  return found !== undefined && found.sameAs !== by;
}
