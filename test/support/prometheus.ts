/**
 * A real Prometheus that scrapes processes of a test.
 *
 * On crash: it ends with this process, because its keeper process reads a pipe that this process holds open.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stringify } from 'yaml';
import { freePort } from './free-port.ts';
import { findProgram } from './runner/programs.ts';
import { waitFor } from './wait.ts';

export interface Sample {
  metric: Record<string, string>;
  /** The time, and the value as text. */
  value: [number, string];
}

export interface Prometheus {
  /** The instant vector of a query now. @throws Error with the reason why Prometheus refuses it */
  query(expr: string): Promise<Sample[]>;
  /** The value of a query with one result; undefined without a result. */
  value(expr: string): Promise<number | undefined>;
}

const KEEPER = '"$@" & read -r _; kill -s TERM $!; wait';

/**
 * Starts a Prometheus that scrapes every second, and stops it at the end of the test.
 * @param targets `host:port` of each process, of the job `muster`
 * @param rules the content of a rule file
 */
export async function startPrometheus(t: TestContext, targets: string[], rules: unknown): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'prometheus-'));
  const port = await freePort();
  await writeFile(join(folder, 'rules.yml'), stringify(rules));
  await writeFile(
    join(folder, 'prometheus.yml'),
    stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: 'muster', scrape_timeout: '1s', static_configs: [{ targets }] }],
    }),
  );
  const options = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ];
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'sh', findProgram('prometheus') as string, ...options], {
    detached: true,
    cwd: folder,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(keeper, 'exit');
  t.after(async () => {
    keeper.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(async () => (await fetch(`${url}/-/ready`)).ok, { what: 'Prometheus' });

  async function query(expr: string): Promise<Sample[]> {
    const answer = await fetch(`${url}/api/v1/query`, { method: 'POST', body: new URLSearchParams({ query: expr }) });
    const { status, error, data } = (await answer.json()) as {
      status: string;
      error?: string;
      data: { result: Sample[] };
    };
    if (status !== 'success') throw new Error(`${error}: ${expr}`);
    return data.result;
  }
  return {
    query,
    async value(expr) {
      const [first] = await query(expr);
      return first && Number(first.value[1]);
    },
  };
}
