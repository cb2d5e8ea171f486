/**
 * Follows the events of an import until it ends, across broken connections and restarts of the service.
 */
import { type Api, Unreachable } from '../service/api.ts';
import { type OutageOptions, openOutage, PATIENCE, type Patience } from '../service/outage.ts';
import { Stranger } from '../service/refusal.ts';
import { eventData } from '../service/server-events.ts';
import type { ImportResult } from './import-result.ts';
import { type ImportProgress, isEnded } from './progress.ts';

const EVENT_STREAM = 'text/event-stream';

export interface FollowOptions {
  /** Stops following; its reason is thrown. */
  signal: AbortSignal;
  onProgress: (progress: ImportProgress) => void;
  onLost: OutageOptions['onLost'];
  patience?: Patience | undefined;
}

/**
 * Returns the result once the import has ended.
 * @throws Failure when the service is away for longer than `patience` allows, or refuses
 */
export async function follow(api: Api, importId: string, options: FollowOptions): Promise<ImportResult> {
  const { signal, onLost, onProgress, patience = PATIENCE } = options;
  const advice = `Watch again once it is back: muster status ${importId} --watch`;
  const outage = openOutage({ patience, signal, onLost, advice });
  const path = `/admin/v1/imports/${encodeURIComponent(importId)}`;
  for (;;) {
    try {
      return await readToTheEnd();
    } catch (fault) {
      await outage.wait(fault);
    }
  }

  async function readToTheEnd(): Promise<ImportResult> {
    for await (const progress of progressOf(api, path, signal, patience)) {
      outage.over();
      onProgress(progress);
      if (isEnded(progress)) return api.call<ImportResult>('GET', path, { signal });
    }
    throw new Unreachable(api.url, { message: 'the connection was closed' });
  }
}

async function* progressOf(
  api: Api,
  path: string,
  signal: AbortSignal,
  { silenceMs }: Patience,
): AsyncGenerator<ImportProgress> {
  const silence = new AbortController();
  const tooQuiet = () => silence.abort(new Unreachable(api.url, { message: 'no data arrived for too long' }));
  const timer = setTimeout(tooQuiet, silenceMs);
  try {
    const response = await api.open('GET', `${path}/events`, { signal: AbortSignal.any([signal, silence.signal]) });
    if (!response.headers.get('content-type')?.startsWith(EVENT_STREAM)) throw new Stranger(api.url);
    for await (const data of eventData(heard(response.body as ReadableStream<Uint8Array>, timer))) {
      yield JSON.parse(data) as ImportProgress;
    }
  } catch (fault) {
    if (signal.aborted) throw signal.reason;
    if (silence.signal.aborted) throw silence.signal.reason;
    if (fault instanceof SyntaxError) throw new Stranger(api.url);
    throw fault instanceof TypeError ? new Unreachable(api.url, fault) : fault;
  } finally {
    clearTimeout(timer);
  }
}

/** Every byte counts as a sign of life. */
async function* heard(bytes: AsyncIterable<Uint8Array>, timer: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    timer.refresh();
    yield chunk;
  }
}
