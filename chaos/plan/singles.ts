/** The single imports of a round. */
import type { Random } from '../random.ts';

export interface PlannedSingle {
  /** Unique in the round. */
  name: string;
  atMs: number;
  /** With an Idempotency-Key: repeated until it is answered. Without one it is sent once. */
  keyed: boolean;
  /** Whether its user is due a mail. */
  mailDue: boolean;
}

const [FEWEST, MOST] = [8, 16];
const LATEST_MS = 6000;

export function planSingles(random: Random): PlannedSingle[] {
  return Array.from({ length: random.int(FEWEST, MOST) }, (_, i) => ({
    name: `single${i}`,
    atMs: random.int(0, LATEST_MS),
    keyed: random.chance(0.5),
    mailDue: random.chance(0.3),
  }));
}
