/**
 * GitHub's OAuth of apps: no OpenID Connect, errors with status 200, a numeric id, addresses by another call
 * (docs.github.com, "Authorizing OAuth apps" and "REST API endpoints for emails").
 */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { challenge } from '../oauth.ts';
import { type Handler, JSON_TYPE, type Person, type ProviderState } from '../providers.ts';
import { formOf, signInPage } from './page.ts';

interface Code {
  person: Person;
  redirectUri: string;
  challenge: string;
}

/** Answers the requests to the provider. */
export function githubHandler(state: ProviderState): Handler {
  const codes = new Map<string, Code>();
  const tokens = new Map<string, Person>();
  return async (req, res) => {
    const url = new URL(req.url ?? '/', state.issuer);
    const person = tokens.get(/^bearer (.*)$/i.exec(req.headers.authorization ?? '')?.[1] ?? '');
    switch (`${req.method} ${url.pathname}`) {
      case 'GET /login/oauth/authorize':
        return authorize(state, codes, url.searchParams, res);
      case 'POST /login/oauth/authorize':
        return authorize(state, codes, await formOf(req), res);
      case 'POST /login/oauth/access_token':
        return json(res, 200, redeem(state, { codes, tokens }, await formOf(req)));
      case 'GET /user':
        return person ? json(res, 200, { id: Number(person.id), login: person.login, ...person.claims }) : refuse(res);
      case 'GET /user/emails':
        return person ? json(res, 200, person.emails ?? []) : refuse(res);
      default:
        return json(res, 404, { message: 'Not Found' });
    }
  };
}

function authorize(state: ProviderState, codes: Map<string, Code>, asked: URLSearchParams, res: ServerResponse): void {
  const login = asked.get('login') ?? asked.get('login_hint');
  const person = state.people.find((each) => each.login === login);
  if (!person) return void signInPage(res, '/login/oauth/authorize', Object.fromEntries(asked));
  const to = new URL(asked.get('redirect_uri') ?? 'about:blank');
  const isKnown = state.redirectUris.size === 0 || state.redirectUris.has(to.href);
  const code = randomBytes(10).toString('hex');
  codes.set(code, { person, redirectUri: to.href, challenge: asked.get('code_challenge') ?? '' });
  to.searchParams.set('state', asked.get('state') ?? '');
  if (isKnown) to.searchParams.set('code', code);
  else to.searchParams.set('error', 'redirect_uri_mismatch');
  res.writeHead(302, { location: to.href }).end();
}

function redeem(
  state: ProviderState,
  { codes, tokens }: { codes: Map<string, Code>; tokens: Map<string, Person> },
  form: URLSearchParams,
): Record<string, unknown> {
  if (form.get('client_id') !== state.clientId || form.get('client_secret') !== state.clientSecret) {
    return { error: 'incorrect_client_credentials', error_description: 'The client_id and/or client_secret is wrong.' };
  }
  const code = form.get('code') ?? '';
  const found = codes.get(code);
  codes.delete(code);
  const isRight =
    found?.redirectUri === form.get('redirect_uri') && found.challenge === challenge(form.get('code_verifier') ?? '');
  if (!found || !isRight) return { error: 'bad_verification_code', error_description: 'The code is wrong or expired.' };
  const token = `gho_${randomBytes(18).toString('hex')}`;
  tokens.set(token, found.person);
  return { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' };
}

function json(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, JSON_TYPE).end(JSON.stringify(body));
}

function refuse(res: ServerResponse): void {
  json(res, 401, { message: 'Requires authentication' });
}
