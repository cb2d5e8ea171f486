/** Formats figures for the notes of results. */
import { type CpuTime, sumOf } from './machine/cpu.ts';

/** `1 worker`, `2 workers`. */
export function counted(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** The sum in whole microseconds, and each role's share of it. */
export function shares(cpu: CpuTime): string {
  const parts = Object.entries(cpu).map(([role, us]) => `${role} ${Math.round(us)}`);
  return `${Math.round(sumOf(cpu))} (${parts.join(', ')})`;
}
