/** `npm run schema`: writes schema.sql from a temporary database. */
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeSchema } from './describe-schema.ts';
import { startEmbeddedPostgres } from './embedded/embedded.ts';
import { migrate } from './migrate.ts';
import { openPool } from './pool.ts';

const dataDir = join(tmpdir(), `muster-schema-${process.pid}`);
const server = await startEmbeddedPostgres({ dataDir });
const pool = openPool(server.url);
try {
  await migrate(pool);
  await writeFile(new URL('./schema.sql', import.meta.url), await describeSchema(pool));
} finally {
  await pool.end();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
