/**
 * Public keys of passkeys as other systems export them: a COSE_Key (RFC 9052 section 7), a SubjectPublicKeyInfo (RFC
 * 5280), or its PEM. All become the COSE_Key that WebAuthn needs.
 *
 * Guarantee: a key that is returned was read by OpenSSL, so a signature can be checked with it; it has an algorithm that
 * signs without SHA-1.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';

/** In UTF-16 units: RSA with 8192 bits as PEM has about 1,500. */
export const LONGEST_KEY_TEXT = 4000;

const SHORTEST_RSA_BITS = 2048;

/** Labels and values of COSE (IANA, COSE Key Common Parameters, Key Type Parameters, Elliptic Curves, Algorithms). */
const [KTY, ALG] = [1, 3];
const [OKP, EC2, RSA] = [1, 2, 3];
const EDDSA = -8;
const RS256 = -257;
/** RS256, RS384, RS512, PS256, PS384, PS512. */
const RSA_ALGORITHMS = [RS256, -258, -259, -37, -38, -39];
const CURVES = [
  { crv: 1, alg: -7, name: 'P-256', bytes: 32 },
  { crv: 2, alg: -35, name: 'P-384', bytes: 48 },
  { crv: 3, alg: -36, name: 'P-521', bytes: 66 },
] as const;
const ED25519 = { crv: 6, name: 'Ed25519' } as const;

const PEM = /^\s*-----BEGIN PUBLIC KEY-----[\sA-Za-z0-9+/=]+-----END PUBLIC KEY-----\s*$/;
/** How a DER sequence begins; a COSE_Key is a map, which begins with another byte. */
const SEQUENCE = 0x30;
const FORM = 'must be a COSE key in base64url, or a public key as PEM';
const ALGORITHMS = 'must be for ES256, ES384, ES512, EdDSA with Ed25519, or RSA of at least 2048 bits';

type CoseMap = Map<number, number | Buffer>;

/** @returns the COSE_Key, or what is wrong with the text */
export function readPasskeyKey(text: string): { key: Buffer } | { problem: string } {
  if (text.length > LONGEST_KEY_TEXT) return { problem: `must have at most ${LONGEST_KEY_TEXT} characters` };
  if (PEM.test(text)) return fromPublicKey(() => createPublicKey(text));
  const bytes = bytesOf(text);
  if (bytes === undefined || bytes.length === 0) return { problem: FORM };
  if (bytes[0] === SEQUENCE) return fromPublicKey(() => createPublicKey({ key: bytes, format: 'der', type: 'spki' }));
  const map = readMap(bytes);
  return map ? fromCose(map) : { problem: FORM };
}

/** Base64 with either alphabet, padded or not; undefined for anything else. */
export function bytesOf(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}

function fromPublicKey(open: () => KeyObject): { key: Buffer } | { problem: string } {
  let key: KeyObject;
  try {
    key = open();
  } catch {
    return { problem: FORM };
  }
  const map = coseOf(key);
  return map ? fromCose(map) : { problem: ALGORITHMS };
}

/** The usual algorithm of the key's type: an exported key does not name its own. */
function coseOf(key: KeyObject): CoseMap | undefined {
  if (!['ec', 'ed25519', 'rsa'].includes(key.asymmetricKeyType ?? '')) return undefined;
  const { crv, x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' });
  const entries = (list: [number, number | string][]): CoseMap =>
    new Map(list.map(([label, value]) => [label, typeof value === 'string' ? Buffer.from(value, 'base64url') : value]));
  if (key.asymmetricKeyType === 'rsa') return entries([[KTY, RSA], [ALG, RS256], [-1, n], [-2, e]]); // biome-ignore format: a row
  if (key.asymmetricKeyType === 'ed25519') return entries([[KTY, OKP], [ALG, EDDSA], [-1, ED25519.crv], [-2, x]]); // biome-ignore format: a row
  const curve = CURVES.find(({ name }) => name === crv);
  return curve && entries([[KTY, EC2], [ALG, curve.alg], [-1, curve.crv], [-2, x], [-3, y]]); // biome-ignore format: a row
}

function fromCose(map: CoseMap): { key: Buffer } | { problem: string } {
  const jwk = jwkOf(map);
  if (!jwk) return { problem: ALGORITHMS };
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    const isShort = jwk.kty === 'RSA' && (asymmetricKeyDetails?.modulusLength ?? 0) < SHORTEST_RSA_BITS;
    return isShort ? { problem: ALGORITHMS } : { key: writeMap(map) };
  } catch {
    return { problem: 'must be a valid public key' };
  }
}

/** The key as OpenSSL reads it; undefined if its type, curve or algorithm is not one of ours. */
function jwkOf(map: CoseMap): { kty: string; [name: string]: string } | undefined {
  const part = (label: number) => {
    const value = map.get(label);
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
  };
  const text = (label: number) => part(label).toString('base64url');
  const alg = map.get(ALG);
  switch (map.get(KTY)) {
    case EC2: {
      const curve = CURVES.find(({ crv }) => crv === map.get(-1));
      if (!curve || curve.alg !== alg || part(-2).length !== curve.bytes || part(-3).length !== curve.bytes)
        return undefined;
      return { kty: 'EC', crv: curve.name, x: text(-2), y: text(-3) };
    }
    case OKP:
      if (map.get(-1) !== ED25519.crv || alg !== EDDSA) return undefined;
      return { kty: 'OKP', crv: ED25519.name, x: text(-2) };
    case RSA:
      if (!RSA_ALGORITHMS.includes(alg as number)) return undefined;
      return { kty: 'RSA', n: text(-1), e: text(-2) };
    default:
      return undefined;
  }
}

// CBOR (RFC 8949), as far as a COSE_Key of a credential needs it: one map of integers to integers and byte strings.

/** The values that follow the first byte of an item, by its lowest five bits; shorter ones are that value. */
const LENGTHS = new Map([
  [24, 1],
  [25, 2],
  [26, 4],
]);
const [UNSIGNED, NEGATIVE, BYTES, MAP] = [0, 1, 2, 5];
const MOST_ENTRIES = 20;

/** Undefined for anything but such a map, and for one that is followed by other bytes or has a label twice. */
function readMap(bytes: Buffer): CoseMap | undefined {
  const at = { byte: 0 };
  const head = readHead(bytes, at);
  if (head?.type !== MAP || head.value > MOST_ENTRIES) return undefined;
  const map: CoseMap = new Map();
  for (let n = 0; n < head.value; n++) {
    const label = readItem(bytes, at);
    const value = readItem(bytes, at);
    if (typeof label !== 'number' || value === undefined || map.has(label)) return undefined;
    map.set(label, value);
  }
  return at.byte === bytes.length ? map : undefined;
}

function readItem(bytes: Buffer, at: { byte: number }): number | Buffer | undefined {
  const head = readHead(bytes, at);
  if (head?.type === UNSIGNED) return head.value;
  if (head?.type === NEGATIVE) return -1 - head.value;
  if (head?.type !== BYTES || at.byte + head.value > bytes.length) return undefined;
  at.byte += head.value;
  return bytes.subarray(at.byte - head.value, at.byte);
}

function readHead(bytes: Buffer, at: { byte: number }): { type: number; value: number } | undefined {
  const first = bytes[at.byte++];
  if (first === undefined) return undefined;
  const [type, short] = [first >> 5, first & 31];
  if (short < 24) return { type, value: short };
  const length = LENGTHS.get(short);
  if (length === undefined || at.byte + length > bytes.length) return undefined;
  at.byte += length;
  return { type, value: bytes.readUIntBE(at.byte - length, length) };
}

/** In the order of the labels that WebAuthn level 3 section 6.5.1 shows: positive ones, then negative ones. */
function writeMap(map: CoseMap): Buffer {
  const labels = [...map.keys()].sort((a, b) => (a >= 0 === b >= 0 ? Math.abs(a) - Math.abs(b) : b - a));
  const parts = labels.flatMap((label) => [writeItem(label), writeItem(map.get(label) as number | Buffer)]);
  return Buffer.concat([writeHead(MAP, map.size), ...parts]);
}

function writeItem(item: number | Buffer): Buffer {
  if (typeof item === 'number') return item >= 0 ? writeHead(UNSIGNED, item) : writeHead(NEGATIVE, -1 - item);
  return Buffer.concat([writeHead(BYTES, item.length), item]);
}

function writeHead(type: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(type << 5) | value]);
  const [short, length] = value < 2 ** 8 ? [24, 1] : value < 2 ** 16 ? [25, 2] : [26, 4];
  const head = Buffer.alloc(1 + length);
  head[0] = (type << 5) | short;
  head.writeUIntBE(value, 1, length);
  return head;
}
