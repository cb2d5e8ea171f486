/**
 * Uploads a file as the page of the console does: slice by slice, and after an interruption from where the service says
 * that it ends. It counts the bytes that had to be sent twice.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExportFile } from './export-file.ts';

const PAUSE_MS = 100;
const TUS = { 'tus-resumable': '1.0.0' };

export interface TusTarget {
  baseUrl: string;
  token: string;
  importId: string;
}

export interface TusResult {
  ms: number;
  /** Bytes that were sent and had not been stored. */
  sentTwice: number;
}

/** @param onSlice called before each slice with its position */
export async function upload(
  { baseUrl, token, importId }: TusTarget,
  file: ExportFile,
  onSlice: (from: number) => void = () => {},
): Promise<TusResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const authorization = `Bearer ${token}`;
  const send = async (method: string, path: string, headers: Record<string, string>, body?: Buffer) => {
    const req = request(baseUrl + path, { agent, method, headers: { authorization, ...TUS, ...headers } });
    req.end(body);
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    await once(res.resume(), 'end');
    return res;
  };
  try {
    const metadata = `filename ${btoa('people.csv')},kind ${btoa('users')}`;
    const created = await send('POST', `/admin/v1/imports/${importId}/files`, {
      'upload-length': String(file.size),
      'upload-metadata': metadata,
    });
    requireStatus(created, 201);
    const path = String(created.headers.location);
    const start = performance.now();
    let sentTwice = 0;
    for (let from = 0; from < file.size; ) {
      onSlice(from);
      const slice = file.slice(from);
      const answer = await send('PATCH', path, patch(from), slice).catch(() => undefined);
      if (answer) requireStatus(answer, 204);
      const next = answer ? from + slice.length : await offsetOf(() => send('HEAD', path, {}));
      sentTwice += from + slice.length - next;
      from = next;
    }
    return { ms: performance.now() - start, sentTwice };
  } finally {
    agent.destroy();
  }
}

function patch(from: number): Record<string, string> {
  return { 'upload-offset': String(from), 'content-type': 'application/offset+octet-stream' };
}

/** Asks until the service is back. */
async function offsetOf(ask: () => Promise<IncomingMessage>): Promise<number> {
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer?.statusCode === 200) return Number(answer.headers['upload-offset']);
    await sleep(PAUSE_MS);
  }
}

function requireStatus({ statusCode }: IncomingMessage, status: number): void {
  if (statusCode !== status) throw new Error(`The service answered ${statusCode} to an upload, not ${status}.`);
}
