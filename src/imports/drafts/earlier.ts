/**
 * Recognizes a file that was imported before, by the SHA-256 of its bytes. A worker takes it when it converts the files;
 * it stays with the import when the files are erased.
 *
 * Guarantee: a caller learns of an earlier import only if they may see it, and never of the file of somebody else.
 */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { earlierImports } from '../../contract/draft-results.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { ImportFileHashes, Imports } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { shownState } from '../entries/states.ts';
import type { Draft } from './draft.ts';
import { openFile, readFile } from './files.ts';
import type { UploadedFile } from './guess.ts';

/** The newest so many are told. */
const MOST = 10;

/** The files, of which the first reading to the end takes the hash. */
export function takingHashes(files: readonly UploadedFile[]): { files: UploadedFile[]; taken: Map<string, Buffer> } {
  const taken = new Map<string, Buffer>();
  async function* read({ fileId, bytes }: UploadedFile): AsyncGenerator<Buffer> {
    if (taken.has(fileId)) return yield* bytes.read();
    const hash = createHash('sha256');
    for await (const part of bytes.read()) {
      hash.update(part);
      yield part;
    }
    taken.set(fileId, hash.digest());
  }
  return { files: files.map((file) => ({ ...file, bytes: { ...file.bytes, read: () => read(file) } })), taken };
}

/**
 * Keeps the hash of each file of users that has none yet, and forgets the hashes of files that were removed. Reads files
 * whose hash was not taken, as something was known before their end.
 * @param check throws when the work is over for this worker
 */
export async function keepHashes(
  { pool, secrets }: { pool: Pool; secrets: Secrets },
  { importId, files }: Pick<Draft, 'importId' | 'files'>,
  taken: ReadonlyMap<string, Buffer>,
  check: () => void,
): Promise<void> {
  const ids = files.filter(({ kind }) => kind === 'users').map(({ fileId }) => fileId);
  await pool.query('delete from import_file_hashes where import_id = $1 and file_id <> all ($2)', [importId, ids]);
  const { rows } = await pool.query<Pick<ImportFileHashes, 'file_id'>>(
    'select file_id from import_file_hashes where import_id = $1',
    [importId],
  );
  const kept = new Set(rows.map(({ file_id }) => file_id));
  for (const fileId of ids.filter((id) => !kept.has(id))) {
    const digest =
      taken.get(fileId) ?? (await hashOf(readFile(pool, await openFile({ pool, secrets }, importId, fileId)), check));
    await pool.query(
      'insert into import_file_hashes (import_id, file_id, sha256) values ($1, $2, $3) on conflict do nothing',
      [importId, fileId, digest],
    );
  }
}

async function hashOf(bytes: AsyncIterable<Buffer>, check: () => void): Promise<Buffer> {
  const hash = createHash('sha256');
  for await (const part of bytes) {
    check();
    hash.update(part);
  }
  return hash.digest();
}

type Earlier = Pick<ImportFileHashes, 'file_id' | 'import_id'> &
  Pick<Imports, 'state' | 'accepted_at' | 'succeeded'> & { orgs: string[] };

/**
 * The imports with a file of this draft, newest first; those whose users were removed again do not count.
 * @param within organizations whose imports the caller may see; undefined: all
 */
export async function findEarlier(
  db: Db,
  { importId, files }: Pick<Draft, 'importId' | 'files'>,
  within: string[] | undefined,
): Promise<z.input<typeof earlierImports>['imports']> {
  const { rows } = await db.query<Earlier>(
    `select h.file_id, e.import_id, i.state, i.accepted_at, i.succeeded,
       array(select distinct o.org_id from import_orgs o where o.import_id = i.id order by o.org_id) as orgs
     from import_file_hashes h
       join import_file_hashes e on e.sha256 = h.sha256 and e.import_id <> h.import_id
       join imports i on i.id = e.import_id
     where h.import_id = $1 and i.kind = 'bulk' and not i.dry_run and i.removed_to is null
       and i.state not in ('receiving', 'undoing', 'undone') and i.accepted_at is not null
       and ($2::text[] is null or not exists (
         select from import_orgs o where o.import_id = i.id and o.org_id <> all ($2)))
     order by e.import_id desc, h.file_id limit ${MOST}`,
    [importId, within ?? null],
  );
  const names = new Map(files.map(({ fileId, name }) => [fileId, name]));
  return rows.map(({ file_id, import_id, state, accepted_at, succeeded, orgs }) => ({
    importId: import_id,
    fileName: names.get(file_id) ?? '',
    state: shownState(state),
    startDate: (accepted_at as Date).toISOString(),
    users: succeeded,
    orgIds: orgs,
  }));
}
