/**
 * Round trips: visits of a browser at an external provider, from the redirect there to the answer that whoever began the
 * visit takes: the log-in pages, a program with pages of its own (intent), or the page of somebody's links.
 *
 * Guarantee: an answer counts once, within ten minutes, on the path that the provider was told, for the provider that
 * `state` belongs to, as long as that stays what it was, and in the browser that was sent there (cookie `muster_idp`; a program's intent is bound to its
 * token instead). On a path of an old system, which several owners may name, only owners whom the instance trusts are
 * answered without `iss` (RFC 9207), so that no organization's provider gets the codes of somebody else's. What is stored
 * is encrypted, and what strangers may have stored is counted by network and by owner of the provider, what programs may by organization.
 *
 * On crash: a visit that was being answered has been used, and the person begins again.
 */
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { activeRightsOf } from '../../directory/members.ts';
import type { Config } from '../../platform/config.ts';
import { countWithin, type Limit } from '../../platform/db/counts.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { IdpRoundTrips } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { newId, randomToken, tokenHash } from '../../platform/ids.ts';
import { networkOf } from '../login/origin.ts';
import { authorizationUrl, type Identity, identityOf, ProviderError, type Trip, type TripAsk } from './protocol.ts';
import { voiceOf } from './settings.ts';
import { findIdp, type Idp, listIdps, redirectUriOf, tripSeal } from './store.ts';

export interface TripDeps {
  pool: Pool;
  secrets: Secrets;
  config: Pick<Config, 'baseUrl' | 'IDP_ALLOW_PRIVATE'>;
  logger: Logger;
}

export type TripPurpose = 'sign_in' | 'intent' | 'link';

/** What a visit is for. */
export interface TripOf {
  purpose: TripPurpose;
  /** The organization whose users may sign in; absent: any. */
  orgId?: string | undefined;
  /** `sign_in`: the login interaction. */
  uid?: string | undefined;
  /** `link`: who links an account. */
  userId?: string | undefined;
  /** `intent`: where the browser goes afterwards. */
  urls?: { successUrl: string; failureUrl: string } | undefined;
}

export interface NewTrip extends TripOf {
  idp: Idp;
  ask: TripAsk;
}

/** What is stored, encrypted. */
interface Kept extends TripOf {
  trip: Trip;
  ask: Pick<TripAsk, 'maxAge' | 'prompt'>;
  /** Of the provider when the visit began: see `voiceOf`. */
  voice: string;
}

/** What came of a visit. */
export type TripResult = { idp: Idp; orgId?: string } & (
  | { identity: Identity; error?: undefined }
  | { error: ProviderError['reason']; identity?: undefined }
);

/** How long a person may take at the provider, and afterwards the page that takes the answer. */
export const TRIP_MS = 10 * 60_000;

const NETWORK_TRIPS: Limit = {
  limit: 1000,
  windowMs: TRIP_MS,
  message: 'Too many sign-ins at providers have been begun from this network. Try again later.',
};
/** Of the programs of an organization, which come from few addresses, that they may share with anybody. */
const PROGRAM_TRIPS: Limit = {
  ...NETWORK_TRIPS,
  limit: 20_000,
  message: 'Too many sign-ins at providers have been begun for users of this organization. Try again later.',
};
/** Of an owner of providers, from all networks, so that a botnet does not fill the table. */
const OWNER_TRIPS: Limit = {
  ...NETWORK_TRIPS,
  limit: 100_000,
  message: 'Too many sign-ins have been begun. Try again later.',
};

/**
 * Begins a visit: stores it, binds it to the browser, and says where to send the browser.
 * @throws ProviderError; ApiError 429 RATE-LIMIT
 */
export async function beginTrip(
  deps: TripDeps,
  req: Request,
  res: Response,
  { idp, ask, ...of }: NewTrip,
): Promise<URL> {
  const { id, url, browser } = await storeTrip(deps, { idp, ask, ...of }, networkOf(req.ip), browserOf(deps, req));
  if (browser !== undefined) setBrowser(deps, res, browser);
  deps.logger.debug({ tripId: id, idpId: idp.id, purpose: of.purpose }, 'visit at a provider begun');
  return url;
}

async function storeTrip(
  { pool, secrets, config }: TripDeps,
  { idp, ask, ...of }: NewTrip,
  network: string,
  known: string | undefined,
) {
  const trip: Trip = {
    redirectUri: redirectUriOf(config.baseUrl, idp),
    state: randomToken(),
    nonce: randomToken(),
    verifier: randomToken(),
    startedAt: Date.now(),
  };
  await countTrip(pool, idp, of, network);
  const url = await authorizationUrl({ secrets, config }, idp, trip, ask);
  const id = newId();
  const browser = of.purpose === 'intent' ? undefined : (known ?? randomToken());
  const kept: Kept = { ...of, trip, ask: pick(ask), voice: voiceOf(idp) };
  await pool.query(
    `insert into idp_round_trips (id, idp_id, purpose, state_hash, browser_hash, sealed, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 millisecond')`,
    [
      ...[id, idp.id, of.purpose, tokenHash(trip.state), browser === undefined ? null : tokenHash(browser)],
      ...[secrets.seal(JSON.stringify(kept), tripSeal(id)), TRIP_MS],
    ],
  );
  return { id, url, browser };
}

/**
 * People and programs are counted apart, so that neither use up what the others may begin; owners of providers too. Visits
 * at a provider of the instance count for the organization that the application names.
 */
async function countTrip(db: Db, idp: Idp, { purpose, orgId = '' }: TripOf, network: string): Promise<void> {
  if (purpose === 'intent') return countWithin(db, `visits at providers by programs for ${orgId}`, PROGRAM_TRIPS);
  await countWithin(db, `visits at providers from ${network}`, NETWORK_TRIPS);
  const owner = idp.orgId === null ? `the instance for ${orgId}` : `the organization ${idp.orgId}`;
  await countWithin(db, `visits at providers of ${owner}`, OWNER_TRIPS);
}

function pick({ maxAge, prompt }: TripAsk): Pick<TripAsk, 'maxAge' | 'prompt'> {
  return { ...(maxAge === undefined ? {} : { maxAge }), ...(prompt === undefined ? {} : { prompt }) };
}

/** A visit that the provider has answered, for whoever sends the browser on. */
export interface Answered extends TripOf {
  id: string;
  result: TripResult;
  /** `intent`: proves that the browser came back from it. */
  token?: string;
}

/** What came with the answer. */
export interface Answer {
  /** The provider that the path names; absent on a path of an old system. */
  idpId?: string | undefined;
  path: string;
  /** The address with the answer in its query. */
  url: URL;
  browser: string | undefined;
}

/**
 * Uses up the visit of this answer and asks the provider who it is; undefined when there is no such visit of this browser
 * any more, or the answer belongs to another provider or path.
 */
export async function answerTrip(deps: TripDeps, answer: Answer): Promise<Answered | undefined> {
  const { pool, secrets, logger } = deps;
  const found = await findTrip(pool, answer);
  const idp = found && (await findIdp(pool, found.idp_id));
  if (!found || !idp?.settings.isEnabled) return undefined;
  const kept = JSON.parse(secrets.unseal(found.sealed, tripSeal(found.id))) as Kept;
  if (kept.voice !== voiceOf(idp) || !isAt(deps, idp, kept.trip, answer)) return undefined;
  const { rowCount } = await pool.query(
    'update idp_round_trips set finished_at = now() where id = $1 and finished_at is null and expires_at > now()',
    [found.id],
  );
  if (rowCount === 0) return undefined;
  const outcome = await ask(deps, idp, kept, answer).catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error;
    logger.info({ idpId: idp.id, reason: error.reason, detail: error.detail }, 'a provider confirmed nobody');
    return { error: error.reason };
  });
  const token = kept.purpose === 'intent' ? randomToken() : undefined;
  await pool.query('update idp_round_trips set result_sealed = $2, token_hash = $3 where id = $1', [
    found.id,
    secrets.seal(JSON.stringify(outcome), tripSeal(found.id)),
    token === undefined ? null : tokenHash(token),
  ]);
  const of = purposeOf(kept);
  const result: TripResult = { idp, ...(of.orgId === undefined ? {} : { orgId: of.orgId }), ...outcome };
  return { id: found.id, ...of, result, ...(token === undefined ? {} : { token }) };
}

/** The unused visit of this answer, in this browser. */
async function findTrip(db: Db, { url, browser, idpId }: Answer) {
  const [state, ...others] = url.searchParams.getAll('state');
  if (state === undefined || others.length > 0) return undefined;
  const { rows } = await db.query<Pick<IdpRoundTrips, 'id' | 'idp_id' | 'sealed'>>(
    `select id, idp_id, sealed from idp_round_trips
     where state_hash = $1 and finished_at is null and expires_at > now()
       and (browser_hash is null or browser_hash = $2) and ($3::text is null or idp_id = $3)`,
    [tokenHash(state), browser === undefined ? null : tokenHash(browser), idpId ?? null],
  );
  return rows[0];
}

/** Whether the answer came on the path that the provider was told. */
function isAt({ config }: TripDeps, idp: Idp, { redirectUri }: Trip, { idpId, path }: Answer): boolean {
  if (idpId !== undefined) return redirectUri === `${config.baseUrl}/ui/idps/${encodeURIComponent(idp.id)}/callback`;
  return idp.settings.callbackPaths.includes(path) && redirectUri === new URL(config.baseUrl).origin + path;
}

async function ask(deps: TripDeps, idp: Idp, { trip, ask: asked }: Kept, { idpId, path, url }: Answer) {
  if (idpId === undefined && !url.searchParams.has('iss') && !(await ownsPath(deps.pool, idp, path))) {
    throw new ProviderError('not-trusted', `others have the path ${path} too, and the provider sends no iss`);
  }
  return { identity: await identityOf(deps, idp, trip, url, asked) };
}

/**
 * Whether answers on this path of an old system may be the provider's without `iss`. Several owners may have the path:
 * the instance and those whose provider an IAM_OWNER set; if there are none, whoever had it first.
 */
export async function ownsPath(db: Db, idp: Idp, path: string): Promise<boolean> {
  const all = await withPath(db, path);
  if (all.every(({ orgId }) => orgId === idp.orgId)) return true;
  const setters = [...new Set(all.map(({ setBy }) => setBy).filter((id) => id !== null))];
  const rights = await activeRightsOf(db, setters);
  const isTrusted = ({ orgId, setBy }: Idp) =>
    orgId === null || (setBy !== null && rights.get(setBy)?.isIamOwner === true);
  if (isTrusted(idp)) return true;
  return !all.some(isTrusted) && all[0]?.orgId === idp.orgId;
}

async function withPath(db: Db, path: string): Promise<Idp[]> {
  const { rows } = await db.query<{ orgId: string | null }>(
    `select org_id as "orgId" from idps where settings -> 'callbackPaths' ? $1
     group by org_id order by min(created_at), org_id`,
    [path],
  );
  const owners = await Promise.all(rows.map(({ orgId }) => listIdps(db, orgId)));
  return owners.flat().filter(({ settings }) => settings.callbackPaths.includes(path));
}

/**
 * What came of a visit, for the page that the browser was sent on to: once, in this browser, for the login or the user
 * that began the visit.
 */
export async function takeResult(
  deps: TripDeps,
  req: Request,
  { tripId, uid, userId }: { tripId: string; uid?: string; userId?: string },
): Promise<TripResult | undefined> {
  const browser = browserOf(deps, req);
  if (browser === undefined) return undefined;
  const { rows } = await deps.pool.query<Stored>(
    `update idp_round_trips set used_at = now()
     where id = $1 and browser_hash = $2 and used_at is null and result_sealed is not null and expires_at > now()
       and purpose = $3 returning id, idp_id, sealed, result_sealed`,
    [tripId, tokenHash(browser), userId === undefined ? 'sign_in' : 'link'],
  );
  const [stored] = rows;
  const opened = stored && (await openStored(deps, stored));
  return opened && opened.uid === uid && opened.userId === userId ? opened.result : undefined;
}

function purposeOf({ trip: _trip, ask: _ask, voice: _voice, ...of }: Kept): TripOf {
  return of;
}

type Stored = Pick<IdpRoundTrips, 'id' | 'idp_id' | 'sealed' | 'result_sealed'>;

/** A visit that was answered; undefined if its provider is gone, switched off, or became another one. */
async function openStored({ pool, secrets }: Pick<TripDeps, 'pool' | 'secrets'>, stored: Stored) {
  const idp = await findIdp(pool, stored.idp_id);
  if (!idp?.settings.isEnabled || stored.result_sealed === null) return undefined;
  const kept = JSON.parse(secrets.unseal(stored.sealed, tripSeal(stored.id))) as Kept;
  if (kept.voice !== voiceOf(idp)) return undefined;
  const of = purposeOf(kept);
  const outcome = JSON.parse(secrets.unseal(stored.result_sealed, tripSeal(stored.id)));
  const result: TripResult = { idp, ...(of.orgId === undefined ? {} : { orgId: of.orgId }), ...outcome };
  return { id: stored.id, ...of, result };
}

/**
 * What came of a program's intent, for whoever has its token; undefined for another token, or after its time.
 * @param use for a session: uses the token up
 */
export async function intentResult(
  deps: Pick<TripDeps, 'pool' | 'secrets'>,
  { id, token, use }: { id: string; token: string; use: boolean },
): Promise<(TripOf & { id: string; result: TripResult }) | undefined> {
  const condition = `id = $1 and token_hash = $2 and purpose = 'intent' and used_at is null
    and result_sealed is not null and expires_at > now()`;
  const columns = 'id, idp_id, sealed, result_sealed';
  const { rows } = await deps.pool.query<Stored>(
    use
      ? `update idp_round_trips set used_at = now() where ${condition} returning ${columns}`
      : `select ${columns} from idp_round_trips where ${condition}`,
    [id, tokenHash(token)],
  );
  return rows[0] && openStored(deps, rows[0]);
}

/** 43 characters of base64url: 256 bits. */
const COOKIE = /^[\w-]{43}$/;

/**
 * Over https with a prefix, which browsers accept only from this host over https (RFC 6265bis section 4.1.3). Its path is
 * `/` also where the public address has one: paths of old systems are beside it.
 */
function cookieName(baseUrl: string): string {
  return new URL(baseUrl).protocol === 'https:' ? '__Host-muster_idp' : 'muster_idp';
}

/** What binds the visits of this browser, if it is on one. */
export function browserOf({ config }: Pick<TripDeps, 'config'>, req: Request): string | undefined {
  const name = cookieName(config.baseUrl);
  const pairs = (req.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='));
  const value = pairs.find(([each]) => each === name)?.[1] ?? '';
  return COOKIE.test(value) ? value : undefined;
}

function setBrowser({ config }: TripDeps, res: Response, browser: string): void {
  const secure = new URL(config.baseUrl).protocol === 'https:';
  res.cookie(cookieName(config.baseUrl), browser, {
    httpOnly: true,
    sameSite: 'lax',
    secure,
    path: '/',
    maxAge: TRIP_MS,
  });
}
