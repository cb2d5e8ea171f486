/**
 * Event streams of the running imports. Most are read; of the slow readers, nothing is read at all until they are
 * closed. A stream that ends is opened again for another import, not all of them at once.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Imports } from './imports.ts';
import { Meter, reasonOf } from './meter.ts';

/** One stream in so many is never read. */
const SLOW_EVERY = 10;
/** After this time a slow reader leaves. */
const SLOW_MS = 20_000;
/** The most streams that are opened in a second, on average. */
const OPENED_PER_SECOND = 200;

export interface Streams {
  /** Streams that were opened and have ended or failed. */
  meter: Meter;
  open(): number;
  messages(): number;
}

interface Load {
  baseUrl: string;
  token: string;
  count: number;
  imports: Imports;
  ending: AbortSignal;
}

export function startStreams(load: Load): Streams {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  load.ending.addEventListener('abort', () => agent.destroy());
  const meter = new Meter('stream');
  const seen = { open: 0, messages: 0 };
  for (let n = 0; n < load.count; n++) void follow(load, agent, meter, seen, n);
  return { meter, open: () => seen.open, messages: () => seen.messages };
}

async function follow(load: Load, agent: Agent, meter: Meter, seen: { open: number; messages: number }, n: number) {
  const { imports, ending } = load;
  while (!ending.aborted) {
    await sleep(Math.random() * (load.count / OPENED_PER_SECOND) * 1000);
    let where = 'before the answer:';
    try {
      const res = await opened(load, agent, imports.any());
      where = 'in the stream:';
      seen.open++;
      const closed = n % SLOW_EVERY === 0 ? ignored(res) : read(res, () => seen.messages++);
      await closed.finally(() => seen.open--);
      meter.done++;
    } catch (error) {
      if (!ending.aborted) meter.fail(`${where} ${reasonOf(error)}`);
    }
  }
}

function opened({ baseUrl, token }: Load, agent: Agent, importId: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  return new Promise((resolve, reject) => {
    const req = request(`${baseUrl}/admin/v1/imports/${importId}/events`, { agent, headers }, (res) => {
      if (res.statusCode === 200) return resolve(res);
      res.destroy();
      reject(new Error(`The service answered ${res.statusCode}.`));
    });
    req.once('error', reject).end();
  });
}

/** Reads to the end. */
function read(res: IncomingMessage, onMessage: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    res.on('data', onMessage).once('end', resolve).once('error', reject);
  });
}

/** Reads nothing, then closes. */
async function ignored(res: IncomingMessage): Promise<void> {
  res.on('error', () => {}); // the service may close first, after a minute
  await sleep(SLOW_MS, undefined, { ref: false });
  res.destroy();
}
