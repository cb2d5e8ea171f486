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
  requestOptions,
  verifyAssertion,
} from './ceremony.ts';
import { passkeysOf, usePasskey } from './store.ts';

function ofSignIn(holder: Buffer) {
  return { purpose: 'factor', holder: holder.toString('base64url') } as const;
}

/**
 * What a page asks the browser, as JSON; undefined if the user has no credential of our RP id.
 * @param holder of the sign-in; see `holderOf`
 */
export async function keyOptions(deps: CeremonyDeps, userId: string, holder: Buffer): Promise<string | undefined> {
  const rpId = relyingParty(deps.config)?.rpId;
  const keys = (await passkeysOf(deps.pool, userId)).filter((one) => one.rpId === rpId);
  if (rpId === undefined || keys.length === 0) return undefined;
  const challenge = newChallenge(deps.secrets, ofSignIn(holder));
  return JSON.stringify(requestOptions(challenge, rpId, 'preferred', keys));
}

/** Whether the answer proves the user; its challenge is then used up. @param answer as JSON, or its text */
export async function useKey(deps: CeremonyDeps, userId: string, answer: unknown, holder: Buffer): Promise<boolean> {
  const claimed = await claimedPasskey(deps, typeof answer === 'string' ? parseAnswer(answer) : answer);
  if (claimed?.passkey.userId !== userId) return false;
  const assertion = await verifyAssertion(deps, claimed, ofSignIn(holder), false);
  if (!assertion) return false;
  const { credentialId, signCount: stored } = claimed.passkey;
  const isUsed = await usePasskey(deps.pool, { credentialId, ...assertion });
  const counts = { stored, sent: assertion.signCount };
  if (!isUsed) deps.logger.warn({ userId, ...counts }, 'the count of a security key did not grow: it may be a copy');
  return isUsed;
}
