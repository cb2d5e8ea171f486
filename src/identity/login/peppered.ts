/**
 * Checks a password against a hash that needs the pepper of its import.
 * Guarantee: the pepper stays in this process; a hash whose pepper is gone verifies no password.
 */
import { type Pepper, pepperSeal, seesAllPeppered, withPepper } from '../../passwords/pepper.ts';
import type { LoginDeps } from './deps.ts';

type Deps = Pick<LoginDeps, 'pool' | 'hasher' | 'secrets' | 'logger'>;

/** @returns `rehash`: replace the hash by one without a pepper; not if the scheme ignored a part of the password */
export async function checkPeppered(
  deps: Deps,
  { importId, hash }: { importId: string; hash: string },
  password: string,
  gone: AbortSignal | undefined,
  started: () => void,
): Promise<{ ok: boolean; rehash: boolean }> {
  const pepper = await findPepper(deps, importId);
  if (!pepper) {
    deps.logger.error({ importId }, 'the pepper of an import is missing; its users cannot log in with their passwords');
    await deps.hasher.verifyNothing(password, gone, started);
    return { ok: false, rehash: false };
  }
  const { ok } = await deps.hasher.verify(hash, withPepper(pepper, password), gone, started);
  return { ok, rehash: ok && seesAllPeppered(hash, pepper, password) };
}

async function findPepper({ pool, secrets }: Deps, importId: string): Promise<Pepper | undefined> {
  const { rows } = await pool.query<{ mode: Pepper['mode']; sealed: string }>(
    'select mode, sealed from import_peppers where import_id = $1::bigint',
    [importId],
  );
  const [row] = rows;
  return row && { mode: row.mode, secret: secrets.unseal(row.sealed, pepperSeal(importId)) };
}
