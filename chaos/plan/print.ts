/** A plan as text, one line for each import and fault. */
import type { Plan } from './plan.ts';

export function planText({ seed, round, backend, setup, imports, faults, singles }: Plan): string {
  const head = `seed ${seed}, round ${round}, queue on ${backend}, processes ${setup}`;
  const of = imports.map(({ steps, ...rest }) => {
    const story = steps.map(({ afterMs, action }) => `${action} after ${afterMs}`).join(', ');
    return `  import ${JSON.stringify(rest)}: ${story}`;
  });
  const one = singles.map((single) => `  single import ${JSON.stringify(single)}`);
  return [head, ...of, ...one, ...faults.map((fault) => `  fault ${JSON.stringify(fault)}`)].join('\n');
}
