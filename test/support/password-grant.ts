/** A real authorization server (node-oidc-provider) that still supports the password grant, as old systems do. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { errors, type KoaContextWithOIDC } from 'oidc-provider';

export interface PasswordGrantServer {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  stop(): Promise<void>;
}

/** @param passwords by user name */
export async function startPasswordGrant(passwords: Readonly<Record<string, string>>): Promise<PasswordGrantServer> {
  const server = createServer((req, res) => provider.callback()(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [clientId, clientSecret] = ['migration', 'a secret with % and +'];
  const client = {
    client_id: clientId,
    client_secret: clientSecret,
    grant_types: ['password'],
    response_types: [],
    redirect_uris: [],
  };
  const provider = new Provider(issuer, {
    clients: [
      { ...client, token_endpoint_auth_method: 'client_secret_basic' },
      { ...client, client_id: 'posting', token_endpoint_auth_method: 'client_secret_post' },
    ],
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    cookies: { keys: ['not a secret'] },
  });
  provider.registerGrantType('password', grantFor(provider, passwords), ['username', 'password', 'scope', 'audience']);
  return {
    ...{ tokenUrl: `${issuer}/token`, clientId, clientSecret },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function grantFor(provider: Provider, passwords: Readonly<Record<string, string>>) {
  return async (ctx: KoaContextWithOIDC) => {
    const { username, password } = ctx.oidc.params as { username: string; password: string };
    if (username === 'mfa')
      throw Object.assign(new errors.CustomOIDCProviderError('mfa_required', 'a code is next'), { statusCode: 403 });
    if (passwords[username] === undefined || passwords[username] !== password) throw new errors.InvalidGrant('wrong');
    const grant = new provider.Grant({ accountId: username, clientId: ctx.oidc.client?.clientId as string });
    const token = new provider.AccessToken({
      accountId: username,
      client: ctx.oidc.client as NonNullable<typeof ctx.oidc.client>,
      grantId: await grant.save(),
      gty: 'password',
      scope: 'openid',
    } as ConstructorParameters<typeof provider.AccessToken>[0]);
    ctx.body = { access_token: await token.save(), token_type: 'Bearer', expires_in: 60 };
  };
}
