/**
 * Audit events: as rows of a table, and new ones as they come; and what following events of any kind needs: reading a
 * stream of Server-Sent Events, and waiting through an outage of the service.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Sent } from '../../contract/client.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Api } from './api.ts';

export type AuditEvent = Answer<'searchEvents'>['result'][number];
type EventSearch = Sent<'searchEvents'>;

export const EVENT_COLUMNS = ['TIME', 'TYPE', 'ACTOR', 'USER', 'ORGANIZATION', 'CLIENT', 'ADDRESS', 'DETAILS'];

/** An event as a row of `EVENT_COLUMNS`. */
export function eventRow(event: AuditEvent): string[] {
  const { creationDate, type, actor, userId = '', orgId = '', clientId = '', address = '' } = event;
  return [creationDate, type, actor.id ?? actor.kind, userId, orgId, clientId, address, detailsOf(event)];
}

/** `import 17; reason: wrong_password; 3 times`. */
function detailsOf({ object, payload = {}, count }: AuditEvent): string {
  const fields = Object.entries(payload).map(([name, value]) => {
    return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  const of = object && object.type !== 'organization' ? [`${object.type} ${object.id}`] : [];
  return [...of, ...fields, ...(count > 1 ? [`${count} times`] : [])].join('; ');
}

const OVERLAP_MS = 30_000;
const PAGE = 1000;

export interface FollowedEvents {
  /** The latest events, the oldest first. */
  latest(limit: number): Promise<AuditEvent[]>;
  /** Events that were stored since the last call of either function. */
  next(): Promise<AuditEvent[]>;
}

/**
 * Shows each event once, also one that is stored up to OVERLAP_MS after others with a later time, as its transaction took
 * that long. An event that only counts up is shown when it was first stored.
 * @param filter the conditions of a search, without a page
 */
export function followEvents(api: Pick<Api, 'call'>, filter: EventSearch, signal?: AbortSignal): FollowedEvents {
  const shown = new Map<string, number>();
  let from: string | undefined;

  const search = (page: EventSearch) => api.call('searchEvents', { body: { ...filter, ...page }, signal });

  /** All events of the overlap and after it. */
  async function recent(): Promise<AuditEvent[]> {
    const all: AuditEvent[] = [];
    let pageToken: string | undefined;
    do {
      const page = await search({ ...(from === undefined ? {} : { from }), asc: true, pageSize: PAGE, pageToken });
      all.push(...page.result);
      pageToken = page.nextPageToken || undefined;
    } while (pageToken !== undefined);
    return all;
  }

  function unshown(events: AuditEvent[]): AuditEvent[] {
    const added = events.filter(({ sequence }) => !shown.has(sequence));
    for (const { sequence, creationDate } of added) shown.set(sequence, Date.parse(creationDate));
    const since = Math.max(...shown.values()) - OVERLAP_MS;
    if (shown.size > 0) from = new Date(since).toISOString();
    for (const [sequence, at] of shown) if (at < since) shown.delete(sequence);
    return added;
  }

  return {
    async latest(limit) {
      const { result } = await search({ pageSize: limit });
      const latest = unshown(result.toReversed());
      if (latest.length > 0) unshown(await recent()); // older than the latest, but within the overlap
      return latest;
    },
    next: async () => unshown(await recent()),
  };
}

/** Longer than any event that the service sends; a stream with a longer line is not an event stream. */
const MOST_CHARS = 4 * 1024 * 1024;

/**
 * The data of each Server-Sent Event, read as the HTML standard defines it
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Names and ids of events are ignored.
 * @throws SyntaxError when it is not an event stream; otherwise the error of the stream
 */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of linesOf(bytes)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }
}

/** Complete lines, ended by `\n`, `\r\n` or `\r`. */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    rest += decoder.decode(chunk, { stream: true });
    // A `\r` at the end may be the first half of a `\r\n`.
    const lines = rest.split(/\r\n|\n|\r(?=.)/s);
    rest = lines.pop() as string;
    if (rest.length > MOST_CHARS) throw new SyntaxError('The response is not an event stream.');
    yield* lines;
  }
}

export interface Patience {
  /** Gives up after this time without a response. */
  giveUpMs: number;
  /** Between two attempts; doubled each time, up to `mostPauseMs`. */
  pauseMs: number;
  mostPauseMs: number;
  /** A connection that is silent for this long counts as lost; the service sends something every 15 seconds. */
  silenceMs: number;
}

export const PATIENCE: Patience = { giveUpMs: 120_000, pauseMs: 250, mostPauseMs: 5000, silenceMs: 45_000 };

export interface Outage {
  /** The service has responded, so the outage is over. */
  over(): void;
  /**
   * Waits until it is time to try again.
   * @throws `fault` when waiting does not help; Failure when `giveUpMs` has passed
   */
  wait(fault: unknown): Promise<void>;
}

export interface OutageOptions {
  patience: Patience;
  signal: AbortSignal;
  /** Called once for each outage. */
  onLost: (fault: Failure) => void;
  /** What to do when it does not come back. */
  advice: string;
}

/** An outage of the service: waits only for faults that may pass; every other fault is thrown at once. */
export function openOutage({ patience, signal, onLost, advice }: OutageOptions): Outage {
  let since: number | undefined;
  let pause = patience.pauseMs;
  return {
    over() {
      since = undefined;
      pause = patience.pauseMs;
    },
    async wait(fault) {
      if (signal.aborted) throw signal.reason;
      if (!isPassing(fault)) throw fault;
      if (since === undefined) onLost(fault);
      since ??= Date.now();
      const left = since + patience.giveUpMs - Date.now();
      if (left <= 0)
        throw new Failure(`${fault.message} Gave up waiting for the service.`, { exitCode: EXIT.unreachable, advice });
      await sleep(Math.min(pause, left), undefined, { signal }).catch(() => {
        throw signal.reason;
      });
      pause = Math.min(pause * 2, patience.mostPauseMs);
    },
  };
}

function isPassing(fault: unknown): fault is Failure {
  return fault instanceof Failure && (fault.exitCode === EXIT.unreachable || fault.retryAfter !== undefined);
}
