/**
 * Encrypts the pieces of one file with a key of its own (AES-256-GCM). The key itself is stored encrypted, so that a
 * change of ENCRYPTION_KEY need not touch the pieces.
 *
 * Guarantee: a piece can be decrypted only as the piece of this file at this position.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import type { Secrets } from '../../../secrets.ts';
import { FILE_KEY_SEAL } from '../../seals.ts';
import { release } from './release.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;
/** How much longer a piece is when it is encrypted. */
export const SEAL_BYTES = IV_BYTES + TAG_BYTES;

export interface FileKey {
  /** Begins the piece at this position of the file, which is written into `target`. */
  sealer(target: Buffer, position: number): Sealer;
  /** @throws Error when it is not this piece */
  unseal(sealed: Buffer, position: number): Buffer;
}

/** Encrypts a piece part by part, as it arrives. */
export interface Sealer {
  readonly position: number;
  /** Plain bytes so far. */
  readonly length: number;
  /** @returns how many bytes of it were taken: all, unless the target is full */
  add(part: Buffer): number;
  /** Returns the encrypted piece, a part of the target. */
  end(): Buffer;
}

/** A new key, as it is stored. */
export function newFileKey(secrets: Secrets): string {
  return secrets.seal(randomBytes(32).toString('base64'), FILE_KEY_SEAL);
}

export function openFileKey(secrets: Secrets, sealed: string, fileId: string): FileKey {
  const key = createSecretKey(Buffer.from(secrets.unseal(sealed, FILE_KEY_SEAL), 'base64'));
  const about = (position: number) => Buffer.from(`${fileId}:${position}`);
  return {
    sealer(target, position) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(about(position));
      let length = 0;
      return {
        position,
        get length() {
          return length;
        },
        add(part) {
          const taken = part.subarray(0, target.length - SEAL_BYTES - length);
          const encrypted = cipher.update(taken);
          encrypted.copy(target, SEAL_BYTES + length);
          release(encrypted);
          length += taken.length;
          return taken.length;
        },
        end() {
          cipher.final();
          iv.copy(target);
          cipher.getAuthTag().copy(target, IV_BYTES);
          return target.subarray(0, SEAL_BYTES + length);
        },
      };
    },
    unseal(bytes, position) {
      const iv = bytes.subarray(0, IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(about(position)).setAuthTag(bytes.subarray(IV_BYTES, SEAL_BYTES));
      const body = decipher.update(bytes.subarray(SEAL_BYTES));
      decipher.final();
      return body;
    },
  };
}
