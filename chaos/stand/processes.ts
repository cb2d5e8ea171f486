/**
 * Muster's processes in their setups: two APIs and three workers apart, or those of `npm start`. One setup runs at a
 * time; each process has its own lines to the servers.
 *
 * Guarantee: closing the scope ends all of them.
 */
import type { Scope } from '../../bench/scope.ts';
import { throughPort } from '../../bench/testbed/proxy.ts';
import { startChild } from '../../test/support/processes/child.ts';
import type { Setup } from '../plan/plan.ts';
import { type Line, openLine } from './line.ts';
import { childrenOf, openParent } from './npm-start.ts';
import { openSlot, type Slot } from './slot.ts';

/** The servers' ports now, and the address of the database past all lines. */
export interface Servers {
  databaseUrl: string;
  postgres: () => number;
  redis?: () => number;
  smtp: () => number;
}

export interface Processes {
  /** Those of the current setup. */
  readonly apis: Slot[];
  readonly workers: Slot[];
  /** Stops the processes of another setup, and starts those of this one. */
  use(setup: Setup): Promise<void>;
}

const APIS = 2;
const WORKERS = 3;

type OpenSlot = (lines: Slot['lines'], env: Record<string, string>) => Slot | Promise<Slot>;

/** Starts nothing yet. */
export async function openProcesses(
  scope: Scope,
  servers: Servers,
  settings: Record<string, string>,
): Promise<Processes> {
  const slot = async (wants: Wants, open: OpenSlot, end = kill) => {
    const lines: Slot['lines'] = await openLines(scope, servers, wants, () => opened.port);
    const opened: Slot = await open(lines, { ...settings, ...environment(servers.databaseUrl, lines) });
    return scope.start(async () => opened, end);
  };
  const apart = (name: string, file: string): OpenSlot => {
    return (lines, env) => openSlot(name, lines, (more) => startChild(file, { ...env, ...more }));
  };
  const apis: Slot[] = [];
  const workers: Slot[] = [];
  for (let n = 0; n < APIS; n++) apis.push(await slot({ front: true }, apart(`api-${n}`, 'src/start/api.ts')));
  for (let n = 0; n < WORKERS; n++)
    workers.push(await slot({ smtp: true }, apart(`worker-${n}`, 'workers/all-in-one.ts')));
  const parent = await slot({ front: true, smtp: true }, openParent, stop);

  const started: Record<Setup, Slot[]> = { apart: [...apis, ...workers], 'npm-start': [parent] };
  const shown = { apart: { apis, workers }, 'npm-start': { apis: [parent], workers: childrenOf(parent) } };
  let current: Setup = 'apart';
  return {
    get apis() {
      return shown[current].apis;
    },
    get workers() {
      return shown[current].workers;
    },
    async use(setup) {
      if (setup !== current) await Promise.all(started[current].map(stop));
      current = setup;
      await Promise.all(started[setup].map((one) => one.start()));
    },
  };
}

interface Wants {
  /** A line in front of it, for callers. */
  front?: true;
  smtp?: true;
}

async function openLines(scope: Scope, servers: Servers, wants: Wants, own: () => number): Promise<Slot['lines']> {
  const line = (target: () => number) =>
    scope.start(
      () => openLine(target),
      (opened) => opened.stop(),
    );
  return {
    postgres: await line(servers.postgres),
    ...(servers.redis ? { redis: await line(servers.redis) } : {}),
    ...(wants.smtp ? { smtp: await line(servers.smtp) } : {}),
    ...(wants.front ? { front: await line(own) } : {}),
  };
}

/** The addresses of the servers through the lines of a process. */
function environment(databaseUrl: string, lines: { postgres: Line; redis?: Line; smtp?: Line }) {
  return {
    DATABASE_URL: throughPort(databaseUrl, lines.postgres.port),
    ...(lines.redis ? { REDIS_URL: `redis://127.0.0.1:${lines.redis.port}` } : {}),
    ...(lines.smtp ? { SMTP_URL: `smtp://127.0.0.1:${lines.smtp.port}` } : {}),
  };
}

async function stop(slot: Slot): Promise<void> {
  slot.signal('SIGTERM');
  await slot.ended();
}

async function kill(slot: Slot): Promise<void> {
  slot.signal('SIGKILL');
  await slot.ended();
}
