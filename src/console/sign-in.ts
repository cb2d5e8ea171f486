/**
 * Signing in to the console and out of it.
 *
 * Guarantee: a sign-in ends in the browser that began it, by an encrypted cookie with the state, and leads to an address
 * of the console only. Signing out ends the session here, its token, and the login in the browser.
 */
import { type Request, type Response, Router } from 'express';
import * as oidc from 'openid-client';
import { API_SCOPE, CONSOLE_CLIENT, CONSOLE_PATHS, consoleSecret, OAUTH_PATHS } from '../contract/own-clients.ts';
import { text } from '../platform/html/forms.ts';
import { modelKey } from '../signin/oauth/tokens.ts';
import { openChannel } from './api.ts';
import type { ConsoleDeps } from './deps.ts';
import { type Cookies, opened } from './session.ts';
import { addSession, findSession, removeSession, type Tokens } from './session-store.ts';
import { type Link, messageBody } from './shell/blocks.ts';
import type { Show } from './shell/show.ts';
import { SIGN_IN } from './texts/sign-in.ts';

const PURPOSE = 'console-login';
const LOGIN_S = 3600;
/** How old a sign-in may be where one is asked for again: most of the time in which it counts as recent is left. */
const FRESH_S = 60;
/** A path of the console, with a query; nothing that a browser reads as another host, and no way out by `..`. */
const OWN_PATH = /^(?!.*(?:\.|%2e){2})\/console(?:[/?][\w\-./?=&%~:+,@]*)?$/;

/** A sign-in in progress, in its cookie. */
interface Login extends Started {
  to: string;
}

export type SignInDeps = ConsoleDeps & { cookies: Cookies; show: Show };

/** Mount it before the routes that need a session. */
export function signInRoutes(deps: SignInDeps): Router {
  const authorization = openAuthorization(deps);
  const router = Router();
  router.get('/console/sign-in', (req, res) => signIn(deps, authorization, req, res));
  router.get('/console/callback', (req, res) => callback(deps, authorization, req, res));
  router.get('/console/signed-out', (req, res) => {
    deps.show(req, res, { title: SIGN_IN.outTitle, body: messageBody({ ...SIGN_IN.out, link: again(deps) }) });
  });
  router.post('/console/sign-out', (req, res) => signOut(deps, authorization, req, res));
  return router;
}

async function signIn(
  { cookies, secrets }: SignInDeps,
  authorization: Authorization,
  req: Request,
  res: Response,
): Promise<void> {
  const asked = text(req.query, 'to');
  const { started, url } = await authorization.begin(text(req.query, 'again') === '' ? undefined : FRESH_S);
  const login: Login = { ...started, to: OWN_PATH.test(asked) ? asked : '/console' };
  cookies.set(res, 'console_login', secrets.seal(JSON.stringify(login), PURPOSE), LOGIN_S);
  res.redirect(303, url);
}

async function callback(deps: SignInDeps, authorization: Authorization, req: Request, res: Response): Promise<void> {
  const { cookies, secrets, config, pool, show } = deps;
  const sealed = cookies.read(req, 'console_login');
  const login = sealed === undefined ? undefined : opened<Login>(secrets, sealed, PURPOSE);
  const consoleUrl = req.originalUrl.indexOf('?');
  const tokens =
    login &&
    (await authorization.finish(consoleUrl < 0 ? '' : req.originalUrl.slice(consoleUrl), login).catch(orRefused));
  if (!tokens) {
    const body = messageBody({ ...SIGN_IN.failed, link: again(deps) });
    return show(req, res, { title: SIGN_IN.failedTitle, body, status: 400 });
  }
  cookies.clear(res, 'console_login');
  cookies.set(res, 'console', await addSession(pool, tokens));
  res.redirect(303, config.baseUrl + login.to);
}

/** For an answer that is not a sign-in of this browser: expired, cancelled, or made up. */
function orRefused(error: unknown): undefined {
  const isRefusal =
    error instanceof oidc.ClientError ||
    error instanceof oidc.AuthorizationResponseError ||
    error instanceof oidc.ResponseBodyError;
  if (!isRefusal) throw error;
}

async function signOut(
  { cookies, pool, config }: SignInDeps,
  authorization: Authorization,
  req: Request,
  res: Response,
): Promise<void> {
  const cookie = cookies.read(req, 'console');
  const tokens = cookie === undefined ? undefined : await findSession(pool, cookie);
  cookies.clear(res, 'console');
  cookies.clear(res, 'console_sent');
  if (!cookie || !tokens) return res.redirect(303, `${config.baseUrl}/console/signed-out`);
  await removeSession(pool, cookie);
  await pool.query('delete from oauth_models where id_hash = $1', [modelKey('AccessToken', tokens.accessToken)]);
  res.redirect(303, authorization.endUrl(tokens.idToken));
}

function again({ config }: SignInDeps): Link {
  return { href: `${config.baseUrl}/console/sign-in`, text: SIGN_IN.again };
}

/** What the callback needs of the request that began the sign-in. */
interface Started {
  state: string;
  nonce: string;
  verifier: string;
}

interface Authorization {
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

/** The console as a client of our own authorization server: authorization code with PKCE, through `openid-client`. */
function openAuthorization(deps: ConsoleDeps): Authorization {
  const { baseUrl } = deps.config;
  const client = openClient(deps);
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
      return toTokens(tokens);
    },
    endUrl: (idToken) =>
      oidc.buildEndSessionUrl(client, {
        id_token_hint: idToken,
        post_logout_redirect_uri: baseUrl + CONSOLE_PATHS.signedOut,
      }).href,
  };
}

/** The browser goes to the public address; the code is exchanged in this process. */
function openClient({ oauth, secrets, config: { baseUrl } }: ConsoleDeps): oidc.Configuration {
  const client = new oidc.Configuration(
    {
      issuer: baseUrl,
      authorization_endpoint: baseUrl + OAUTH_PATHS.authorization,
      token_endpoint: baseUrl + OAUTH_PATHS.token,
      end_session_endpoint: baseUrl + OAUTH_PATHS.end_session,
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
    call(OAUTH_PATHS.token, { method, headers: Object.fromEntries(new Headers(headers)), body: String(body) });
  return client;
}

function toTokens(tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers): Tokens {
  const { name } = tokens.claims() as oidc.IDToken;
  return {
    accessToken: tokens.access_token,
    idToken: tokens.id_token as string,
    name: typeof name === 'string' ? name : '',
  };
}
