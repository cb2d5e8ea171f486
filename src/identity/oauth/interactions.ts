/**
 * When a user has to do something before an authorization request is answered: log in, and nothing else. There is no
 * page of consent: clients are registered by the owner of the instance, and what they ask for is granted.
 */
import { type Grant, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { GRANT } from './lifetimes.ts';

const { base, Check } = interactionPolicy;

/** The library's policy without its checks of consent; `prompt=consent` is understood and met. */
export function loginOnly() {
  const policy = base();
  policy.get('consent')?.checks.clear();
  policy
    .get('login')
    ?.checks.add(
      new Check(
        'no_account',
        'the user is not active any more',
        ({ oidc }) => oidc.session?.accountId !== undefined && oidc.account === undefined,
      ),
    );
  return policy;
}

/** The grant of this login to this client, with what is asked for now; kept for as long as tokens may come of it. */
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
