/**
 * The console as a client of our own authorization server: authorization code with PKCE, through `openid-client`.
 *
 * The browser goes to the public address; the code is exchanged in this process (`channel.ts`).
 */
import * as oidc from 'openid-client';
import { API_SCOPE } from '../../identity/api-scope.ts';
import { CONSOLE_CLIENT, CONSOLE_PATHS, consoleSecret } from '../../identity/clients/console-client.ts';
import { ROUTES } from '../../identity/oauth/configuration.ts';
import type { LiveProvider } from '../../identity/oauth/provider.ts';
import type { Secrets } from '../../secrets.ts';
import { openChannel } from '../channel.ts';
import type { Tokens } from './session-store.ts';

/** What the callback needs of the request that began the sign-in. */
export interface Started {
  state: string;
  nonce: string;
  verifier: string;
}

export interface Authorization {
  /**
   * Begins a sign-in: the address to send the browser to.
   * @param maxAgeS how old the login in the browser may be
   */
  begin(maxAgeS?: number): Promise<{ started: Started; url: string }>;
  /**
   * Exchanges the code.
   * @param query of the callback, with `?`
   * @throws oidc errors for an answer that is an error, or does not belong to `started`
   */
  finish(query: string, started: Started): Promise<Tokens>;
  /** The address that ends the login in the browser, and leads back. */
  endUrl(idToken: string): string;
}

export interface AuthorizationDeps {
  oauth: LiveProvider;
  secrets: Secrets;
  config: { baseUrl: string };
}

export function openAuthorization({ oauth, secrets, config: { baseUrl } }: AuthorizationDeps): Authorization {
  const client = new oidc.Configuration(
    {
      issuer: baseUrl,
      authorization_endpoint: baseUrl + ROUTES.authorization,
      token_endpoint: baseUrl + ROUTES.token,
      end_session_endpoint: baseUrl + ROUTES.end_session,
      authorization_response_iss_parameter_supported: true,
    },
    CONSOLE_CLIENT,
    undefined,
    oidc.ClientSecretBasic(consoleSecret(secrets)),
  );
  const call = openChannel((req, res) => void oauth.handle(req, res));
  // Requests do not leave the process.
  oidc.allowInsecureRequests(client);
  client[oidc.customFetch] = (_url, { method, headers, body }) =>
    call(ROUTES.token, { method, headers: Object.fromEntries(new Headers(headers)), body: String(body) });

  return {
    async begin(maxAgeS) {
      const started = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
      };
      const url = oidc.buildAuthorizationUrl(client, {
        redirect_uri: baseUrl + CONSOLE_PATHS.callback,
        scope: `openid profile ${API_SCOPE}`,
        code_challenge: await oidc.calculatePKCECodeChallenge(started.verifier),
        code_challenge_method: 'S256',
        state: started.state,
        nonce: started.nonce,
        ...(maxAgeS === undefined ? {} : { max_age: String(maxAgeS) }),
      });
      return { started, url: url.href };
    },
    async finish(query, { state, nonce, verifier }) {
      const tokens = await oidc.authorizationCodeGrant(client, new URL(baseUrl + CONSOLE_PATHS.callback + query), {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const { name } = tokens.claims() as oidc.IDToken;
      return {
        accessToken: tokens.access_token,
        idToken: tokens.id_token as string,
        name: typeof name === 'string' ? name : '',
      };
    },
    endUrl: (idToken) =>
      oidc.buildEndSessionUrl(client, {
        id_token_hint: idToken,
        post_logout_redirect_uri: baseUrl + CONSOLE_PATHS.signedOut,
      }).href,
  };
}
