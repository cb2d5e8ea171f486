/** Rows of providers, for tests that need to know only whose each link is. */
import { randomBytes } from 'node:crypto';
import type { Db } from '../../src/platform/db/pool.ts';

export interface ProviderRow {
  id?: string;
  /** Absent: of the instance. */
  orgId?: string;
  type?: string;
  name?: string;
  aliases?: readonly string[];
  isEnabled?: boolean;
  /** The user who set it up. */
  setBy?: string | null;
}

/** Adds a provider, and returns its id. */
export async function addProvider(db: Db, given: ProviderRow = {}): Promise<string> {
  const { id = `idp-${randomBytes(6).toString('hex')}`, orgId, type = 'oidc', name = 'Example' } = given;
  const { aliases = [], isEnabled = true, setBy = null } = given;
  await db.query(
    `insert into idps (id, org_id, type, name, settings, set_by, sequence) values ($1, $2, $3, $4, $5, $6, 1)`,
    [id, orgId ?? null, type, name, JSON.stringify({ aliases, isEnabled }), setBy],
  );
  return id;
}

/** Removes providers of the instance, which other tests of the file would see. */
export async function removeProviders(db: Db): Promise<void> {
  await db.query('delete from idps');
}

/** Gives a user a link, as an import does. */
export async function addLinkRow(db: Db, userId: string, idpId: string, subject: string): Promise<void> {
  await db.query('insert into user_idp_links values ($1, $2, $3, $3)', [userId, idpId, subject]);
}
