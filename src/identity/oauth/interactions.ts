/**
 * What a user must do before an authorization request is answered: log in. There is no consent page: the owner of the
 * instance registers the clients, and the scopes they request are granted.
 *
 * Guarantee: a native application without a secret gets no code without an action of the user, also if they are signed
 * in: any program can claim its scheme or listen on its loopback port (RFC 8252 section 8.6).
 */
import { type Grant, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { Db } from '../../db/pool.ts';
import { isClaimable } from '../clients/redirect-uri.ts';
import { mustHaveFactor } from '../login/store.ts';
import { GRANT } from './lifetimes.ts';
import { requireKnownScope } from './scopes.ts';

const { base, Check, Prompt } = interactionPolicy;

/**
 * The library's policy without its consent checks; `prompt=consent` is accepted and counts as satisfied. With
 * `prompt=select_account` users sign in again, with any account. A request without a known scope never gets there.
 */
export function loginOnly(pool: Db) {
  const policy = base();
  policy.get('consent')?.checks.clear();
  policy.get('consent')?.checks.add(NATIVE);
  policy.add(new Prompt({ name: 'select_account', requestable: true }));
  policy.get('login')?.checks.add(
    new Check('no_scope', 'a known scope is required', ({ oidc }) => {
      requireKnownScope(oidc.params?.scope);
      return false;
    }),
    0,
  );
  policy
    .get('login')
    ?.checks.add(
      new Check(
        'no_account',
        'the user is no longer active',
        ({ oidc }) => oidc.session?.accountId !== undefined && oidc.account === undefined,
      ),
    );
  policy.get('login')?.checks.add(withoutFactor(pool));
  return policy;
}

/** For users who signed in before their organization required a second factor, or before they had it. */
function withoutFactor(pool: Db): interactionPolicy.Check {
  const check = async ({ oidc: { session } }: KoaContextWithOIDC) => {
    const userId = session?.amr?.includes('mfa') ? undefined : session?.accountId;
    return userId !== undefined && (await mustHaveFactor(pool, userId));
  };
  return new Check('mfa_missing', 'the organization requires a second factor', 'login_required', check);
}

/** A login is an action, and so is the confirmation of a device code. */
const NATIVE = new Check(
  'native_client',
  'native applications need an action of the user',
  'interaction_required',
  ({ oidc: { client, entities, result } }) =>
    client?.clientAuthMethod === 'none' &&
    (client.redirectUris ?? []).some(isClaimable) &&
    !entities.DeviceCode &&
    !result?.login &&
    !result?.consent,
);

/** This login's grant to this client, with the scopes requested now; kept as long as tokens can be issued from it. */
export async function grantWhatIsAsked(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
  const { provider, session, client, account } = ctx.oidc;
  if (!client || !account) return undefined;
  const known = session?.grantIdFor(client.clientId);
  const found = known === undefined ? undefined : await provider.Grant.find(known);
  const grant =
    found?.accountId === account.accountId
      ? found
      : new provider.Grant({ accountId: account.accountId, clientId: client.clientId });
  grant.addOIDCScope(ctx.oidc.requestParamOIDCScopes);
  grant.exp = Math.floor(Date.now() / 1000) + GRANT;
  await grant.save();
  return grant;
}
