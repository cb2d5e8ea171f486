/**
 * Routes for the password sources of an organization.
 * Guarantee: a secret appears only in the response of the call that created it, and a password in none.
 */
import { type Request, type Response, Router } from 'express';
import { callerOf, requirePermission, requireReach, selectedOrg } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { OperationId } from '../access/permissions.ts';
import { details } from '../db/events.ts';
import { type Db, transaction } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { readJson } from '../http/json-body.ts';
import { searchResult } from '../http/paging.ts';
import { badFields, parseBody } from '../http/parse-body.ts';
import { requireOrg } from '../orgs/store.ts';
import { targetProblem } from '../webhooks/target.ts';
import { type AskDeps, askSource } from './ask.ts';
import { changeOf, changeSource } from './change.ts';
import { type NewSource, newSource, testBody } from './schema.ts';
import {
  addSource,
  endSource,
  findSource,
  listSources,
  migratedPerDay,
  remaining,
  removeSource,
  type Source,
} from './store.ts';

const PATH = '/management/v1/password_sources';
const ONE = `${PATH}/:sourceId`;

export function passwordSourceRoutes(deps: AskDeps): Router {
  const router = Router();
  router.post(PATH, (req, res) => add(deps, req, res));
  router.get(PATH, async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'listPasswordSources', orgId);
    await requireOrg(deps.pool, orgId);
    const sources = await listSources(deps.pool, orgId);
    res.json(searchResult(sources.length, sources.map(sourceView)));
  });
  router.get(ONE, async (req, res) => {
    res.json({ passwordSource: sourceView(await reachable(deps.pool, 'getPasswordSource', req, res)) });
  });
  router.put(ONE, (req, res) => replace(deps, req, res));
  router.get(`${ONE}/status`, (req, res) => status(deps, req, res));
  router.post(`${ONE}/_test`, (req, res) => test(deps, req, res));
  router.post(`${ONE}/_end`, (req, res) => change(deps, 'endPasswordSource', req, res, endSource));
  router.delete(ONE, (req, res) => change(deps, 'removePasswordSource', req, res, removeSource));
  return router;
}

async function add({ pool, secrets, config }: AskDeps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, 'addPasswordSource', orgId);
  const source = parseBody(newSource, await readJson(req, res), 'PASSWORD-SOURCE-INVALID');
  requireTarget(source, config.PASSWORD_SOURCE_ALLOW_PRIVATE);
  const { id, secret, event } = await transaction(pool, async (db) => {
    await requireOrg(db, orgId);
    return addSource(db, secrets, orgId, source, caller.userId);
  });
  const { sequence, createdAt } = event;
  res.json({
    sourceId: id,
    ...(secret === undefined ? {} : { secret }),
    details: details({ sequence, createdAt, changedAt: createdAt, resourceOwner: orgId }),
  });
}

async function replace({ pool, secrets, config }: AskDeps, req: Request, res: Response): Promise<void> {
  const found = await reachable(pool, 'changePasswordSource', req, res);
  const body = await readJson(req, res);
  // The body is judged without a lock, as it may come slowly.
  requireTarget(changeOf(secrets, found, body), config.PASSWORD_SOURCE_ALLOW_PRIVATE);
  const { secret, event } = await transaction(pool, async (db) => {
    const source = await reachable(db, 'changePasswordSource', req, res, 'for update');
    return changeSource(db, secrets, source, changeOf(secrets, source, body), callerOf(res).userId);
  });
  const { sequence, createdAt: changedAt } = event;
  res.json({
    ...(secret === undefined ? {} : { secret }),
    details: details({ sequence, changedAt, resourceOwner: found.orgId }),
  });
}

/** What can be said about an address before its name is resolved. @throws ApiError 400 PASSWORD-SOURCE-INVALID */
function requireTarget({ settings }: Pick<NewSource, 'settings'>, allowPrivate: boolean): void {
  const violations = Object.entries(settings).flatMap(([field, value]) => {
    if (!['url', 'tokenUrl', 'endpoint'].includes(field) || typeof value !== 'string') return [];
    const description = targetProblem(value.replace(/^ldaps?:/, 'https:'), allowPrivate);
    return description === undefined ? [] : [{ field: `settings.${field}`, description }];
  });
  if (violations.length > 0) throw badFields('PASSWORD-SOURCE-INVALID', violations);
}

async function status({ pool }: AskDeps, req: Request, res: Response): Promise<void> {
  const source = await reachable(pool, 'getPasswordSourceStatus', req, res);
  const [waiting, perDay] = await Promise.all([remaining(pool, source.id), migratedPerDay(pool, source.id)]);
  const migrated = perDay.reduce((sum, day) => sum + day.migrated, 0);
  res.json({ sourceId: source.id, state: stateOf(source), users: { remaining: waiting, migrated }, perDay });
}

/** What the source says about a name and a password that the owner of the source knows. */
async function test(deps: AskDeps, req: Request, res: Response): Promise<void> {
  const source = await reachable(deps.pool, 'testPasswordSource', req, res);
  const { userName, password } = parseBody(testBody, await readJson(req, res), 'PASSWORD-SOURCE-TEST');
  const since = performance.now();
  const answer = await askSource(deps, source, { name: userName, password });
  res.json({
    result: answer.result.toUpperCase(),
    ...('reason' in answer ? { reason: answer.reason } : {}),
    ...('mustChange' in answer ? { passwordChangeRequired: true } : {}),
    milliseconds: Math.round(performance.now() - since),
  });
}

type Change = (db: Db, source: Source, editor: string) => Promise<{ sequence: string; createdAt: Date }>;

async function change(
  { pool }: AskDeps,
  operation: OperationId,
  req: Request,
  res: Response,
  act: Change,
): Promise<void> {
  const answer = await transaction(pool, async (db) => {
    const source = await reachable(db, operation, req, res, 'for update');
    const { sequence, createdAt } = await act(db, source, callerOf(res).userId);
    return details({ sequence, changedAt: createdAt, resourceOwner: source.orgId });
  });
  res.json({ details: answer });
}

async function reachable(
  db: Db,
  operation: OperationId,
  req: Request,
  res: Response,
  lock?: 'for update',
): Promise<Source> {
  const found = await findSource(db, pathId(req, 'sourceId'), lock);
  return requireReach(callerOf(res), operation, found, sourceNotFound);
}

function sourceNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'PASSWORD-SOURCE-NOT-FOUND', 'The password source does not exist.');
}

function stateOf({ endedAt, until }: Source): string {
  const hasEnded = endedAt !== null || (until !== null && until.getTime() <= Date.now());
  return hasEnded ? 'PASSWORD_SOURCE_STATE_ENDED' : 'PASSWORD_SOURCE_STATE_ACTIVE';
}

function sourceView(source: Source): Record<string, unknown> {
  const { id, name, kind, settings, userName, timeoutMs, checksPerSecond, until, endedAt } = source;
  return {
    sourceId: id,
    name,
    kind,
    state: stateOf(source),
    settings,
    userName,
    timeoutMs,
    checksPerSecond,
    until: until?.toISOString() ?? null,
    endDate: endedAt?.toISOString() ?? null,
    details: details({ ...source, resourceOwner: source.orgId }),
  };
}
