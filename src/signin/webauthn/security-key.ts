/**
 * A security key, or a passkey, as the second factor of a sign-in: it proves the user after the password.
 *
 * Guarantee: only a credential of this user counts, by the answer to a challenge of this sign-in; one whose count of
 * signatures did not grow does not, and is logged: it may have been copied.
 */
import { relyingParty } from '../../platform/relying-party.ts';
import {
  type CeremonyDeps,
  claimedPasskey,
  newChallenge,
  parseAnswer,
  type RequestOptions,
  requestOptions,
  verifyAssertion,
} from './ceremony.ts';
import { passkeysOf, usePasskey } from './store.ts';

function ofSignIn(holder: Buffer) {
  return { purpose: 'factor', holder: holder.toString('base64url') } as const;
}

/** What a page asks the browser, as JSON; see `keyRequest`. */
export async function keyOptions(deps: CeremonyDeps, userId: string, holder: Buffer): Promise<string | undefined> {
  const request = await keyRequest(deps, userId, holder, 'preferred');
  return request && JSON.stringify(request);
}

/**
 * What the browser is asked for; undefined if the user has no credential of our RP id.
 * @param holder of the sign-in or session; see `holderOf`
 * @param verification an answer without the required one is not right
 */
export async function keyRequest(
  deps: CeremonyDeps,
  userId: string,
  holder: Buffer,
  verification: RequestOptions['userVerification'],
): Promise<RequestOptions | undefined> {
  const rpId = relyingParty(deps.config)?.rpId;
  const keys = (await passkeysOf(deps.pool, userId)).filter((one) => one.rpId === rpId);
  if (rpId === undefined || keys.length === 0) return undefined;
  const needed = verification === 'required' ? ({ needsVerification: true } as const) : {};
  const challenge = newChallenge(deps.secrets, { ...ofSignIn(holder), ...needed });
  return requestOptions(challenge, rpId, verification, keys);
}

/** Whether the answer proves the user; its challenge is then used up. @param answer as JSON, or its text */
export async function useKey(
  deps: CeremonyDeps,
  userId: string,
  answer: unknown,
  holder: Buffer,
): Promise<{ ok: boolean; userVerified?: boolean }> {
  const claimed = await claimedPasskey(deps, typeof answer === 'string' ? parseAnswer(answer) : answer);
  if (claimed?.passkey.userId !== userId) return { ok: false };
  const assertion = await verifyAssertion(deps, claimed, ofSignIn(holder), false);
  if (!assertion) return { ok: false };
  const { credentialId, signCount: stored } = claimed.passkey;
  const isUsed = await usePasskey(deps.pool, { credentialId, ...assertion });
  const counts = { stored, sent: assertion.signCount };
  if (!isUsed) deps.logger.warn({ userId, ...counts }, 'the count of a security key did not grow: it may be a copy');
  return isUsed ? { ok: true, userVerified: assertion.userVerified } : { ok: false };
}
