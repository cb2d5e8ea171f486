/**
 * `GET, PUT /management/v1/orgs/me/sign_in_names`: which names the users of an organization sign in with.
 * `src/users/login-names.ts` says to whom a name belongs.
 */
import { type Request, Router } from 'express';
import { z } from 'zod';
import { callerOf, requirePermission, selectedOrg } from '../access/caller.ts';
import { appendEvent, details } from '../db/events.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { parseBody } from '../http/parse-body.ts';
import { requireOrg } from './store.ts';

const PATH = '/management/v1/orgs/me/sign_in_names';

/** The bare user name; `userName@domain`; a verified address that no other user of the organization has. */
export const SIGN_IN_NAMES = ['userName', 'loginName', 'email'] as const;
export type SignInName = (typeof SIGN_IN_NAMES)[number];

export const signInNamesBody = z.object({
  signInNames: z
    .array(z.enum(SIGN_IN_NAMES, `must be one of ${SIGN_IN_NAMES.join(', ')}`))
    .min(1, 'must have at least one entry')
    .max(SIGN_IN_NAMES.length, `must have at most ${SIGN_IN_NAMES.length} entries`)
    .transform((names) => SIGN_IN_NAMES.filter((name) => names.includes(name))),
});

export function signInNameRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get(PATH, async (req, res) => {
    const orgId = permitted(req, callerOf(res), 'getSignInNames');
    const { sequence, changedAt } = await requireOrg(pool, orgId);
    const signInNames = await signInNamesOf(pool, orgId);
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }), signInNames });
  });
  router.put(PATH, async (req, res) => {
    const caller = callerOf(res);
    const orgId = permitted(req, caller, 'setSignInNames');
    const { signInNames } = parseBody(signInNamesBody, await readJson(req, res), 'SIGN-IN-NAMES');
    const { sequence, createdAt: changedAt } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setSignInNames(db, orgId, signInNames, caller.userId);
    });
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
  return router;
}

function permitted(
  req: Request,
  caller: ReturnType<typeof callerOf>,
  operation: 'getSignInNames' | 'setSignInNames',
): string {
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, operation, orgId);
  return orgId;
}

async function setSignInNames(db: Db, orgId: string, signInNames: SignInName[], editor: string) {
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.sign_in_names.set',
    editor,
    payload: { signInNames },
  });
  const text = 'update organizations set sign_in_names = $2, sequence = $3, changed_at = $4 where id = $1';
  await db.query(text, [orgId, signInNames, event.sequence, event.createdAt]);
  return event;
}

/** The names of an organization; without one, and for one that does not exist, all. */
export async function signInNamesOf(db: Db, orgId: string | undefined): Promise<readonly SignInName[]> {
  if (orgId === undefined) return SIGN_IN_NAMES;
  const { rows } = await db.query<{ names: SignInName[] }>(
    'select sign_in_names as names from organizations where id = $1',
    [orgId],
  );
  return rows[0]?.names ?? SIGN_IN_NAMES;
}
