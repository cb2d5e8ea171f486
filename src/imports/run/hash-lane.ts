/**
 * The slots of a process for hashing plain passwords, shared between organizations and, within an organization, between
 * its imports, in turns.
 *
 * Guarantee: no work begins after its import has stopped (cancelled, paused, past its deadline); work that waits is
 * dropped within a second. Work that has begun is not interrupted.
 */
import type { Db } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { Imports } from '../../platform/db/tables.ts';
import { type FairQueue, openFairQueue } from '../../platform/fair-queue.ts';
import { HandBack } from '../queue/worker.ts';

/** How often the imports whose work waits are asked whether they still run. */
const LOOK_MS = 500;

export interface HashLane {
  /**
   * Runs `work` when its turn has come.
   * @returns false when the import does not run: the work was dropped
   * @throws HandBack after `stop`, if the work had not begun; what `work` throws
   */
  run(importId: string, work: () => Promise<void>): Promise<boolean>;
  /** Begins no more work. */
  stop(): void;
}

/** An import with work that waits or runs. */
interface Import {
  org: Promise<string | undefined>;
  stopped: AbortController;
  works: number;
}

interface Org {
  imports: FairQueue;
  works: number;
}

/** Thrown into the waiting work of an import that does not run any more. */
class ImportStopped extends Error {}

/** @param slots how much work runs at once */
export function openHashLane(db: Db, slots: number, onError: (error: unknown) => void): HashLane {
  const imports = new Map<string, Import>();
  const orgs = new Map<string, Org>();
  const turns = openFairQueue({ limit: slots });
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  function importOf(id: string): Import {
    const known = imports.get(id);
    if (known) return known;
    const added = { org: running(db, [id]).then((found) => found.get(id)), stopped: new AbortController(), works: 0 };
    imports.set(id, added);
    lookLater();
    return added;
  }

  function lookLater(): void {
    if (!isStopped) timer ??= setTimeout(look, LOOK_MS);
  }

  function forget(id: string, one: Import): void {
    if (imports.get(id) === one) imports.delete(id);
    if (imports.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  }

  /** Drops the work of the imports that no longer run. Later work of an import that was resumed asks again. */
  async function look(): Promise<void> {
    timer = undefined;
    try {
      const asked = new Map(imports);
      const found = await running(db, [...asked.keys()]);
      for (const [id, one] of asked) {
        if (found.has(id)) continue;
        forget(id, one);
        one.stopped.abort(new ImportStopped());
      }
    } catch (error) {
      onError(error);
    }
    if (imports.size > 0) lookLater();
  }

  /** An organization's imports take turns for as many slots as there are, and the organizations for those slots. */
  async function inTurn(org: string, importId: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const own = orgs.get(org) ?? { imports: openFairQueue({ limit: slots }), works: 0 };
    orgs.set(org, own);
    own.works++;
    try {
      await own.imports.run(importId, () => turns.run(org, work, { signal }), { signal });
    } finally {
      if (--own.works === 0) orgs.delete(org);
    }
  }

  async function runOf(one: Import, importId: string, work: () => Promise<void>): Promise<boolean> {
    const org = await one.org;
    if (isStopped) throw new HandBack();
    if (org === undefined) return false;
    let isRunning = true;
    const unlessStopped = async () => {
      isRunning = (await running(db, [importId])).has(importId);
      if (isRunning) await work();
    };
    await inTurn(org, importId, unlessStopped, one.stopped.signal);
    return isRunning;
  }

  return {
    async run(importId, work) {
      const one = importOf(importId);
      one.works++;
      try {
        return await runOf(one, importId, work);
      } catch (error) {
        if (error instanceof ImportStopped) return false;
        throw error;
      } finally {
        if (--one.works === 0) forget(importId, one);
      }
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
      const reason = new HandBack();
      for (const { imports } of orgs.values()) imports.stop(reason);
      turns.stop(reason);
    },
  };
}

/** The organizations that own those of the imports that run. */
async function running(db: Db, importIds: string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<Named<Imports, { id: 'id'; org: 'resource_owner' }>>({
    name: 'running-imports',
    text: `select id, coalesce(resource_owner, '') as org from imports
      where id = any($1::bigint[]) and state = 'running' and deadline > clock_timestamp()`,
    values: [importIds],
  });
  return new Map(rows.map(({ id, org }) => [id, org]));
}
