/**
 * Routes for the credentials of machine users: personal access tokens, keys with which they authenticate (RFC 7523),
 * and the client secret (RFC 6749 section 4.4), whose client id is the user id.
 */
import { Router } from 'express';
import { machineOperations as operations } from '../../contract/machines.ts';
import { type Asked, serve } from '../../contract/serve.ts';
import { removeCredential } from '../../directory/members.ts';
import type { User } from '../../directory/users/store.ts';
import { type AppendedEvent, changedAnswer, details } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { newId, randomToken } from '../../platform/ids.ts';
import { addKey, keyDetails, listKeys, type MachineKey, makeKeyPair, removeKey } from './keys.ts';
import { machineOf, type NotAMachine, removeSecret, requireMachine, setSecret } from './machine.ts';
import { addPat, listPats, type Pat, removePat } from './tokens.ts';

/** The errors for a human user. */
const NOT_A_MACHINE = {
  pat: { id: 'PAT-NOT-A-MACHINE', message: 'Only a machine user has personal access tokens.' },
  key: { id: 'KEY-NOT-A-MACHINE', message: 'Only a machine user has keys.' },
  secret: { id: 'SECRET-NOT-A-MACHINE', message: 'Only a machine user has a secret.' },
} as const satisfies Record<string, NotAMachine>;

/** Routes of personal access tokens. */
export function patRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const machine = machineOf(pool, NOT_A_MACHINE.pat);
  serve(router, operations.addPat, machine, async ({ body: { expirationDate }, ...asked }) => {
    const token = randomToken();
    return changeMachine(pool, asked, NOT_A_MACHINE.pat, async (db, user, editor) => {
      const pat = await addPat(db, user, { token, expiresAt: expirationDate }, editor);
      return { tokenId: pat.id, token, details: patDetails(user, pat) };
    });
  });
  serve(router, operations.listPats, machine, async ({ target: user }) => {
    const pats = await listPats(pool, user.id);
    const shown = pats.map((pat) => patView(user, pat));
    return searchResult(shown.length, shown);
  });
  serve(router, operations.removePat, machine, async ({ params: { tokenId }, ...asked }) => {
    const missing = new ApiError('NOT_FOUND', 'PAT-NOT-FOUND', 'The user has no such token.');
    return ended(pool, asked, NOT_A_MACHINE.pat, missing, (db, user, editor) => removePat(db, user, tokenId, editor));
  });
  return router;
}

function patView(user: User, pat: Pat) {
  const expirationDate = pat.expiresAt ? { expirationDate: pat.expiresAt.toISOString() } : {};
  return { tokenId: pat.id, details: patDetails(user, pat), ...expirationDate };
}

function patDetails(user: User, pat: Pat) {
  return details({ ...pat, changedAt: pat.createdAt, resourceOwner: user.orgId });
}

/** Routes of keys. A key pair is made before the transaction begins, so that no row is locked meanwhile. */
export function keyRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const machine = machineOf(pool, NOT_A_MACHINE.key);
  serve(router, operations.addKey, machine, async ({ body: { expirationDate }, ...asked }) => {
    const keyId = newId();
    const { publicJwk, privateKey } = await makeKeyPair(keyId);
    return changeMachine(pool, asked, NOT_A_MACHINE.key, async (db, user, editor) => {
      const key = await addKey(db, user, { id: keyId, publicJwk, expiresAt: expirationDate }, editor);
      return {
        keyId,
        keyDetails: keyDetails({ keyId, userId: user.id, privateKey, expiresAt: key.expiresAt }),
        details: keyDetailsOf(user, key),
      };
    });
  });
  serve(router, operations.listKeys, machine, async ({ target: user }) => {
    const keys = await listKeys(pool, user.id);
    const shown = keys.map((key) => keyView(user, key));
    return searchResult(shown.length, shown);
  });
  serve(router, operations.removeKey, machine, async ({ params: { keyId }, ...asked }) => {
    const missing = new ApiError('NOT_FOUND', 'KEY-NOT-FOUND', 'The user has no such key.');
    return ended(pool, asked, NOT_A_MACHINE.key, missing, (db, user, editor) => removeKey(db, user, keyId, editor));
  });
  return router;
}

function keyView(user: User, key: MachineKey) {
  const expirationDate = key.expiresAt ? { expirationDate: key.expiresAt.toISOString() } : {};
  return { keyId: key.id, type: 'KEY_TYPE_JSON' as const, details: keyDetailsOf(user, key), ...expirationDate };
}

function keyDetailsOf(user: User, key: MachineKey) {
  return details({ ...key, changedAt: key.createdAt, resourceOwner: user.orgId });
}

/** Routes of the client secret. */
export function secretRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const machine = machineOf(pool, NOT_A_MACHINE.secret);
  serve(router, operations.setSecret, machine, async (asked) => {
    const clientSecret = randomToken();
    return changeMachine(pool, asked, NOT_A_MACHINE.secret, async (db, user, editor) => {
      const event = await setSecret(db, user, clientSecret, editor);
      return { clientId: user.id, clientSecret, ...changedAnswer(event, user.orgId) };
    });
  });
  serve(router, operations.removeSecret, machine, async (asked) => {
    const missing = new ApiError('NOT_FOUND', 'SECRET-NOT-FOUND', 'The user has no secret.');
    return ended(pool, asked, NOT_A_MACHINE.secret, missing, removeSecret);
  });
  return router;
}

type OfMachine = Pick<Asked, 'caller' | 'operation'> & { target: User };

/** Runs a change of the machine user with its row locked, if the caller still may. */
function changeMachine<T>(
  pool: Pool,
  { target, ...asked }: OfMachine,
  notAMachine: NotAMachine,
  change: (db: Db, user: User, editor: string) => Promise<T>,
): Promise<T> {
  return transaction(pool, async (db) => {
    const user = await requireMachine(db, asked, target.id, notAMachine, 'for update');
    return change(db, user, asked.caller.userId);
  });
}

type Remove = (db: Db, user: User, editor: string) => Promise<AppendedEvent | undefined>;

/** Removes a credential of the machine user. @throws ApiError `missing` when there was none */
function ended(pool: Pool, asked: OfMachine, notAMachine: NotAMachine, missing: ApiError, remove: Remove) {
  return changeMachine(pool, asked, notAMachine, async (db, user, editor) => {
    const event = await removeCredential(db, user.id, asked.caller, () => remove(db, user, editor));
    if (!event) throw missing;
    return changedAnswer(event, user.orgId);
  });
}
