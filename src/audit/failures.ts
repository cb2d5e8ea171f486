/**
 * Records failures that anybody can cause, such as wrong passwords, in a bounded number of rows.
 *
 * Guarantee: equal failures (type, user or name, client, address, reason) within a minute share one row, which counts
 * them. In a minute a process writes at most `DETAILED` rows; further failures are counted by address only, in at most
 * `ADDRESSES` rows, and all others in one. So a flood costs at most 81 rows a minute for each process, and no failure
 * is left out of the counts.
 * On crash: nothing is lost but the failure in progress. Each process counts its rows for itself.
 */
import { createHash } from 'node:crypto';
import { type AuditEvent, recordAudit } from '../db/audit.ts';
import type { Db } from '../db/pool.ts';
import { requestContext } from '../request-context.ts';
import type { AuditType } from './types.ts';

export const DETAILED = 60;
export const ADDRESSES = 20;
const MINUTE_MS = 60_000;

export interface Failure extends Pick<AuditEvent, 'userId' | 'orgId' | 'clientId'> {
  type: AuditType;
  payload: { reason: string } & Record<string, unknown>;
}

/** The rows of the minute in progress, by their keys. */
interface Minute {
  minute: number;
  detailed: Set<string>;
  addresses: Set<string>;
}

/** By database: a process may serve several, as in tests. */
const minutes = new WeakMap<Db, Minute>();

/** @param now milliseconds since 1970 */
export async function recordFailure(db: Db, failure: Failure, now: number = Date.now()): Promise<void> {
  await recordAudit(db, bounded(failure, minuteOf(db, Math.floor(now / MINUTE_MS))));
}

function minuteOf(db: Db, minute: number): Minute {
  const known = minutes.get(db);
  if (known?.minute === minute) return known;
  const next = { minute, detailed: new Set<string>(), addresses: new Set<string>() };
  minutes.set(db, next);
  return next;
}

function bounded(failure: Failure, current: Minute): AuditEvent {
  const { minute } = current;
  const { clientId, address, userId: actor } = { ...requestContext() };
  const { type } = failure;
  const detailed = key(minute, [address, actor, { clientId, ...failure }]);
  if (fits(current.detailed, detailed, DETAILED)) return { ...failure, actor, repeatKey: detailed };
  const many = { type, clientId: undefined, payload: { reason: 'many' } };
  const byAddress = key(minute, [address, type]);
  if (address !== undefined && fits(current.addresses, byAddress, ADDRESSES)) {
    return { ...many, repeatKey: byAddress, origin: { address } };
  }
  return { ...many, repeatKey: key(minute, [type]), origin: {} };
}

function fits(rows: Set<string>, key: Buffer, most: number): boolean {
  const text = key.toString('base64');
  if (!rows.has(text) && rows.size >= most) return false;
  rows.add(text);
  return true;
}

function key(minute: number, parts: unknown[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([minute, ...parts]))
    .digest()
    .subarray(0, 16);
}
