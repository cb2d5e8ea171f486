/** What a fault is. Each has its file; `registry.ts` lists them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend } from '../plan/plan.ts';
import type { Line } from '../stand/line.ts';
import type { Slot } from '../stand/slot.ts';
import type { Stand } from '../stand/stand.ts';

export interface Fault {
  /** Milliseconds that it may last. */
  least: number;
  most: number;
  /** Absent: it strikes with both queues. */
  backend?: Backend;
  /** What it breaks: faults at the same place follow one another. */
  places(stand: Stand, slot: number): string[];
  /** Breaks something, and repairs it after `forMs` milliseconds. */
  strike(stand: Stand, slot: number, forMs: number): Promise<void>;
}

export function oneOf<T>(list: readonly T[], slot: number): T {
  return list[slot % list.length] as T;
}

export interface NamedLine {
  /** `worker-1 to redis` */
  name: string;
  owner: string;
  line: Line;
}

/** All lines between processes and servers, and those in front of the APIs. */
export function linesOf(stand: Stand): NamedLine[] {
  return [...stand.apis, ...stand.workers].flatMap(({ name, lines }) =>
    Object.entries(lines).flatMap(([server, line]) =>
      line ? [{ name: `${name} to ${server}`, owner: name, line }] : [],
    ),
  );
}

/** Breaks something at `place` for a while, and notes when. */
export async function during(stand: Stand, place: string, forMs: number, repair: () => unknown): Promise<void> {
  const over = stand.troubles.begin(place);
  await sleep(forMs);
  await repair();
  over();
}

/** A fault of one line. */
export function lineFault(
  least: number,
  most: number,
  strike: (line: Line) => void,
  repair: (line: Line) => void,
): Fault {
  return {
    least,
    most,
    places: (stand, slot) => [oneOf(linesOf(stand), slot).name],
    async strike(stand, slot, forMs) {
      const { owner, line } = oneOf(linesOf(stand), slot);
      strike(line);
      await during(stand, owner, forMs, () => repair(line));
    },
  };
}

/** Replaces a process after its end. */
export async function replace(stand: Stand, slot: Slot, signal: NodeJS.Signals, forMs: number): Promise<void> {
  slot.signal(signal);
  await during(stand, slot.name, forMs, async () => {
    await slot.ended();
    await slot.start();
  });
}
