/**
 * The keys that machine users sign with: generates a pair and the key file that is returned once, and stores the public
 * key.
 *
 * Guarantee: the private key is in the returned value and nowhere else.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import type { AppendedEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { MachineKeys } from '../../platform/db/tables.ts';
import { type MachineRef, machineEvent } from './machine.ts';

const KEY = {
  id: 'id',
  /** Null: valid until it is removed. */
  expiresAt: 'expires_at',
  sequence: 'sequence',
  createdAt: 'created_at',
} as const satisfies Names<MachineKeys>;

export type MachineKey = Named<MachineKeys, typeof KEY>;

/** The data needed to verify a signature. */
export interface VerificationKey extends Named<MachineKeys, { userId: 'user_id'; expiresAt: 'expires_at' }> {
  publicJwk: JWK;
}

/** Stores a public key under an id that the caller has generated, as the private key file also contains it. */
export async function addKey(
  db: Db,
  owner: MachineRef,
  key: { id: string; publicJwk: JWK; expiresAt?: Date | undefined },
  editor: string,
): Promise<MachineKey> {
  const event = await machineEvent(db, owner, 'key.added', editor, { keyId: key.id });
  await db.query(
    'insert into machine_keys (id, user_id, public_jwk, expires_at, sequence) values ($1, $2, $3, $4, $5)',
    [key.id, owner.id, key.publicJwk, key.expiresAt ?? null, event.sequence],
  );
  return { id: key.id, expiresAt: key.expiresAt ?? null, ...event };
}

/** A user's keys, oldest first, including those that expired in the last month. */
export async function listKeys(db: Db, userId: string): Promise<MachineKey[]> {
  const { rows } = await db.query<MachineKey>(
    `select ${columnList(KEY)}
     from machine_keys where user_id = $1 order by id`,
    [userId],
  );
  return rows;
}

/** Revokes a key at once; undefined when the user has no such key. */
export async function removeKey(
  db: Db,
  owner: MachineRef,
  id: string,
  editor: string,
): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query('delete from machine_keys where id = $1 and user_id = $2', [id, owner.id]);
  return rowCount ? machineEvent(db, owner, 'key.removed', editor, { keyId: id }) : undefined;
}

/** Removes one batch of keys that expired a month ago: until then the list shows why they no longer work. */
export function sweepMachineKeys(db: Db): Promise<number> {
  return sweepRows(db, {
    table: 'machine_keys',
    where: `expires_at < now() - interval '30 days'`,
    order: 'expires_at',
  });
}

/** A key by its id, even if it is expired or its user is not active: the caller checks both. */
export async function findKey(db: Db, keyId: string): Promise<VerificationKey | undefined> {
  const { rows } = await db.query<VerificationKey>(
    'select user_id as "userId", public_jwk as "publicJwk", expires_at as "expiresAt" from machine_keys where id = $1',
    [keyId],
  );
  return rows[0];
}

/** A key as strong as 128 bits (NIST SP 800-57 part 1); RFC 7518 section 3.3 asks for 2048 or more. */
const MODULUS_BITS = 3072;
/** The value that clients of the ecosystem read as "does not expire". */
const NEVER = new Date('9999-12-31T23:59:59Z');

const generate = promisify(generateKeyPair);

export interface KeyPair {
  publicJwk: JWK;
  privateKey: KeyObject;
}

/** Generates an RSA key pair in a libuv thread: this takes a few hundred milliseconds and blocks nothing else. */
export async function makeKeyPair(keyId: string): Promise<KeyPair> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: MODULUS_BITS });
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  return { publicJwk: { ...jwk, kid: keyId, alg: 'RS256', use: 'sig' }, privateKey };
}

/**
 * The key file, `keyDetails`: base64 of `{type, keyId, key, expirationDate, userId}`, the private key as PEM of
 * PKCS #1 ("RSA PRIVATE KEY", RFC 8017 appendix A.1.2), the format that published clients read.
 */
export function keyDetails(of: {
  keyId: string;
  userId: string;
  privateKey: KeyObject;
  expiresAt: Date | null;
}): string {
  const file = {
    type: 'serviceaccount',
    keyId: of.keyId,
    key: of.privateKey.export({ type: 'pkcs1', format: 'pem' }),
    expirationDate: timestamp(of.expiresAt ?? NEVER),
    userId: of.userId,
  };
  return Buffer.from(JSON.stringify(file)).toString('base64');
}

/** The time in RFC 3339, without the fraction if it is zero. */
function timestamp(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z');
}
