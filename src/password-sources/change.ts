/**
 * Changes a password source: everything but its kind. What the body leaves out gets its default, except for secrets,
 * which stay.
 *
 * Guarantee: a stored secret never goes to another address than the one it was given for. The change and its event are
 * one transaction, when the caller passes a transaction's connection.
 */
import type { AppendedEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { camelCase } from '../fields/names.ts';
import { badFields, parseBody } from '../http/parse-body.ts';
import type { Secrets } from '../secrets.ts';
import { newWebhookSecret } from '../webhooks/signature.ts';
import { type ChangedSource, changedSource, SECRET_SETTINGS } from './schema.ts';
import { IS_ACTIVE, type Source, sealSecrets, secretSettings, sourceEvent, splitSettings } from './store.ts';

/** Where the source is asked. */
const ADDRESSES = ['url', 'tokenUrl', 'endpoint', 'region'];

/**
 * The body with the secrets that stay.
 * @throws ApiError 400 PASSWORD-SOURCE-INVALID
 */
export function changeOf(secrets: Secrets, source: Source, body: unknown): ChangedSource {
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
  source: Source,
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
  const event = await sourceEvent(
    db,
    { ...source, name },
    'changed',
    editor,
    differing(before, after, source.settings),
  );
  await db.query(
    `update password_sources set name = $2, settings = $3, secret_sealed = $4, user_name_template = $5, timeout_ms = $6,
       checks_per_second = $7, until = $8, sequence = $9, changed_at = $10 where id = $1`,
    [
      ...[source.id, name, JSON.stringify(open), sealSecrets(secrets, source.id, hidden), userName, timeoutMs],
      ...[checksPerSecond, until, event.sequence, event.createdAt],
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
