/**
 * Routes for the password sources of an organization. A change may change everything but the kind; what its body leaves
 * out gets its default, except for secrets, which stay.
 *
 * Guarantee: a secret appears only in the response of the call that created it, and a password in none. A stored secret
 * never goes to another address than the one it was given for. A change and its event are one transaction.
 */
import { type Request, type Response, Router } from 'express';
import {
  type ChangedSource,
  changedSource,
  type NewSource,
  newSource,
  SECRET_SETTINGS,
  testBody,
} from '../../contract/password-sources.ts';
import {
  callerOf,
  type OperationId,
  requirePermission,
  requireReach,
  selectedOrg,
} from '../../contract/permissions.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { newWebhookSecret } from '../../messages/webhooks/signature.ts';
import { type AppendedEvent, details } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { targetProblem } from '../../platform/http/outgoing.ts';
import { badFields, parseBody, pathId, readJson } from '../../platform/http/request-body.ts';
import { camelCase } from '../../platform/text/names.ts';
import {
  addSource,
  endSource,
  findSource,
  IS_ACTIVE,
  listSources,
  migratedPerDay,
  type PasswordVerifier,
  remaining,
  removeSource,
  requireMayDecide,
  sealSecrets,
  secretSettings,
  sourceEvent,
  splitSettings,
} from './store.ts';
import { type AskDeps, askSource } from './verify.ts';

const PATH = '/management/v1/password_sources';
const ONE = `${PATH}/:sourceId`;

/** Routes of password sources. */
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
    await requireMayDecide(db, callerOf(res), source);
    return changeSource(db, secrets, source, changeOf(secrets, source, body), callerOf(res).userId);
  });
  const { sequence, createdAt: changedAt } = event;
  res.json({
    ...(secret === undefined ? {} : { secret }),
    details: details({ sequence, changedAt, resourceOwner: found.orgId }),
  });
}

/** Refuses an address that is wrong before its name is resolved. @throws ApiError 400 PASSWORD-SOURCE-INVALID */
function requireTarget({ settings }: Pick<NewSource, 'settings'>, allowPrivate: boolean): void {
  const violations = Object.entries(settings).flatMap(([field, value]) => {
    if (!['url', 'tokenUrl', 'endpoint'].includes(field) || typeof value !== 'string') return [];
    const { protocol, host } = new URL(value);
    const target = /^ldaps?:$/.test(protocol) ? `https://${host}` : value;
    const description = targetProblem(target, allowPrivate);
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

type Change = (db: Db, source: PasswordVerifier, editor: string) => Promise<{ sequence: string; createdAt: Date }>;

async function change(
  { pool }: AskDeps,
  operation: OperationId,
  req: Request,
  res: Response,
  act: Change,
): Promise<void> {
  const answer = await transaction(pool, async (db) => {
    const source = await reachable(db, operation, req, res, 'for update');
    await requireMayDecide(db, callerOf(res), source);
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
): Promise<PasswordVerifier> {
  const found = await findSource(db, pathId(req, 'sourceId'), lock);
  return requireReach(callerOf(res), operation, found, sourceNotFound);
}

function sourceNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'PASSWORD-SOURCE-NOT-FOUND', 'The password source does not exist.');
}

function stateOf({ endedAt, until }: PasswordVerifier): string {
  const hasEnded = endedAt !== null || (until !== null && until.getTime() <= Date.now());
  return hasEnded ? 'PASSWORD_SOURCE_STATE_ENDED' : 'PASSWORD_SOURCE_STATE_ACTIVE';
}

function sourceView(source: PasswordVerifier): Record<string, unknown> {
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

/** Settings that say where the source is asked. */
const ADDRESSES = ['url', 'tokenUrl', 'endpoint', 'region'];

/**
 * The body with the secrets that stay.
 * @throws ApiError 400 PASSWORD-SOURCE-INVALID
 */
export function changeOf(secrets: Secrets, source: PasswordVerifier, body: unknown): ChangedSource {
  const given = settingsOf(body);
  const stored = secretSettings(secrets, source);
  const isElsewhere = ADDRESSES.some((name) => source.settings[name] !== given[name]);
  const kept = SECRET_SETTINGS.filter((name) => stored[name] !== undefined && !given[name] && needs(name, given));
  // An address that is not valid is named by the schema.
  const whole = { ...(body as object), settings: { ...given, ...Object.fromEntries(kept.map((n) => [n, stored[n]])) } };
  const change = parseBody(changedSource, whole, 'PASSWORD-SOURCE-INVALID');
  const violations = [
    ...(change.kind === source.kind ? [] : [{ field: 'kind', description: `must stay ${source.kind}` }]),
    ...(isElsewhere ? kept : []).map((name) => ({
      field: `settings.${name}`,
      description: 'is required, as the address changes',
    })),
  ];
  if (violations.length > 0) throw badFields('PASSWORD-SOURCE-INVALID', violations);
  return change;
}

/** A directory that is no longer searched needs no password for it. */
function needs(name: string, given: Record<string, unknown>): boolean {
  return name !== 'bindPassword' || Boolean(given.bindDn);
}

/** The settings of the body by their names in camelCase, as `parseBody` reads them. */
function settingsOf(body: unknown): Record<string, unknown> {
  const settings = (body as { settings?: unknown } | null)?.settings;
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) return {};
  const other = Object.entries(settings).filter(([name]) => camelCase(name) !== name);
  return { ...Object.fromEntries(other.map(([name, value]) => [camelCase(name), value])), ...settings };
}

/**
 * Stores a change. The source's row is locked.
 * @returns `secret`: the new one that signs the requests of the kind `http`, if one was asked for
 * @throws ApiError 400 PASSWORD-SOURCE-ENDED
 */
export async function changeSource(
  db: Db,
  secrets: Secrets,
  source: PasswordVerifier,
  change: ChangedSource,
  editor: string,
): Promise<{ secret: string | undefined; event: AppendedEvent }> {
  const { rowCount } = await db.query(`select from password_sources s where s.id = $1 and ${IS_ACTIVE}`, [source.id]);
  if (!rowCount) throw hasEnded();
  const { open, sealed } = splitSettings(change);
  const stored = secretSettings(secrets, source);
  const secret = change.kind === 'http' && change.newSecret ? newWebhookSecret() : undefined;
  const hidden = change.kind === 'http' ? { secret: secret ?? stored.secret } : sealed;
  const { name, userName, timeoutMs, checksPerSecond, until = null } = change;
  const before = { ...source, settings: undefined, ...source.settings, ...stored };
  const after = { name, userName, timeoutMs, checksPerSecond, until, ...open, ...hidden };
  const changed = differing(before, after, source.settings);
  const event = await sourceEvent(db, { ...source, name }, 'changed', editor, changed);
  await db.query(
    `update password_sources set name = $2, settings = $3, secret_sealed = $4, user_name_template = $5, timeout_ms = $6,
       checks_per_second = $7, until = $8, sequence = $9, changed_at = $10, set_by = $11 where id = $1`,
    [
      source.id,
      name,
      JSON.stringify(open),
      sealSecrets(secrets, source.id, hidden),
      userName,
      timeoutMs,
      checksPerSecond,
      until,
      event.sequence,
      event.createdAt,
      editor,
    ],
  );
  return { secret, event };
}

/** Names of what differs, also of settings that are gone; never a value. */
function differing(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  settings: Record<string, unknown>,
): string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(settings)]);
  return [...names]
    .filter((name) => JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name] ?? null))
    .sort();
}

function hasEnded(): ApiError {
  const message = 'The password source has ended. Add another one, and import the remaining users with it.';
  return new ApiError('FAILED_PRECONDITION', 'PASSWORD-SOURCE-ENDED', message);
}
