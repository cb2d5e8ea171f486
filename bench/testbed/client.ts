/**
 * The load generator's HTTP clients: a caller with a kept-alive connection and streamed uploads, and a program (machine
 * user) that gets tokens from the authorization server and asks about them.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Scope } from '../scope.ts';

// biome-ignore lint/suspicious/noExplicitAny: benches read responses as callers do
type Answer = Record<string, any>;

export interface Client {
  /**
   * @param orgId the organization to act in, if not the caller's own
   * @param status of the response, 200 by default
   * @throws Error with the response when its status is another one
   */
  call(method: string, path: string, body?: unknown, orgId?: string, status?: number): Promise<Answer>;
  /** Sends a bulk import. @throws Error with the response when its status is not 202 */
  upload(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<Answer>;
  close(): void;
}

export function openClient(baseUrl: string, token: string): Client {
  const agent = new Agent({ keepAlive: true });
  const options = (method: string, headers: Record<string, string | number>): RequestOptions => ({
    agent,
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
  });
  return {
    async call(method, path, body, orgId, status = 200) {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const length = bytes ? { 'content-length': bytes.length } : undefined;
      const org = orgId ? { 'x-service-orgid': orgId } : undefined;
      const req = request(baseUrl + path, options(method, { ...length, ...org }));
      req.end(bytes);
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      return answerOf(res, status);
    },
    async upload(chunks) {
      const req = request(`${baseUrl}/admin/v1/import`, options('POST', {}));
      const sent = pipeline(Readable.from(chunks, { objectMode: true }), req);
      // An early rejection closes the connection during the upload; the response then says more than the broken pipe.
      sent.catch(() => {});
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      const answer = await answerOf(res, 202);
      await sent;
      return answer;
    },
    close() {
      agent.destroy();
    },
  };
}

async function answerOf(res: IncomingMessage, expected: number): Promise<Answer> {
  const body = await text(res);
  if (res.statusCode !== expected) throw new Error(`The service answered ${res.statusCode}: ${body.slice(0, 500)}`);
  return JSON.parse(body) as Answer;
}

interface Program {
  /** Gets a token, which the service keeps until it expires. */
  token(): Promise<string>;
  /** @throws Error unless the token is active */
  introspect(token: string): Promise<void>;
  userinfo(token: string): Promise<void>;
}

/** Creates a machine user with a secret; its connections end with the scope. */
export async function startProgram(
  scope: Scope,
  { client, orgId, baseUrl }: { client: Client; orgId: string; baseUrl: string },
  userName: string,
): Promise<Program> {
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
