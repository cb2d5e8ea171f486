import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OWN = fileURLToPath(new URL('../../../src/platform/db/migrations/', import.meta.url));

/** @returns a folder with the first migration alone, for `migrate` */
export function firstMigration(t: TestContext): Promise<URL> {
  return migrationsBefore(t, 151);
}

/** @returns a folder with the program's migrations before a number, for `migrate` */
export async function migrationsBefore(t: TestContext, number: number): Promise<URL> {
  const folder = await withMigrations(t, {});
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'));
  const later = files.filter((file) => Number.parseInt(file, 10) >= number);
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
