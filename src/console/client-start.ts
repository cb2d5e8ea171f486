/**
 * The quick start of a client: a program that signs people in, with the values of this client in it, to copy and run.
 * `test/console/client-start.test.ts` runs the programs as the page shows them.
 */
import type { Answer } from '../contract/client.ts';
import { OAUTH_PATHS } from '../contract/own-clients.ts';
import { type Html, html } from '../platform/text/html.ts';
import { headline, notice } from './shell/blocks.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { CLIENTS } from './texts/clients.ts';
import { ONCE } from './texts/frame.ts';

type Client = Answer<'listClients'>['result'][number];

/** @param issuer the public address */
export function startBody(consoleUrl: ConsoleUrl, client: Client, issuer: string): Html {
  const { name, file, hints, code } = programOf(client, issuer);
  return html`${headline(CLIENTS.startTitle(client.name), { href: consoleUrl('/clients'), text: CLIENTS.title })}
${client.grantTypes.includes('authorization_code') && client.redirectUris.length > 1 ? notice(CLIENTS.firstUri, 'warn') : undefined}
<section class="card"><h2>${name}</h2>${hints.map((hint) => html`<p>${hint}</p>`)}
<copy-text said="${ONCE.copied}"><pre tabindex="0" role="region" aria-label="${file}"><code>${code}</code></pre>
<button type="button" class="quiet small" hidden>${ONCE.copy}<span class="sr"> ${file}</span></button></copy-text></section>
<section class="card"><h2>${CLIENTS.values}</h2><dl class="facts wide">${[
    [CLIENTS.issuer, issuer],
    [CLIENTS.id, client.clientId],
    [CLIENTS.discovery, `${issuer}/.well-known/openid-configuration`],
  ].map(
    ([label, value]) => html`<div class="minor"><dt>${label}</dt><dd><code>${value}</code></dd></div>\n`,
  )}</dl></section>`;
}

interface Program {
  name: string;
  file: string;
  hints: readonly string[];
  code: string;
}

function programOf(client: Client, issuer: string): Program {
  const { grantTypes, authMethod } = client;
  if (!grantTypes.includes('authorization_code'))
    return { ...CLIENTS.starts.service, code: serviceCode(client, issuer) };
  return authMethod === 'none'
    ? { ...CLIENTS.starts.native, code: browserCode(client, issuer) }
    : { ...CLIENTS.starts.web, code: serverCode(client, issuer) };
}

/** A text of JavaScript that cannot end a `<script>`. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('<', '\\u003c');
}

function redirectUriOf({ redirectUris }: Client): string {
  return redirectUris[0] ?? '';
}

function browserCode(client: Client, issuer: string): string {
  return `<!doctype html>
<meta charset="utf-8">
<title>Sign in</title>
<p id="said">…</p>
<button id="sign-in" hidden>Sign in</button>
<script type="module">
const ISSUER = ${quoted(issuer)};
const CLIENT_ID = ${quoted(client.clientId)};
const REDIRECT_URI = ${quoted(redirectUriOf(client))};

const server = await (await fetch(ISSUER + '/.well-known/openid-configuration')).json();
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

async function signIn() {
  const [verifier, state] = [random(), random()];
  sessionStorage.setItem('sign-in', JSON.stringify({ verifier, state }));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  location.assign(server.authorization_endpoint + '?' + new URLSearchParams({
    client_id: CLIENT_ID, redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid profile email',
    state, code_challenge: base64url(hash), code_challenge_method: 'S256',
  }));
}

async function signedIn(answer) {
  const { verifier, state } = JSON.parse(sessionStorage.getItem('sign-in') ?? '{}');
  sessionStorage.removeItem('sign-in');
  history.replaceState(null, '', location.pathname);
  if (!state || answer.get('state') !== state) throw new Error('This sign-in was not begun here.');
  if (answer.has('error')) throw new Error(answer.get('error'));
  const response = await fetch(server.token_endpoint, { method: 'POST', body: new URLSearchParams({
    grant_type: 'authorization_code', client_id: CLIENT_ID, redirect_uri: REDIRECT_URI,
    code: answer.get('code'), code_verifier: verifier,
  }) });
  const tokens = await response.json();
  if (!response.ok) throw new Error(tokens.error);
  const headers = { authorization: 'Bearer ' + tokens.access_token };
  return (await fetch(server.userinfo_endpoint, { headers })).json();
}

const said = document.getElementById('said');
const button = document.getElementById('sign-in');
button.addEventListener('click', signIn);
const answer = new URLSearchParams(location.search);
try {
  const user = answer.has('state') ? await signedIn(answer) : undefined;
  said.textContent = user ? 'Hello ' + user.name : 'You are not signed in.';
  button.hidden = user !== undefined;
} catch (error) {
  said.textContent = 'The sign-in did not work: ' + error.message;
  button.hidden = false;
}
</script>
`;
}

function serverCode(client: Client, issuer: string): string {
  const isLocal = issuer.startsWith('http:');
  const method = client.authMethod === 'client_secret_post' ? 'ClientSecretPost' : 'ClientSecretBasic';
  return `import { createServer } from 'node:http';
import * as oidc from 'openid-client';

const ISSUER = new URL(${quoted(issuer)});
const CLIENT_ID = ${quoted(client.clientId)};
const REDIRECT_URI = new URL(${quoted(redirectUriOf(client))});
const authentication = oidc.${method}(process.env.CLIENT_SECRET);
${isLocal ? '// This service has no TLS, which only a test may do without.\n' : ''}const config = await oidc.discovery(ISSUER, CLIENT_ID, undefined, authentication${isLocal ? ', { execute: [oidc.allowInsecureRequests] }' : ''});

async function signIn(res) {
  const [verifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI.href, scope: 'openid profile email', state,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
  });
  const cookie = \`sign-in=\${state}.\${verifier}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax\`;
  res.writeHead(302, { location: url.href, 'set-cookie': cookie }).end();
}

async function signedIn(req, res, url) {
  const [, expectedState, pkceCodeVerifier] = /sign-in=([^.;]+)\\.([^;]+)/.exec(req.headers.cookie ?? '') ?? [];
  const tokens = await oidc.authorizationCodeGrant(config, url, { expectedState, pkceCodeVerifier });
  const user = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  // Begin a session of your own here.
  res.setHeader('set-cookie', 'sign-in=; Path=/; Max-Age=0').end(\`Hello \${user.name}\`);
}

createServer(async (req, res) => {
  const url = new URL(req.url, REDIRECT_URI);
  try {
    if (url.pathname === REDIRECT_URI.pathname && url.searchParams.has('state')) await signedIn(req, res, url);
    else await signIn(res);
  } catch (error) {
    console.error(error);
    res.writeHead(400).end('The sign-in did not work. Go back and try again.');
  }
}).listen(Number(process.env.PORT ?? (REDIRECT_URI.port || 3000)));
`;
}

function serviceCode({ clientId, authMethod }: Client, issuer: string): string {
  const credential =
    authMethod === 'client_secret_post'
      ? `--data client_id=${clientId} --data-urlencode "client_secret=$CLIENT_SECRET"`
      : `--user "${clientId}:$CLIENT_SECRET"`;
  return `curl --fail ${credential} \\
  --data grant_type=client_credentials --data scope=openid \\
  ${issuer}${OAUTH_PATHS.token}
`;
}
