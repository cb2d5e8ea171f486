/**
 * Encrypts the pieces of one file with a key of its own (AES-256-GCM). The key itself is stored encrypted, so that a
 * change of ENCRYPTION_KEY need not touch the pieces.
 *
 * Guarantee: a piece can be decrypted only as the piece of this file at this position.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import type { Secrets } from '../../../secrets.ts';
import { FILE_KEY_SEAL } from '../../seals.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface FileKey {
  seal(piece: Buffer, position: number): Buffer;
  /** @throws Error when it is not this piece */
  unseal(sealed: Buffer, position: number): Buffer;
}

/** A new key, as it is stored. */
export function newFileKey(secrets: Secrets): string {
  return secrets.seal(randomBytes(32).toString('base64'), FILE_KEY_SEAL);
}

export function openFileKey(secrets: Secrets, sealed: string, fileId: string): FileKey {
  const key = createSecretKey(Buffer.from(secrets.unseal(sealed, FILE_KEY_SEAL), 'base64'));
  const about = (position: number) => Buffer.from(`${fileId}:${position}`);
  return {
    seal(piece, position) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(about(position));
      const body = cipher.update(piece);
      cipher.final();
      return Buffer.concat([iv, cipher.getAuthTag(), body]);
    },
    unseal(bytes, position) {
      const iv = bytes.subarray(0, IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(about(position)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const body = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
      decipher.final();
      return body;
    },
  };
}
