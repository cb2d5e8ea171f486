/**
 * Routes for the password sources of an organization. A change may change everything but the kind; what its body leaves
 * out gets its default, except for secrets, which stay.
 *
 * Guarantee: a secret appears only in the response of the call that created it, and a password in none. A stored secret
 * never goes to another address than the one it was given for. A change and its event are one transaction.
 */

import { Router } from 'express';
import {
  type ChangedSource,
  changedSource,
  type NewSource,
  passwordSourceOperations as operations,
  SECRET_SETTINGS,
} from '../../contract/password-sources.ts';
import { type Caller, requireReach } from '../../contract/permissions.ts';
import { type Asked, type Finder, serve } from '../../contract/serve.ts';
import { changeableOrg, existingOrg } from '../../directory/finders.ts';
import { undeleted } from '../../directory/organization-states.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { newWebhookSecret } from '../../messages/webhooks/signature.ts';
import { type AppendedEvent, changedAnswer, details, newDetails } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { targetProblem } from '../../platform/http/outgoing.ts';
import { badFields, parseBody, pathId } from '../../platform/http/parse.ts';
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

/** Routes of password sources. */
export function passwordSourceRoutes(deps: AskDeps): Router {
  const { pool } = deps;
  const router = Router();
  const source = reachableSource(pool);
  serve(router, operations.addPasswordSource, changeableOrg(pool), ({ caller, target, body }) =>
    add(deps, caller, target.id, body),
  );
  serve(router, operations.listPasswordSources, existingOrg(pool), async ({ target }) => {
    const sources = await listSources(pool, target.id);
    return searchResult(sources.length, sources.map(sourceView));
  });
  serve(router, operations.getPasswordSource, source, ({ target }) => ({ passwordSource: sourceView(target) }));
  serve(router, operations.changePasswordSource, source, ({ target, body, ...asked }) =>
    replace(deps, asked, target, body),
  );
  serve(router, operations.getPasswordSourceStatus, source, ({ target }) => status(pool, target));
  serve(router, operations.testPasswordSource, source, ({ target, body }) => test(deps, target, body));
  serve(router, operations.endPasswordSource, source, (asked) => change(pool, asked, asked.target, endSource));
  serve(router, operations.removePasswordSource, source, (asked) => change(pool, asked, asked.target, removeSource));
  return router;
}

async function add({ pool, secrets, config }: AskDeps, { userId }: Caller, orgId: string, source: NewSource) {
  requireTarget(source, config.PASSWORD_SOURCE_ALLOW_PRIVATE);
  const { id, secret, event } = await transaction(pool, async (db) => {
    return addSource(db, secrets, orgId, source, userId);
  });
  return { sourceId: id, ...(secret === undefined ? {} : { secret }), details: newDetails(event, orgId) };
}

/** Who changes a source, by which operation. */
type By = Pick<Asked, 'caller' | 'operation'>;

async function replace({ pool, secrets, config }: AskDeps, by: By, found: PasswordVerifier, body: unknown) {
  // The body is judged without a lock, as it may come slowly.
  requireTarget(changeOf(secrets, found, body), config.PASSWORD_SOURCE_ALLOW_PRIVATE);
  const { secret, event } = await transaction(pool, async (db) => {
    const source = await deciding(db, by, found.id);
    return changeSource(db, secrets, source, changeOf(secrets, source, body), by.caller.userId);
  });
  return { ...(secret === undefined ? {} : { secret }), ...changedAnswer(event, found.orgId) };
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

async function status(pool: Pool, source: PasswordVerifier) {
  const [waiting, perDay] = await Promise.all([remaining(pool, source.id), migratedPerDay(pool, source.id)]);
  const migrated = perDay.reduce((sum, day) => sum + day.migrated, 0);
  return { sourceId: source.id, state: stateOf(source), users: { remaining: waiting, migrated }, perDay };
}

/** What the source says about a name and a password that the owner of the source knows. */
async function test(deps: AskDeps, source: PasswordVerifier, tried: { userName: string; password: string }) {
  const since = performance.now();
  const answer = await askSource(deps, source, { name: tried.userName, password: tried.password });
  return {
    result: answer.result.toUpperCase() as Uppercase<typeof answer.result>,
    ...('reason' in answer ? { reason: answer.reason } : {}),
    ...('mustChange' in answer ? { passwordChangeRequired: true as const } : {}),
    milliseconds: Math.round(performance.now() - since),
  };
}

type Change = (db: Db, source: PasswordVerifier, editor: string) => Promise<AppendedEvent>;

async function change(pool: Pool, by: By, { id }: PasswordVerifier, act: Change) {
  return transaction(pool, async (db) => {
    const source = await deciding(db, by, id);
    return changedAnswer(await act(db, source, by.caller.userId), source.orgId);
  });
}

/** The source with its row locked, for a caller who may decide about its users. @throws ApiError 400, 403, 404 */
async function deciding(db: Db, { caller, operation }: By, id: string): Promise<PasswordVerifier> {
  const source = requireReach(caller, operation, await findSource(db, id, 'for update'), sourceNotFound);
  undeleted(await requireOrg(db, source.orgId));
  await requireMayDecide(db, caller, source);
  return source;
}

/** The source of the path. */
function reachableSource(pool: Pool): Finder<'source', PasswordVerifier> {
  return {
    of: 'source',
    find: async ({ caller, operation, req }) =>
      requireReach(caller, operation, await findSource(pool, pathId(req, 'sourceId')), sourceNotFound),
  };
}

function sourceNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'PASSWORD-SOURCE-NOT-FOUND', 'The password source does not exist.');
}

function stateOf({ endedAt, until }: PasswordVerifier) {
  const hasEnded = endedAt !== null || (until !== null && until.getTime() <= Date.now());
  return hasEnded ? ('PASSWORD_SOURCE_STATE_ENDED' as const) : ('PASSWORD_SOURCE_STATE_ACTIVE' as const);
}

function sourceView(source: PasswordVerifier) {
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
