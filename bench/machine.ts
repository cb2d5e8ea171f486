/** Describes the machine of a measurement, without which figures are meaningless. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { postgresPrograms } from '../src/platform/db/embedded/cluster.ts';
import { redisVersion } from './testbed/redis.ts';

const run = promisify(execFile);

/** Date, machine and versions in one line. */
export async function describeRun(): Promise<string> {
  const cores = availableParallelism();
  const model = cpus()[0]?.model.trim() || process.arch;
  const memory = Math.round(totalmem() / 2 ** 30);
  const redis = redisVersion();
  const versions = [
    `node ${process.versions.node}`,
    `PostgreSQL ${await postgresVersion()}`,
    redis ? `Redis ${redis}` : 'no Redis',
    `bullmq ${await bullmqVersion()}`,
  ];
  const machine = `${cores} ${cores === 1 ? 'core' : 'cores'} of ${model}, ${memory} GiB`;
  return `${new Date().toISOString().slice(0, 10)} | ${machine} | ${versions.join(', ')}`;
}

async function postgresVersion(): Promise<string> {
  const { stdout } = await run((await postgresPrograms()).postgres, ['--version']);
  return /(\d\S*)\s*$/.exec(stdout)?.[1] ?? stdout.trim();
}

async function bullmqVersion(): Promise<string> {
  const file = new URL('../node_modules/bullmq/package.json', import.meta.url);
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}
