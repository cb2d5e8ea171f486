/**
 * The disk of PostgreSQL and Redis has no byte left, for up to 4 seconds. PostgreSQL fails what needs a new page, and
 * ends when it needs a new segment of its log; Redis refuses what it cannot write to its append-only file.
 *
 * The stores' files are on a disk of their own only where chaos may mount it; elsewhere the fault is skipped by name.
 */
import { during, type Fault } from './fault.ts';
import { untilBack } from './postgres.ts';

export const fullDisk: Fault = {
  least: 500,
  most: 4000,
  places: () => ['postgres', 'redis'],
  async strike(stand, _slot, forMs) {
    const { disk } = stand;
    if (!disk) return void console.error('full-disk is skipped: this process may not mount a filesystem.');
    await disk.fill();
    await during(stand, 'postgres', forMs, async () => {
      await disk.free();
      await untilBack(stand);
    });
  },
};
