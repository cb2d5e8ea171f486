/** Strikes with the faults of a plan at their times. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedFault } from '../plan/faults.ts';
import type { Stand } from '../stand/stand.ts';
import type { Fault } from './fault.ts';

/**
 * Resolves when every fault is repaired. A fault waits for those before it that break the same place.
 * @throws Error when something could not be repaired
 */
export async function strikeAll(stand: Stand, planned: PlannedFault[], faults: Record<string, Fault>): Promise<void> {
  const busy = new Map<string, Promise<unknown>>();
  const struck: Promise<void>[] = [];
  const start = performance.now();
  for (const { atMs, fault: name, slot, forMs } of planned) {
    await sleep(Math.max(0, start + atMs - performance.now()));
    const fault = faults[name] as Fault;
    const places = fault.places(stand, slot);
    const before = places.map((place) => busy.get(place));
    const striking = Promise.allSettled(before).then(() => fault.strike(stand, slot, forMs));
    for (const place of places) busy.set(place, striking);
    striking.catch(() => {}); // thrown below, when the others are repaired
    struck.push(striking);
  }
  await Promise.allSettled(struck);
  await Promise.all(struck);
}
