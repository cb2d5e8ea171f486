/**
 * What pages need to offer passkeys: the question for the authenticator, and the script that asks it. The script is an
 * addition: without it, or in a browser without passkeys, the button is hidden and the page is complete.
 */
import type { Router } from 'express';
import { assetUrl, openAssets } from '../../platform/html/assets.ts';
import { relyingParty } from '../../platform/relying-party.ts';
import type { PasskeyDeps } from '../passkeys/sign-in.ts';
import { newChallenge, requestOptions } from '../webauthn/ceremony.ts';
import { offersPasskeys } from '../webauthn/store.ts';
import type { LoginFrame, PasskeyOffer } from './forms.ts';

const FOLDER = new URL('./browser/', import.meta.url);
const PATH = '/ui/assets';

/** Serves the scripts of the pages under `/ui`. */
export function pageScripts(): Router {
  return openAssets(FOLDER, PATH, PATH, 'PAGE-ASSET').routes;
}

/** The address of the script; the public address may have a path of its own. */
export function passkeyScript(baseUrl: string): string {
  return assetUrl(FOLDER, new URL(baseUrl).pathname.replace(/\/$/, '') + PATH, 'passkey.ts');
}

/** What the pages of a login offer; undefined where no browser has passkeys, or nobody may use them. */
export async function passkeyOffer(
  { pool, secrets, config }: Pick<PasskeyDeps, 'pool' | 'secrets' | 'config'>,
  { uid, orgId }: Pick<LoginFrame, 'uid' | 'orgId'>,
): Promise<PasskeyOffer | undefined> {
  const party = relyingParty(config);
  if (!party || !(await offersPasskeys(pool, orgId))) return undefined;
  const challenge = newChallenge(secrets, { purpose: 'sign_in', holder: uid });
  const options = JSON.stringify(requestOptions(challenge, party.rpId, 'required'));
  return { options, script: passkeyScript(config.baseUrl) };
}
