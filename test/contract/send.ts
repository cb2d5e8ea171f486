/** Sends requests unchanged: fetch would normalize the path. */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Given } from './judge.ts';

export interface Sent {
  method: string;
  /** The path with its query, percent-encoded. */
  path: string;
  headers?: Record<string, string> | undefined;
  /** Sent as JSON, unless it is text or bytes. */
  body?: unknown;
}

export interface Sender {
  send(sent: Sent): Promise<Given>;
  close(): void;
}

/** @param timeoutMs a slower response fails the test */
export function openSender(url: string, timeoutMs = 30_000): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const { hostname, port } = new URL(url);
  return {
    close: () => agent.destroy(),
    send: ({ method, path, headers, body }) =>
      new Promise((resolve, reject) => {
        const bytes = bytesOf(body);
        const type = bytes ? { 'content-type': 'application/json', 'content-length': String(bytes.length) } : {};
        const req = request({ agent, hostname, port, method, path, headers: { ...type, ...headers } }, (res) =>
          read(res).then(resolve, reject),
        );
        req.setTimeout(timeoutMs, () => req.destroy(new Error(`${method} ${path} took over ${timeoutMs} ms`)));
        req.on('error', reject);
        req.end(bytes);
      }),
  };
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  return typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
}

async function read(res: IncomingMessage): Promise<Given> {
  const headers = new Headers(
    Object.entries(res.headers).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const type = headers.get('content-type') ?? '';
  let text = '';
  res.setEncoding('utf8');
  for await (const chunk of res) {
    text += chunk;
    // This stream lasts as long as the import runs.
    if (type.includes('event-stream')) break;
  }
  return {
    status: res.statusCode ?? 0,
    headers,
    body: text !== '' && type.match(/[/+]json\b/) ? JSON.parse(text) : text,
  };
}
