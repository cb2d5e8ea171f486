/**
 * Asks a source for one password: in a line of its own, at its rate, with its breaker.
 *
 * Guarantee: at most AT_ONCE checks of a source run in a process, and few wait; the rate holds over all processes. A
 * check takes its line's time, MOST_WAIT_MS and the source's timeout at most.
 *
 * On crash: a check that was counted against the rate may not have happened.
 */
import { setTimeout } from 'node:timers/promises';
import type { Pool } from '../db/pool.ts';
import { publish } from '../observations.ts';
import { type Lane, openLane } from '../passwords/lane.ts';
import type { Secrets } from '../secrets.ts';
import { type Check, type CheckOptions, type SourceAnswer, unavailable } from './answer.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import { type CognitoSecrets, type CognitoSettings, checkCognito } from './kinds/cognito.ts';
import { checkHttp, type HttpSecrets, type HttpSettings } from './kinds/http.ts';
import { checkLdap, type LdapSecrets, type LdapSettings } from './kinds/ldap.ts';
import { checkOauthPassword, type OauthPasswordSecrets, type OauthPasswordSettings } from './kinds/oauth-password.ts';
import { allSettings, type Source } from './store.ts';

export interface AskDeps {
  pool: Pool;
  secrets: Secrets;
  config: { PASSWORD_SOURCE_ALLOW_PRIVATE: boolean };
}

/** Checks of one source that one process runs at a time. */
const AT_ONCE = 10;
const LONGEST_LINE_MS = 5000;
/** About what a check takes, for the line. */
const USUAL_MS = 500;
/** The longest wait for the source's rate. */
const MOST_WAIT_MS = 2000;

interface Gate {
  lane: Lane;
  breaker: Breaker;
}

/** By database, as a process may serve several in tests; then by source. A source has few, and they are small. */
const gates = new WeakMap<Pool, Map<string, Gate>>();

function gateOf(pool: Pool, id: string): Gate {
  const ofPool = gates.get(pool) ?? new Map<string, Gate>();
  gates.set(pool, ofPool);
  const gate = ofPool.get(id) ?? {
    lane: openLane({ atOnce: AT_ONCE, longestWaitMs: LONGEST_LINE_MS }),
    breaker: openBreaker(),
  };
  ofPool.set(id, gate);
  return gate;
}

/**
 * @param started called when the check no longer waits
 * @throws ApiError 503 PASSWORDS-BUSY; the reason of `gone`
 */
export async function askSource(
  deps: AskDeps,
  source: Source,
  check: Check,
  gone?: AbortSignal,
  started: () => void = () => {},
): Promise<SourceAnswer> {
  const { lane, breaker } = gateOf(deps.pool, source.id);
  const answer = await lane.run(
    async () => {
      if (!(await takeTurn(deps.pool, source))) return unavailable('too many checks for its rate');
      started();
      return breaker.run(() => askKind(deps, source, check));
    },
    { ms: USUAL_MS, signal: gone },
  );
  publish('passwordSource', answer.result);
  return answer;
}

/** Waits until the source's rate allows a check; false if that is too long. */
async function takeTurn(pool: Pool, { id, checksPerSecond }: Source): Promise<boolean> {
  // What was not used of the last second may be used now.
  const { rows } = await pool.query<{ waitMs: number }>(
    `update password_sources set free_at = greatest(free_at, now() - interval '1 second') + interval '1 second' / $2::float8
     where id = $1 and free_at < now() + $3 * interval '1 millisecond'
     returning extract(epoch from free_at - now())::float8 * 1000 - 1000 / $2::float8 as "waitMs"`,
    [id, checksPerSecond, MOST_WAIT_MS],
  );
  const [row] = rows;
  if (row && row.waitMs > 1) await setTimeout(row.waitMs);
  return row !== undefined;
}

function askKind({ secrets, config }: AskDeps, source: Source, check: Check): Promise<SourceAnswer> {
  const settings: unknown = allSettings(secrets, source);
  const options: CheckOptions = {
    timeoutMs: source.timeoutMs,
    allowPrivate: config.PASSWORD_SOURCE_ALLOW_PRIVATE,
  };
  // The settings were validated for their kind when they were stored.
  switch (source.kind) {
    case 'http':
      return checkHttp(settings as HttpSettings & HttpSecrets, check, options);
    case 'ldap':
      return checkLdap(settings as LdapSettings & LdapSecrets, check, options);
    case 'oauth-password':
      return checkOauthPassword(settings as OauthPasswordSettings & OauthPasswordSecrets, check, options);
    case 'cognito':
      return checkCognito(settings as CognitoSettings & CognitoSecrets, check, options);
  }
}
