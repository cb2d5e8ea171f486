/**
 * The role `convert`: converts the files of drafts to entries, and checks drafts. See src/imports/drafts/. Any
 * number of processes may run it; each works on two drafts at a time, so that a large one does not hold up a small one.
 * A third place is only for organizations that no worker works for: large drafts of one organization do not hold up
 * drafts of another.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import process from 'node:process';
import type { Logger } from 'pino';
import { convertRound } from '../src/imports/drafts/convert-round.ts';
import type { ImportDeps } from '../src/imports/entries/options.ts';
import type { Hasher } from '../src/passwords/hasher.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { openWorkPoller, startLoop, type WorkPoller } from './loop.ts';

const AT_ONCE = 3;
/** The place that is reserved. */
const RESERVED = 2;

export type ConverterDeps = Omit<ImportDeps, 'queues'> & {
  hasher: Hasher;
  logger: Logger;
  condition?: Condition;
  poller?: WorkPoller;
};

export function startConverter(deps: ConverterDeps): { stop(): Promise<unknown> } {
  const { logger, condition, poller = openWorkPoller(deps.pool) } = deps;
  const stopping = new AbortController();
  const loops = Array.from({ length: AT_ONCE }, (_, n) => {
    const holder = `${hostname()}:${process.pid}:${randomUUID()}`;
    const round = async () =>
      (await convertRound(deps, holder, stopping.signal, n === RESERVED)) ? 0 : poller.until('convert');
    return startLoop(`converter ${n + 1}`, logger, round, { condition });
  });
  return {
    stop() {
      stopping.abort();
      return Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
