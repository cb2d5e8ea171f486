/**
 * The organizations of a body: checks that each exists and that the caller may import into it, and counts its users.
 * Holds one entry for each organization of the body; writes nothing.
 */

import { type Caller, may, permissionDenied } from '../../access/caller.ts';
import type { Db } from '../../db/pool.ts';
import { ApiError, invalidArgument } from '../../errors.ts';
import { idProblem } from '../../fields/fields.ts';
import type { Step } from '../parse/step.ts';
import type { OrgTally } from './accept.ts';

export interface BodyOrgs {
  /** By the organization's number in the body. */
  tallies: OrgTally[];
  /** @throws ApiError 400 unless it is an id; 403 unless the caller may import into it; 404 when it does not exist */
  take(step: Extract<Step, { type: 'orgId' }>): Promise<void>;
  /** The counts of an organization; its id may come later in the body. */
  tally(org: number): OrgTally;
}

export function bodyOrgs(db: Db, caller: Caller): BodyOrgs {
  const tallies: OrgTally[] = [];
  const allowed = new Set<string>();

  function tally(org: number): OrgTally {
    tallies[org] ??= { orgId: '', total: 0, failed: 0 };
    return tallies[org];
  }

  async function allow(orgId: string, where: string): Promise<void> {
    if (allowed.has(orgId)) return;
    if (!may(caller, 'importUsers', orgId)) throw permissionDenied();
    const { rowCount } = await db.query('select from organizations where id = $1', [orgId]);
    if (rowCount === 0) throw new ApiError('NOT_FOUND', 'ORG-NOT-FOUND', `${where}: the organization does not exist.`);
    allowed.add(orgId);
  }

  return {
    tallies,
    tally,
    async take({ org, value, line }) {
      const field = line === undefined ? `dataOrgs.orgs[${org}].orgId` : 'orgId';
      const where = line === undefined ? field : `Line ${line}: orgId`;
      const problem = typeof value === 'string' ? idProblem(value) : 'must be a string';
      if (problem) throw badField(field, problem, where);
      await allow(value as string, where);
      tally(org).orgId = value as string;
    },
  };
}

/** An error with status 400. @param where how the message names the field; default: its path */
export function badField(field: string, description: string, where = field): ApiError {
  return invalidArgument('IMPORT-BODY', `${where} ${description}.`, [{ field, description }]);
}
