/** Reads `/metrics` in tests. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Metrics } from '../../src/platform/http/metrics.ts';

/** The text of `/metrics`, served once. */
export async function scrape({ routes }: Metrics): Promise<string> {
  const server = express().use(routes).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)).text();
  } finally {
    server.close();
  }
}

/** Names and types of the metrics in a text of `/metrics`. */
export function typesIn(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
}

/** The value of the sample with exactly this name and these labels; undefined if there is none. */
export function sample(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
