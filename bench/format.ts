/** How the notes of the results say figures. */
import { type CpuTime, sumOf } from './machine/cpu.ts';

/** `1 worker`, `2 workers`. */
export function counted(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** The sum in whole microseconds and each role's part of it. */
export function shares(cpu: CpuTime): string {
  const parts = Object.entries(cpu).map(([role, us]) => `${role} ${Math.round(us)}`);
  return `${Math.round(sumOf(cpu))} (${parts.join(', ')})`;
}
