/** A stand-in for the API: an HTTP server that returns its identity and notes in the data folder when it stops. */
import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { openPool } from '../../src/platform/db/pool.ts';
import { runEntry } from '../../src/platform/lifecycle.ts';

runEntry('stand-in api', async (config) => {
  const pool = openPool(config.DATABASE_URL, { max: 1 });
  const { baseUrl, ENCRYPTION_KEY, HEALTH_PORT } = config;
  const server = createServer((_req, res) => {
    res.end(JSON.stringify({ pid: process.pid, baseUrl, ENCRYPTION_KEY, HEALTH_PORT }));
  });
  await new Promise<void>((resolve) => server.listen(config.PORT, config.HOST, resolve));
  return {
    async stop() {
      server.close();
      server.closeAllConnections();
      const { rows } = await pool.query('select 1 as n');
      await appendFile(join(config.DATA_DIR, 'stopped'), `api ${rows[0].n}\n`);
      await pool.end();
    },
  };
});
