/** A stand-in for a worker: notes in the data folder when it stops, and that the database still responds then. */
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openPool } from '../../src/platform/db/pool.ts';
import { runEntry } from '../../src/platform/lifecycle.ts';

runEntry('stand-in worker', async (config) => {
  const pool = openPool(config.DATABASE_URL, { max: 1 });
  const alive = setInterval(() => {}, 60_000);
  return {
    async stop() {
      clearInterval(alive);
      const { rows } = await pool.query('select 2 as n');
      await appendFile(join(config.DATA_DIR, 'stopped'), `worker ${rows[0].n}\n`);
      await pool.end();
    },
  };
});
