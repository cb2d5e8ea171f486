/** The calls of programs at the authorization server: a machine user gets tokens, and asks about them. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Scope } from '../scope.ts';
import type { Service } from './testbed.ts';

export interface Program {
  /** Gets a token, which the service keeps until it expires. */
  token(): Promise<string>;
  /** @throws Error unless the token is active */
  introspect(token: string): Promise<void>;
  userinfo(token: string): Promise<void>;
}

/** Creates a machine user with a secret; its connections end with the scope. */
export async function startProgram(scope: Scope, service: Service, userName: string): Promise<Program> {
  const { client, orgId, baseUrl } = service;
  const { userId } = await client.call('POST', '/management/v1/users/machine', { userName, name: userName }, orgId);
  const { clientId, clientSecret } = await client.call('PUT', `/management/v1/users/${userId}/secret`, {}, orgId);
  const secret = Buffer.from([clientId, clientSecret].map(encodeURIComponent).join(':')).toString('base64');
  const agent = await scope.start(
    async () => new Agent({ keepAlive: true }),
    async (opened) => opened.destroy(),
  );
  const send = async (method: string, path: string, authorization: string, fields?: Record<string, string>) => {
    const body = fields && Buffer.from(new URLSearchParams(fields).toString());
    const form = body && { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length };
    const req = request(baseUrl + path, { agent, method, headers: { authorization, ...form } });
    req.end(body);
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    const answer = await text(res);
    if (res.statusCode !== 200) throw new Error(`The service answered ${res.statusCode}: ${answer.slice(0, 500)}`);
    return JSON.parse(answer);
  };
  return {
    async token() {
      const fields = { grant_type: 'client_credentials', scope: 'openid' };
      return (await send('POST', '/oauth/v2/token', `Basic ${secret}`, fields)).access_token;
    },
    async introspect(token) {
      const { active } = await send('POST', '/oauth/v2/introspect', `Basic ${secret}`, { token });
      if (active !== true) throw new Error('The token is not active.');
    },
    async userinfo(token) {
      await send('GET', '/oidc/v1/userinfo', `Bearer ${token}`);
    },
  };
}
