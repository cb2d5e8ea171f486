/**
 * What happens in a round: a pure function of the seed, the round and the backend. `--plan` prints it.
 *
 * Times are milliseconds from the start of the round. They say when something begins; how far the service is by then
 * depends on the machine.
 */
import { openRandom } from '../random.ts';
import { type PlannedFault, planFaults } from './faults.ts';
import { type PlannedImport, planImports, planLarge } from './imports.ts';
import { type PlannedSingle, planSingles } from './singles.ts';

export const BACKENDS = ['redis', 'postgres'] as const;
export type Backend = (typeof BACKENDS)[number];

/** `apart`: two API and three worker processes; `npm-start`: one parent with an API and three workers. */
export type Setup = 'apart' | 'npm-start';

export interface Plan {
  seed: number;
  round: number;
  backend: Backend;
  setup: Setup;
  imports: PlannedImport[];
  faults: PlannedFault[];
  singles: PlannedSingle[];
}

export interface PlanInput {
  seed: number;
  round: number;
  backend: Backend;
  /** The faults to choose from, with the milliseconds that each may last. */
  faults: Record<string, { least: number; most: number }>;
  /** The size of one more import. */
  users?: number;
}

/** A large import has as many times more faults, over as much time, as it has this many users. */
const USERS_OF_FAULTS = 10_000;

/** One round of this many runs the processes of `npm start`. */
const NPM_START_EVERY = 10;

function setupOf(round: number): Setup {
  return round % NPM_START_EVERY === 2 ? 'npm-start' : 'apart';
}

export function makePlan({ seed, round, backend, faults, users = 0 }: PlanInput): Plan {
  const random = openRandom(`${seed}/${round}/${backend}`);
  const imports = [...planImports(random), ...planLarge(users)];
  const planned = planFaults(random, faults, 1 + Math.floor(users / USERS_OF_FAULTS));
  return { seed, round, backend, setup: setupOf(round), imports, faults: planned, singles: planSingles(random) };
}
