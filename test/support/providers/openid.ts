/** A second `oidc-provider`: Google with public subjects, or Microsoft with pairwise ones. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import Provider, { type Configuration, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { type Handler, JSON_TYPE, type Person, type ProviderState, signingKey } from '../providers.ts';
import { formOf, signInPage } from './page.ts';

/** Answers the requests to the provider. */
export function openIdHandler(state: ProviderState): Handler {
  const provider = new Provider(state.issuer, configuration(state));
  provider.use(async (ctx, next) => {
    await next();
    await misbehave(state, ctx as KoaContextWithOIDC);
  });
  provider.Client.prototype.redirectUriAllowed = (uri: string) =>
    state.redirectUris.size === 0 || state.redirectUris.has(uri);
  const answer = provider.callback();
  return (req, res) => {
    const { pathname } = new URL(req.url ?? '/', state.issuer);
    if (pathname === '/jwks') return res.writeHead(200, JSON_TYPE).end(JSON.stringify({ keys: [state.key.publicJwk] }));
    if (pathname.startsWith('/interaction/')) return interact(state, provider, req, res);
    return answer(req, res);
  };
}

function configuration(state: ProviderState): Configuration {
  const isPairwise = state.kind === 'microsoft';
  const policy = interactionPolicy.base();
  policy.get('consent')?.checks.clear();
  policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }));
  return {
    clients: [
      {
        client_id: state.clientId,
        client_secret: state.clientSecret,
        redirect_uris: ['http://127.0.0.1/callback'],
        subject_type: isPairwise ? 'pairwise' : 'public',
      },
    ],
    jwks: { keys: [state.key.jwk as never] },
    cookies: { keys: [randomBytes(16).toString('hex')], names: COOKIES },
    subjectTypes: isPairwise ? ['pairwise'] : ['public'],
    pairwiseIdentifier: (_ctx, id, { clientId }) =>
      createHash('sha256').update(`${clientId}:${id}`).digest('base64url'),
    claims: {
      openid: ['sub', 'oid', 'tid', 'groups', 'employee'],
      email: ['email', 'email_verified'],
      profile: PROFILE,
    },
    conformIdTokenClaims: false,
    ttl: TTL,
    features: { devInteractions: { enabled: false } },
    interactions: { policy, url: (_ctx, { uid }) => `${state.issuer}/interaction/${uid}` },
    findAccount: (_ctx, id) => {
      const person = state.people.find((each) => each.id === id);
      return (
        person && {
          accountId: id,
          claims: () => ({ sub: id, ...person.claims }),
        }
      );
    },
    loadExistingGrant: async ({ oidc: { provider, client, account, requestParamOIDCScopes } }) => {
      if (!client || !account) return undefined;
      const grant = new provider.Grant({ accountId: account.accountId, clientId: client.clientId });
      grant.addOIDCScope(requestParamOIDCScopes);
      await grant.save();
      return grant;
    },
  };
}

/** Cookies do not know ports: on 127.0.0.1 these would meet the ones of the service. */
const COOKIES = { session: 'idp_session', interaction: 'idp_interaction', resume: 'idp_resume' };
/** Seconds; without them the library writes a notice for each. */
const TTL = { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 };
const PROFILE = ['name', 'given_name', 'family_name', 'preferred_username', 'upn', 'locale', 'picture'];

async function interact(state: ProviderState, provider: Provider, ...[req, res]: Parameters<Handler>): Promise<void> {
  const { params, uid } = await provider.interactionDetails(req, res);
  const typed = req.method === 'POST' ? await formOf(req) : undefined;
  const login = typed?.get('login') ?? params.login_hint;
  const person = state.people.find((each) => each.login === login);
  if (typed?.get('cancel') || params.login_hint === 'cancel') {
    return provider.interactionFinished(req, res, { error: 'access_denied', error_description: 'cancelled' });
  }
  if (!person) return void signInPage(res, `/interaction/${uid}`);
  await provider.interactionFinished(req, res, {
    login: { accountId: person.id, ...(person.authTime ? { ts: person.authTime } : {}) },
  });
}

/** Lies as it is told to. */
async function misbehave(state: ProviderState, ctx: KoaContextWithOIDC): Promise<void> {
  const { metadata, iss } = state.misbehave;
  const body = ctx.body as Record<string, unknown> | undefined;
  if (ctx.path.startsWith('/.well-known/')) ctx.body = { ...body, ...metadata };
  if (typeof body?.id_token === 'string') ctx.body = { ...body, id_token: await signAgain(state, body.id_token) };
  const location = ctx.response.get('location') ?? '';
  if (iss === undefined || !location.includes('code=')) return;
  const url = new URL(location);
  url.searchParams.delete('iss');
  if (iss !== null) url.searchParams.set('iss', iss);
  ctx.set('location', url.href);
}

async function signAgain(state: ProviderState, token: string): Promise<string> {
  const [, payload = ''] = token.split('.');
  const said = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JWTPayload;
  const { amr } = state.people.find((each) => [each.id, pairwiseSubject(state, each)].includes(said.sub ?? '')) ?? {};
  return signIdToken(state, { ...said, ...(amr ? { amr } : {}) });
}

/** Signs an ID token, or does what `misbehave` says. @param said the honest claims */
export async function signIdToken(state: ProviderState, said: JWTPayload): Promise<string> {
  const { claims, signing } = state.misbehave;
  const payload = JSON.parse(JSON.stringify({ ...said, ...claims })) as JWTPayload;
  const kid = state.key.jwk.kid as string;
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  if (signing === 'none') return `${part({ alg: 'none' })}.${part(payload)}.`;
  if (signing === 'HS256') {
    const input = `${part({ alg: 'HS256', kid })}.${part(payload)}`;
    const key = JSON.stringify(state.key.publicJwk);
    return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
  }
  const { privateKey } = signing === 'other-key' ? await signingKey() : state.key;
  return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
}

/** For the tests: the subject that a client gets of a person. */
export function pairwiseSubject({ clientId }: { clientId: string }, { id }: Pick<Person, 'id'>): string {
  return createHash('sha256').update(`${clientId}:${id}`).digest('base64url');
}
