/**
 * Sends due messages in a fixed number of places. A place that becomes free is filled at once, whatever the others wait
 * for.
 *
 * Guarantee: no more than PLACES messages are in progress, and no more than SHARE of one organization. RESERVED places go
 * only to organizations without a message in progress, so that a few whose receivers are slow do not take all places. A
 * free place goes to the organization with the fewest messages in progress; of several, to the one that was served
 * longest ago. So a place that becomes free does not go to the next message of the same organization while others wait.
 *
 * On crash: the messages in progress are due again when their claims end.
 */
import { deliverWebhook, type WebhookDeps } from './deliver.ts';
import { claimWebhooks, type DueWebhook } from './outbox.ts';

export const PLACES = 20;
export const SHARE = 3;
export const RESERVED = 5;
const HOLD_MS = 60_000;
/** So many organizations keep their turn in memory; with more, those that were served longer ago count as new. */
const REMEMBERED = 200;

export interface WebhookPlaces {
  /**
   * Begins to send due messages, until there is none, or no place for it; returns how many it began. Never call it twice
   * at once.
   * @throws the error of the claim, or that of a delivery which could not be recorded since the last call
   */
  fill(): Promise<number>;
  areTaken(): boolean;
  /** Wakes when a place became free after the last `fill` began; returns how to end the wait. */
  untilFree(wake: () => void): () => void;
  /**
   * Resolves when nothing is in progress.
   * @throws as `fill`
   */
  idle(): Promise<void>;
}

export function openWebhookPlaces(deps: WebhookDeps): WebhookPlaces {
  const inProgress = new Set<Promise<void>>();
  /** How many messages of each organization are in progress. */
  const held = new Map<string, number>();
  /** The organizations that were served, the last one at the end. */
  const served = new Set<string>();
  const waiting = new Set<() => void>();
  let hasFreed = false;
  let fault: { error: unknown } | undefined;

  function begin(due: DueWebhook): void {
    held.set(due.orgId, (held.get(due.orgId) ?? 0) + 1);
    remember(due.orgId);
    const sending: Promise<void> = deliverWebhook(deps, due)
      .catch((error) => {
        fault ??= { error };
      })
      .then(() => free(due.orgId, sending));
    inProgress.add(sending);
  }

  function remember(orgId: string): void {
    served.delete(orgId);
    served.add(orgId);
    const [first] = served;
    if (first !== undefined && served.size > REMEMBERED) served.delete(first);
  }

  function free(orgId: string, sending: Promise<void>): void {
    inProgress.delete(sending);
    const left = (held.get(orgId) ?? 0) - 1;
    if (left > 0) held.set(orgId, left);
    else held.delete(orgId);
    hasFreed = true;
    for (const wake of waiting) wake();
  }

  /** Claims a message of each organization that has at most `most` in progress. */
  async function claim(limit: number, except: string[]): Promise<number> {
    const claimed = await claimWebhooks(deps.pool, { limit, holdMs: HOLD_MS, except, last: [...served] });
    for (const due of claimed) begin(due);
    return claimed.length;
  }

  function throwFault(): void {
    const thrown = fault;
    fault = undefined;
    if (thrown) throw thrown.error;
  }

  return {
    async fill() {
      hasFreed = false;
      throwFault();
      let begun = 0;
      let last: { claimed: number; except: string[] } | undefined;
      for (let most = 0; most < SHARE && !deps.post.signal?.aborted; most++) {
        const room = PLACES - inProgress.size - (most > 0 ? RESERVED : 0);
        if (room <= 0) break;
        const except = [...held].filter(([, n]) => n > most).map(([orgId]) => orgId);
        // The same organizations were asked just now, and had nothing.
        if (last?.claimed === 0 && last.except.length === except.length) continue;
        last = { claimed: await claim(room, except), except };
        begun += last.claimed;
      }
      return begun;
    },
    areTaken: () => inProgress.size >= PLACES,
    untilFree(wake) {
      if (hasFreed) wake();
      waiting.add(wake);
      return () => waiting.delete(wake);
    },
    async idle() {
      while (inProgress.size > 0) await Promise.all(inProgress);
      throwFault();
    },
  };
}
