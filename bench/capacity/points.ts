/** The measured points in points.json, and the costs that follow from them. */
import { readFileSync } from 'node:fs';
import type { Measured } from './measure.ts';
import type { Costs } from './model.ts';

export const POINTS_FILE = new URL('./points.json', import.meta.url);

export interface Points {
  /** Date, machine and versions. */
  run: string;
  points: Measured[];
}

export function readPoints(): Points {
  return JSON.parse(readFileSync(POINTS_FILE, 'utf8'));
}

/** Microseconds a user by the bench `cost` (docs/performance.md, "Where a user's time goes"). */
const FULL_SPEED = { worker: 26, redis: 19, postgres: 39, api: 11 };

/** In the bench `cost` the dispatcher is a part of the worker; its share is that of the fastest point. */
export function costsOf(points: readonly Measured[]): Costs {
  const fastest = points.reduce((a, b) => (b.usersPerSecond > a.usersPerSecond ? b : a));
  const { worker, dispatcher } = fastest.cpu;
  const share = dispatcher / (worker + dispatcher);
  const part = (of: number) => Math.round(FULL_SPEED.worker * of * 10) / 10;
  return { ...FULL_SPEED, worker: part(1 - share), dispatcher: part(share) };
}
