/**
 * Shared by the tests of skip, update and dry run: the options of such an import, and a way to create existing users.
 */
import type { ExistingRule, ImportOptions } from '../../../src/imports/entries/options.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { acceptImport } from './imports.ts';

export const SETTINGS = { codeTtlMs: 3_600_000 };

export function special(onExisting: ExistingRule, dryRun = false): ImportOptions {
  return {
    dryRun,
    onExisting,
    holdMails: false,
    enterpriseMailCodes: true,
    withoutEmail: false,
    passwordSource: undefined,
    webhook: undefined,
  };
}

/** Imports users with default options; returns the import's id. */
export async function importFirst(pool: Pool, writer: Pool, people: unknown[]): Promise<string> {
  const importId = await acceptImport(pool, people);
  await writeBatch(writer, importId, [...people.keys()], SETTINGS);
  return importId;
}
