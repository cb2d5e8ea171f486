/**
 * Where the page of a link from an email leads after it: with "Continue", back to the sign-in that asked for the link,
 * and so to the application.
 *
 * Guarantee: a new password signs in only in the browser of that sign-in, by its own cookie, and asks for the second
 * factor as ever; the proof is bound to the sign-in and void when the password changes. Another browser is sent to the
 * address of the application, where a sign-in begins anew.
 */
import type { Secrets } from '../../platform/encryption.ts';
import { hidden } from '../../platform/html/forms.ts';
import { say } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { LoginDeps } from '../login/origin.ts';
import { findLogin } from '../login/store.ts';
import type { LiveProvider } from '../oauth/provider.ts';
import { formToken, sealProof, targetsOf } from './interaction.ts';

export interface WayBack {
  /** In the language of the request at that time. */
  form(): Html;
  formTargets: string[];
}

/**
 * The form that leads back; undefined when the sign-in has ended, or there was none.
 * @param by.userId of the link, by whom it was used @param by.hasNewPassword which proves them
 */
export async function wayBack(
  { pool, secrets, oauth }: Pick<LoginDeps, 'pool' | 'secrets'> & { oauth: LiveProvider },
  { login: uid, userId, hasNewPassword }: { login: string | null; userId: string; hasNewPassword: boolean },
): Promise<WayBack | undefined> {
  const provider = oauth.current();
  const interaction = uid === null ? undefined : await provider.Interaction.find(uid);
  const client = interaction && (await provider.Client.find(String(interaction.params.client_id)));
  const login = await findLogin(pool, { userId });
  if (uid === null || !client || !login) return undefined;
  const { id, passwordSetAt, loginName } = login;
  const proof = { id, passwordSetAt, loginName, amr: [], step: 'resume' } as const;
  const step = hasNewPassword
    ? { step: 'resume', proof: sealProof(secrets, uid, { ...proof, amr: [], byLink: true }) }
    : { step: 'password', loginName };
  const home = (client.redirectUris ?? []).find((uri) => /^https?:/.test(uri));
  const values = { ...step, token: formToken(secrets, uid), ...(home ? { home: sealHome(secrets, home) } : {}) };
  const form = () => html`<form method="post" action="login/${encodeURIComponent(uid)}">
${hidden(values)}<button type="submit">${say('common.continue')}</button>
</form>`;
  return { form, formTargets: targetsOf(client, interaction?.params.redirect_uri) };
}

const HOME = 'way back';

function sealHome(secrets: Secrets, redirectUri: string): string {
  return secrets.seal(`${new URL(redirectUri).origin}/`, HOME);
}

/** The address of the application that a form was sent with; undefined if there is none, or it is not ours. */
export function homeOf(secrets: Secrets, sealed: string): string | undefined {
  try {
    return secrets.unseal(sealed, HOME);
  } catch {
    return undefined;
  }
}
