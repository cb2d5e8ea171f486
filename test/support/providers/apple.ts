/**
 * Sign in with Apple: the client secret is a JWT that the key of the team signs (ES256), the answer comes as a form
 * (`response_mode=form_post`), `email_verified` is a text, and the name comes once, beside the code
 * (developer.apple.com, "Generate and validate tokens", "Incorporating Sign in with Apple into other platforms").
 */
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { jwtVerify } from 'jose';
import { APPLE_TEAM, type Handler, JSON_TYPE, type Person, type ProviderState } from '../providers.ts';
import { signIdToken } from './openid.ts';
import { formOf, signInPage } from './page.ts';

interface Code {
  person: Person;
  redirectUri: string;
  nonce: string | null;
}

/** Answers the requests to the provider. */
export function appleHandler(state: ProviderState): Handler {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  state.clientSecret = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const codes = new Map<string, Code>();
  return async (req, res) => {
    const url = new URL(req.url ?? '/', state.issuer);
    switch (`${req.method} ${url.pathname}`) {
      case 'GET /.well-known/openid-configuration':
        return json(res, 200, { ...metadataOf(state.issuer), ...state.misbehave.metadata });
      case 'GET /auth/keys':
        return json(res, 200, { keys: [state.key.publicJwk] });
      case 'GET /auth/authorize':
        return authorize(state, codes, url.searchParams, res);
      case 'POST /auth/authorize':
        return authorize(state, codes, await formOf(req), res);
      case 'POST /auth/token':
        return redeem(state, codes, await formOf(req), res);
      default:
        return json(res, 404, {});
    }
  };
}

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/auth/authorize`,
    token_endpoint: `${issuer}/auth/token`,
    jwks_uri: `${issuer}/auth/keys`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    subject_types_supported: ['pairwise'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  };
}

function authorize(state: ProviderState, codes: Map<string, Code>, asked: URLSearchParams, res: ServerResponse): void {
  if (asked.get('response_mode') !== 'form_post') return void json(res, 400, { error: 'response_mode' });
  const login = asked.get('login') ?? asked.get('login_hint');
  const person = state.people.find((each) => each.login === login);
  if (!person) return void signInPage(res, '/auth/authorize', Object.fromEntries(asked));
  const code = randomBytes(10).toString('hex');
  const redirectUri = asked.get('redirect_uri') ?? '';
  codes.set(code, { person, redirectUri, nonce: asked.get('nonce') });
  const fields = {
    state: asked.get('state') ?? '',
    code,
    ...(person.claims?.user ? { user: person.claims.user } : {}),
  };
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${String(value).replaceAll('"', '&quot;')}">`,
  );
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(
    `<!doctype html><html lang="en"><title>Continue</title><form method="post" action="${redirectUri}">${inputs.join('')}
<button type="submit">Continue</button></form>`,
  );
}

async function redeem(
  state: ProviderState,
  codes: Map<string, Code>,
  form: URLSearchParams,
  res: ServerResponse,
): Promise<void> {
  if (form.get('client_id') !== state.clientId || !(await isSecret(state, form.get('client_secret') ?? ''))) {
    return void json(res, 400, { error: 'invalid_client' });
  }
  const code = form.get('code') ?? '';
  const found = codes.get(code);
  codes.delete(code);
  if (found?.redirectUri !== form.get('redirect_uri') || !found) return void json(res, 400, { error: 'invalid_grant' });
  const { user: _user, ...claims } = found.person.claims ?? {};
  const now = Math.floor(Date.now() / 1000);
  const idToken = await signIdToken(state, {
    iss: state.issuer,
    aud: state.clientId,
    sub: found.person.id,
    iat: now,
    exp: now + 600,
    nonce: found.nonce ?? undefined,
    nonce_supported: true,
    auth_time: now,
    ...claims,
  });
  json(res, 200, {
    access_token: randomBytes(9).toString('hex'),
    token_type: 'Bearer',
    expires_in: 3600,
    id_token: idToken,
  });
}

/** As Apple checks it: ES256, key id, team as issuer, client as subject, Apple as audience, at most six months. */
async function isSecret(state: ProviderState, secret: string): Promise<boolean> {
  try {
    const { protectedHeader, payload } = await jwtVerify(secret, createPublicKey(state.clientSecret), {
      algorithms: ['ES256'],
      issuer: APPLE_TEAM.teamId,
      subject: state.clientId,
      audience: [state.issuer, 'https://appleid.apple.com'],
      requiredClaims: ['exp', 'iat'],
    });
    return protectedHeader.kid === APPLE_TEAM.keyId && Number(payload.exp) - Number(payload.iat) <= 15_777_000;
  } catch {
    return false;
  }
}

function json(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, JSON_TYPE).end(JSON.stringify(body));
}
