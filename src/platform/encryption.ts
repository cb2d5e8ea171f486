/**
 * The instance's secret keys, all derived from ENCRYPTION_KEY and, while it is being replaced, from DECRYPTION_KEYS.
 *
 * Guarantee: sealed text can be decrypted only with the same key and for the same purpose (AES-256-GCM with the purpose
 * as additional data). It names its key by an id, from which the key cannot be computed. A code is an HMAC and is never
 * stored. Only ENCRYPTION_KEY seals, makes codes and signs cookies; what the other keys made stays valid.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

export interface Secrets {
  /** Ids of the known keys; the first one is the id of ENCRYPTION_KEY. */
  keyIds: readonly string[];
  /**
   * Encrypts text for storage: key id, `.`, and base64 of iv (12 bytes), tag (16 bytes), ciphertext. Without further
   * keys there is no key id, so that processes of a version without key ids can still read it during an upgrade.
   */
  seal(plain: string, purpose: string): string;
  /** @throws Error when the key, the purpose or the text does not match */
  unseal(sealed: string, purpose: string): string;
  /** The code of row `codeId` in its `generation`: 12 characters, the same each time. */
  code(codeId: string, generation: number): string;
  /** The code of the row as each known key makes it: a user may enter one that was sent before the key was replaced. */
  codes(codeId: string, generation: number): string[];
  /**
   * 32 bytes for one purpose, for what may start again from zero when ENCRYPTION_KEY is replaced, such as counts of
   * attempts.
   */
  key(purpose: string): Buffer;
  /** 32 bytes for one purpose from each known key, the same in every process; the first one is to be used. */
  keys(purpose: string): Buffer[];
}

/** A value needs a key that this process does not have. */
export class MissingKey extends Error {
  constructor(keyId: string) {
    super(`A value was encrypted with key ${keyId}, which is neither ENCRYPTION_KEY nor one of DECRYPTION_KEYS.`);
  }
}

const KEY_ID = /^([0-9a-f]{8})\./;

/** The id of the key that sealed a value; undefined for a value that was sealed while there was one key. */
export function keyIdOf(sealed: string): string | undefined {
  return KEY_ID.exec(sealed)?.[1];
}

/**
 * @param encryptionKey 32 bytes, base64
 * @param decryptionKeys further keys, which only decrypt
 */
export function openSecrets(encryptionKey: string, decryptionKeys: readonly string[] = []): Secrets {
  const current = openKey(encryptionKey);
  const others = decryptionKeys.map(openKey).filter(({ id }) => id !== current.id);
  const all = [current, ...others];
  return {
    keyIds: all.map(({ id }) => id),
    seal: (plain, purpose) => `${others.length > 0 ? `${current.id}.` : ''}${current.seal(plain, purpose)}`,
    unseal(sealed, purpose) {
      const id = keyIdOf(sealed);
      if (id === undefined) return unsealAny(all, sealed, purpose);
      const key = all.find((each) => each.id === id);
      if (!key) throw new MissingKey(id);
      return key.unseal(sealed.slice(id.length + 1), purpose);
    },
    code: current.code,
    codes: (codeId, generation) => all.map((key) => key.code(codeId, generation)),
    key: (purpose) => current.derive(`key:${purpose}`),
    keys: (purpose) => all.map((key) => key.derive(`key:${purpose}`)),
  };
}

/** Values without a key id were sealed while there was one key; a wrong key cannot decrypt them. */
function unsealAny(keys: Key[], sealed: string, purpose: string): string {
  for (const key of keys.slice(0, -1)) {
    try {
      return key.unseal(sealed, purpose);
    } catch {
      // Another key sealed it; the last key throws.
    }
  }
  return (keys.at(-1) as Key).unseal(sealed, purpose);
}

type Key = ReturnType<typeof openKey>;

function openKey(encryptionKey: string) {
  const root = Buffer.from(encryptionKey, 'base64');
  const derived = new Map<string, Buffer>();
  const derive = (info: string) => {
    const known = derived.get(info) ?? Buffer.from(hkdfSync('sha256', root, '', `muster:${info}`, 32));
    derived.set(info, known);
    return known;
  };
  // Key objects: from plain bytes, each cipher would create one again, which takes longer than the encryption.
  const sealKey = createSecretKey(derive('seal'));
  const codeKey = createSecretKey(derive('code'));
  return {
    id: derive('id').toString('hex', 0, 4),
    derive,
    seal(plain: string, purpose: string): string {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', sealKey, iv).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
    },
    unseal(sealed: string, purpose: string): string {
      const data = Buffer.from(sealed, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', sealKey, data.subarray(0, 12), { authTagLength: 16 });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(data.subarray(12, 28));
      return Buffer.concat([decipher.update(data.subarray(28)), decipher.final()]).toString('utf8');
    },
    code(codeId: string, generation: number): string {
      const mac = createHmac('sha256', codeKey).update(`${codeId}:${generation}`).digest();
      return base32(mac).slice(0, 12);
    },
  };
}

const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** Without I, O, 0 and 1, as people type these codes. */
function base32(bytes: Buffer): string {
  let out = '';
  for (const b of bytes) out += ALPHABET[b & 31];
  return out;
}
