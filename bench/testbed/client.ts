/** The load generator's HTTP client: a kept-alive connection for calls, and streamed uploads. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

// biome-ignore lint/suspicious/noExplicitAny: benches read responses as callers do
export type Answer = Record<string, any>;

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
