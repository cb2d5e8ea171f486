/** How long a login in the browser lasts. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import { LIFETIMES } from '../../../src/signin/oauth/tokens.ts';

const DAY = 24 * 3600;
/** Seconds that are left when a session is used `days` after its sign-in. */
function left(days: number): number {
  const session = { accountId: 'u', loginTs: Math.floor(Date.now() / 1000) - days * DAY };
  const lifetime = LIFETIMES.Session as (ctx: KoaContextWithOIDC, session: Session) => number;
  return lifetime({} as KoaContextWithOIDC, session as Session);
}

test('a login ends 7 days after its last use and 14 days after the sign-in, however often it is used', () => {
  for (const [days, expected] of [
    [0, 7 * DAY],
    [6, 7 * DAY],
    [10, 4 * DAY],
    [13, DAY],
    [14, 1],
    [30, 1],
  ] as const) {
    assert(Math.abs(left(days) - expected) <= 1, `after ${days} days: ${left(days)}`);
  }
});
