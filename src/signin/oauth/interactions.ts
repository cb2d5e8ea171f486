/**
 * What a user must do before an authorization request is answered: log in, or type and confirm the code of a device
 * (RFC 8628). There is no consent page: the owner of the instance registers the clients, and the scopes they request
 * are granted. The protocol library implements the device flow; the pages are ours.
 *
 * Guarantee: a native application without a secret gets no code without an action of the user, also if they are signed
 * in: any program can claim its scheme or listen on its loopback port (RFC 8252 section 8.6). In the device flow every
 * error shows a page of ours, with a form to try again or the message that the sign-in has ended; no page reveals
 * anything of an internal error.
 */
import {
  type Configuration,
  type ErrorOut,
  errors,
  type Grant,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { isClaimable, requireKnownScope } from '../../contract/clients.ts';
import type { Db } from '../../platform/db/pool.ts';
import { errorPage } from '../../platform/html/errors.ts';
import type { HtmlPage } from '../../platform/html/layout.ts';
import { type MessageKey, say } from '../../platform/messages/catalogue.ts';
import { mustHaveFactor } from '../login/store.ts';
import { show } from './account.ts';
import {
  type DeviceFrame,
  deviceCodeForm,
  deviceConfirmPage,
  deviceDonePage,
  deviceFormGonePage,
  deviceStoppedPage,
  loginGonePage,
} from './pages.ts';
import { GRANT } from './tokens.ts';

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

/**
 * The `acr` of a session, which no token shows, where an external provider signed the user in and no factor of ours was
 * asked for: what the provider says in `amr` does not count for the policy.
 */
export const PROVIDED = 'urn:muster:provided';

/** For users who signed in before their organization required a second factor, or before they had it. */
function withoutFactor(pool: Db): interactionPolicy.Check {
  const check = async ({ oidc: { session } }: KoaContextWithOIDC) => {
    const hasFactor = session?.amr?.includes('mfa') && session.acr !== PROVIDED;
    const userId = hasFactor ? undefined : session?.accountId;
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

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** What is wrong with a code, by the name of the library's error, as the library does not export the classes. */
const TYPED_WRONG: Readonly<Record<string, MessageKey>> = {
  NoCodeError: 'error.enterCode',
  NotFoundError: 'oauth.wrongDeviceCode',
  ExpiredError: 'oauth.deviceCodeExpired',
  AlreadyUsedError: 'oauth.deviceCodeUsed',
};

/** The device flow. */
export const DEVICE_FLOW: DeviceFlow = {
  // Eight consonants: 2.5 × 10^10 codes. They live ten minutes and can be tried RATE_LIMIT_LOGINS times a minute
  // (section 5.1).
  charset: 'base-20',
  mask: '****-****',
  // The IP address may be a proxy's, and any client can choose its user agent: neither would help the user decide.
  deviceInfo: () => ({}),
  userCodeInputSource(ctx, _form, out, error) {
    if (error) {
      leaveUnstored(ctx);
      if (ctx.status === 200) ctx.status = 400;
    }
    show(ctx, inputPage(ctx, out, error));
  },
  userCodeConfirmSource(ctx, _form, client, _deviceInfo, userCode) {
    show(ctx, deviceConfirmPage(frameOf(ctx), client.clientName ?? client.clientId, userCode));
  },
  successSource(ctx) {
    const { client } = ctx.oidc;
    show(ctx, deviceDonePage(client?.clientName ?? client?.clientId ?? say('oauth.theDevice')));
  },
};

/** Asks for the code, says what is wrong with the one entered, or says that the flow has ended. */
function inputPage(ctx: KoaContextWithOIDC, out?: ErrorOut, error?: Error & { userCode?: string }): HtmlPage {
  const frame = frameOf(ctx);
  if (!error) return deviceCodeForm(frame, '');
  if (error.name === 'AbortedError') return deviceStoppedPage(frame.action);
  if (error instanceof errors.SessionNotFound) return loginGonePage();
  if (out?.error === 'server_error') return errorPage(500);
  const key = TYPED_WRONG[error.name];
  if (key === undefined) return deviceFormGonePage(frame.action);
  return deviceCodeForm(frame, error.userCode ?? '', { message: say(key) });
}

/** Keeps the library from saving the session after an error if the browser has none: there is nothing to save. */
function leaveUnstored({ oidc: { session } }: KoaContextWithOIDC): void {
  if (session && session.exp === undefined) Object.assign(session, { touched: false });
}

function frameOf(ctx: KoaContextWithOIDC): DeviceFrame {
  const state = ctx.oidc.session?.state as { secret?: string } | undefined;
  return { action: ctx.oidc.urlFor('code_verification'), xsrf: state?.secret ?? '' };
}
