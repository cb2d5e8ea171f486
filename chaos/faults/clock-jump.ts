/**
 * A process whose clock is two hours off, until it is replaced by one with the right time. PostgreSQL keeps the time.
 *
 * It needs Debian's libfaketime; without it, the fault is skipped by name.
 */
import { globSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stand } from '../stand/stand.ts';
import { during, type Fault, oneOf, replace } from './fault.ts';

const LIBRARY = '/usr/lib/*/faketime/libfaketimeMT.so.1';
const OFFSETS = ['+2h', '-2h'];

const processesOf = ({ workers, apis }: Stand) => [...workers, ...apis];

export const clockJump: Fault = {
  least: 1000,
  most: 6000,
  places: (stand, slot) => [oneOf(processesOf(stand), slot).name],
  async strike(stand, slot, forMs) {
    const [library] = globSync(LIBRARY);
    if (!library) return void console.error(`clock-jump is skipped: ${LIBRARY} is not on this machine.`);
    const struck = oneOf(processesOf(stand), slot);
    const FAKETIME = oneOf(OFFSETS, slot);
    struck.signal('SIGKILL');
    await during(stand, struck.name, 0, async () => {
      await struck.ended();
      await struck.start({ LD_PRELOAD: library, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC: '1' });
    });
    await sleep(forMs);
    await replace(stand, struck, 'SIGKILL', 0);
  },
};
