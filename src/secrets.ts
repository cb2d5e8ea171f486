/**
 * The instance's secret keys, all derived from ENCRYPTION_KEY.
 *
 * Guarantee: sealed text can be decrypted only with the same key and for the same purpose (AES-256-GCM with the purpose
 * as additional data). A code is an HMAC and is never stored.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

export interface Secrets {
  /** Encrypts text for storage: base64 of iv (12 bytes), tag (16 bytes), ciphertext. */
  seal(plain: string, purpose: string): string;
  /** @throws Error when the key, the purpose or the text does not match */
  unseal(sealed: string, purpose: string): string;
  /** The code of row `codeId` in its `generation`: 12 characters, the same each time. */
  code(codeId: string, generation: number): string;
  /** 32 bytes for one purpose, the same in every process. */
  key(purpose: string): Buffer;
}

/** @param encryptionKey 32 bytes, base64 */
export function openSecrets(encryptionKey: string): Secrets {
  const root = Buffer.from(encryptionKey, 'base64');
  const derive = (info: string) => Buffer.from(hkdfSync('sha256', root, '', `muster:${info}`, 32));
  // Key objects: from plain bytes, each cipher would create one again, which takes longer than the encryption.
  const sealKey = createSecretKey(derive('seal'));
  const codeKey = createSecretKey(derive('code'));
  return {
    seal(plain, purpose) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', sealKey, iv).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
    },
    unseal(sealed, purpose) {
      const data = Buffer.from(sealed, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', sealKey, data.subarray(0, 12), { authTagLength: 16 });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(data.subarray(12, 28));
      return Buffer.concat([decipher.update(data.subarray(28)), decipher.final()]).toString('utf8');
    },
    code(codeId, generation) {
      const mac = createHmac('sha256', codeKey).update(`${codeId}:${generation}`).digest();
      return base32(mac).slice(0, 12);
    },
    key: (purpose) => derive(`key:${purpose}`),
  };
}

const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** Without I, O, 0 and 1, as people type these codes. */
function base32(bytes: Buffer): string {
  let out = '';
  for (const b of bytes) out += ALPHABET[b & 31];
  return out;
}
