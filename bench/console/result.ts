/** A figure of the console and its target, which takes the place of a ceiling. */
import { type Result, rounded } from '../bench.ts';

export interface Figure {
  name: string;
  value: number;
  unit: string;
  target: number;
  notes: string[];
  extras?: Record<string, unknown>;
}

export function resultOf({ name, value, unit, target, notes, extras = {} }: Figure): Result {
  const shown = rounded(value, 2);
  return { name, value: shown, unit, ceiling: target, ratio: rounded(shown / target, 3), notes, extras };
}
