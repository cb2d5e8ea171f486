/** Builds metrics of what this process does. A label has known values only, which are 0 from the start. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Adds metrics to the registry of a process. */
export type Instrument = (registry: Registry) => void;

interface About {
  name: string;
  help: string;
}

/** @returns adds to the counter; a value that is not listed counts as `other` */
export function countBy(
  registry: Registry,
  { label, values, ...about }: About & { label: string; values: readonly string[] },
): (value: string, n?: number) => void {
  const counter = new Counter({ ...about, labelNames: [label], registers: [registry] });
  for (const value of values) counter.inc({ [label]: value }, 0);
  return (value, n = 1) => counter.inc({ [label]: values.includes(value) ? value : 'other' }, n);
}

export function count(registry: Registry, about: About): (n: number) => void {
  const counter = new Counter({ ...about, registers: [registry] });
  return (n) => counter.inc(n);
}

export function distribution(registry: Registry, about: About & { buckets: number[] }): (value: number) => void {
  const histogram = new Histogram({ ...about, registers: [registry] });
  return (value) => histogram.observe(value);
}

export function distributionBy(
  registry: Registry,
  { label, values, ...about }: About & { label: string; values: readonly string[]; buckets: number[] },
): (labelValue: string, value: number) => void {
  const histogram = new Histogram({ ...about, labelNames: [label], registers: [registry] });
  for (const value of values) histogram.zero({ [label]: value });
  return (labelValue, value) => histogram.observe({ [label]: labelValue }, value);
}

/** A metric that is always 1, whose labels tell facts. */
export function facts(registry: Registry, { labels, ...about }: About & { labels: Record<string, string> }): void {
  new Gauge({ ...about, labelNames: Object.keys(labels), registers: [registry] }).set(labels, 1);
}
