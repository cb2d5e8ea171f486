/**
 * Writes the entries of a conversion as items of the draft, as the intake of a body does: the same validation, the same
 * COPY, the same detection of duplicates. The entries stay invisible to the workers that import.
 *
 * Fields that an entry omits are always noted: whether existing users are to be updated is not known yet.
 */
import type { Entry } from '../../../sources/entry.ts';
import { slowMs } from '../../../users/slow-hashes.ts';
import type { ImportDeps } from '../../deps.ts';
import { bodySources, type UsedSources } from '../../intake/body-sources.ts';
import { openCopyWriter } from '../../intake/copy.ts';
import { CopyRows } from '../../intake/copy-rows.ts';
import { createDuplicateFilter, ID, NAME } from '../../intake/duplicates.ts';
import { takePepper } from '../../intake/pepper.ts';
import { copyLine } from '../../items.ts';
import { noteOmitted } from '../../validate/omitted-fields.ts';
import { type EntryRules, toItem } from '../../validate/validate.ts';
import { createWarningCounter } from '../../validate/warnings.ts';
import type { DraftOrg } from '../draft.ts';

export interface Written {
  total: number;
  failed: number;
  orgs: DraftOrg[];
  warnings: unknown[];
  hasDuplicates: boolean;
  slowestMs: number;
  /** The password sources of the users. */
  sources: UsedSources;
}

export interface EntryWriter {
  readonly users: number;
  add(entry: Entry): void;
  /** Sends what was added. */
  write(): Promise<void>;
  /** When this returns, everything is committed. */
  end(): Promise<Written>;
}

/** @param requireJob throws when the job is no longer this worker's; called before each COPY */
export function openEntries(
  deps: Pick<ImportDeps, 'pool' | 'secrets' | 'config'>,
  importId: string,
  { passwordSource, hasPepper, ...rules }: EntryRules & { passwordSource?: string | undefined; hasPepper: boolean },
  requireJob: () => Promise<void>,
): EntryWriter {
  const copy = openCopyWriter(deps.pool, requireJob, deps.config.DATABASE_TIMEOUT_MS);
  const rows = new CopyRows();
  const warnings = createWarningCounter();
  const filter = createDuplicateFilter();
  const sources = bodySources(passwordSource);
  const orgs = new Map<string, DraftOrg & { index: number }>();
  let users = 0;
  let failed = 0;
  let hasDuplicates = false;
  let slowestMs = 0;

  function orgOf(orgId: string): DraftOrg & { index: number } {
    const known = orgs.get(orgId) ?? { orgId, total: 0, failed: 0, index: orgs.size };
    orgs.set(orgId, known);
    return known;
  }

  function isDuplicate(userId: string, userNameKey: string): boolean {
    const id = filter.add(userId, ID);
    const name = filter.add(userNameKey, NAME);
    return id || name;
  }

  return {
    get users() {
      return users;
    },
    add({ orgId, ...entry }) {
      const org = orgOf(orgId);
      const item = toItem(entry, deps.secrets, warnings, rules);
      sources.take(org.index, item);
      org.total++;
      let duplicate = false;
      if (item.state === 'pending') {
        noteOmitted(entry, item);
        duplicate = isDuplicate(item.userId, item.userNameKey);
        if (item.passwordHash !== null) slowestMs = Math.max(slowestMs, slowMs(item.passwordHash));
      } else {
        org.failed++;
        failed++;
      }
      if (hasPepper) takePepper(item, importId);
      hasDuplicates ||= duplicate;
      rows.add(copyLine(importId, users++, org.index, duplicate, item));
    },
    async write() {
      if (rows.length > 0) rows.clear(await copy.write(rows.lines));
    },
    async end() {
      await this.write();
      await copy.flush();
      return {
        ...{ total: users, failed, hasDuplicates, slowestMs },
        ...{ warnings: warnings.list(), sources: sources.used() },
        orgs: [...orgs.values()].map(({ index: _, ...org }) => org),
      };
    },
  };
}
