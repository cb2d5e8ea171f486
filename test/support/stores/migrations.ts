import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OWN = fileURLToPath(new URL('../../../src/platform/db/migrations/', import.meta.url));

/** @returns a folder with the first migration alone, for `migrate` */
export async function firstMigration(t: TestContext): Promise<URL> {
  const folder = await withMigrations(t, {});
  const [, ...later] = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  for (const file of later) await rm(new URL(file, folder));
  return folder;
}

/** @returns a folder with the program's migrations and further ones, by file name, for `migrate` */
export async function withMigrations(t: TestContext, more: Record<string, string>): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-migrations-'));
  t.after(() => rm(folder, { recursive: true }));
  await cp(OWN, folder, { recursive: true });
  for (const [file, text] of Object.entries(more)) await writeFile(join(folder, file), text);
  return pathToFileURL(`${folder}/`);
}
