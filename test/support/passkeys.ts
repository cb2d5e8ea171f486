/**
 * A software authenticator: passkeys with fixed keys, their public records as systems export them, and the answers that a
 * browser would send. Written with node:crypto and an encoder of its own, so that the product's library does not check
 * itself. `virtualAuthenticator` puts the same passkeys into Chromium.
 */
import { createECDH, createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

export type PasskeyAlgorithm = 'ES256' | 'EdDSA' | 'RS256';

export interface PasskeyOptions {
  algorithm?: PasskeyAlgorithm;
  /** Default: localhost. */
  rpId?: string;
  /** Bytes, or a text in UTF-8. Default: none, as that of a second factor. */
  userHandle?: Buffer | string;
  /** 0, the default, stays 0, as that of a synced passkey; others grow by one with each answer. */
  signCount?: number;
  transports?: string[];
  backedUp?: boolean;
}

/** What a relying party stores of a passkey. Bytes are in base64url. */
export interface PasskeyRecord {
  credentialId: string;
  /** COSE_Key (RFC 9052). */
  publicKey: string;
  signCount: number;
  rpId: string;
  userHandle?: string;
  transports: string[];
  backedUp: boolean;
}

/** What differs from an honest answer. */
export interface AnswerOptions {
  /** Where the browser is. */
  origin: string;
  /** Default: that of the passkey. */
  rpId?: string;
  /** Default: true. */
  userVerified?: boolean;
  /** Default: true. */
  userPresent?: boolean;
  signCount?: number;
  /** In base64url; null sends none. */
  userHandle?: string | null;
  type?: string;
  challenge?: string;
  crossOrigin?: boolean;
  /** Signs in place of the passkey's own key. */
  signedBy?: Passkey;
}

export interface Passkey {
  credentialId: string;
  algorithm: PasskeyAlgorithm;
  privateKey: KeyObject;
  /** COSE_Key (RFC 9052). */
  cose: Buffer;
  /** SubjectPublicKeyInfo as PEM. */
  pem: string;
  /** SubjectPublicKeyInfo (DER) in base64url. */
  spki: string;
  /** The number of the algorithm in COSE. */
  coseAlgorithm: number;
  /** What a relying party stores, at this moment. */
  record(): PasskeyRecord;
  /** The answer of `navigator.credentials.create` as JSON. */
  register(options: CreationOptions, answer: AnswerOptions): RegistrationAnswer;
  /** The answer of `navigator.credentials.get` as JSON. */
  assertion(options: { challenge: string }, answer: AnswerOptions): AssertionAnswer;
}

export interface CreationOptions {
  challenge: string;
  rp: { id?: string };
  user: { id: string };
}

interface Answer<T> {
  id: string;
  rawId: string;
  type: 'public-key';
  authenticatorAttachment: 'platform';
  clientExtensionResults: Record<string, never>;
  response: T;
}

export type AssertionAnswer = Answer<{
  clientDataJSON: string;
  authenticatorData: string;
  signature: string;
  userHandle?: string;
}>;
export type RegistrationAnswer = Answer<{ clientDataJSON: string; attestationObject: string; transports: string[] }>;

/**
 * The passkey with this name: the same name and algorithm make the same credential id and key each time, so that its
 * record can be part of a fixture. All passkeys with RS256 share one key.
 */
export function passkey(name: string, options: PasskeyOptions = {}): Passkey {
  const { algorithm = 'ES256', rpId = 'localhost', transports = ['internal'], backedUp = false } = options;
  const privateKey = KEYS[algorithm](name);
  const publicKey = createPublicKey(privateKey);
  const cose = coseOf(algorithm, publicKey);
  const credentialId = sha256(`credential ${algorithm} ${name}`).toString('base64url');
  let { userHandle, signCount = 0 } = options;
  const self: Passkey = {
    credentialId,
    algorithm,
    privateKey,
    cose,
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    spki: publicKey.export({ type: 'spki', format: 'der' }).toString('base64url'),
    coseAlgorithm: COSE_ALGORITHMS[algorithm],
    record: () => ({
      credentialId,
      publicKey: cose.toString('base64url'),
      ...{ signCount, rpId, transports, backedUp },
      ...(userHandle === undefined ? {} : { userHandle: base64url(userHandle) }),
    }),
    register(asked, answer) {
      userHandle = Buffer.from(asked.user.id, 'base64url');
      const clientData = clientDataOf('webauthn.create', asked.challenge, answer);
      const id = Buffer.from(credentialId, 'base64url');
      const attested = Buffer.concat([Buffer.alloc(16), uint(2, id.length), id, cose]);
      const authData = authDataOf({ rpId: asked.rp.id ?? rpId, backedUp, ...answer }, signCount, attested);
      const attestationObject = cbor(
        new Map<string, Cbor>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      );
      const response = { clientDataJSON: base64url(clientData), attestationObject: base64url(attestationObject) };
      return answerOf(credentialId, { ...response, transports });
    },
    assertion(asked, answer) {
      signCount = answer.signCount ?? (signCount === 0 ? 0 : signCount + 1);
      const clientData = clientDataOf('webauthn.get', asked.challenge, answer);
      const authData = authDataOf({ rpId, backedUp, ...answer }, signCount);
      const handle = answer.userHandle === undefined ? userHandle : answer.userHandle;
      const signer = answer.signedBy ?? self;
      const signature = signed(signer, Buffer.concat([authData, createHash('sha256').update(clientData).digest()]));
      return answerOf(credentialId, {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authData),
        signature: base64url(signature),
        ...(handle === undefined || handle === null
          ? {}
          : { userHandle: typeof handle === 'string' && answer.userHandle ? handle : base64url(handle) }),
      });
    },
  };
  return self;
}

function answerOf<T>(id: string, response: T): Answer<T> {
  const attachment = { authenticatorAttachment: 'platform', clientExtensionResults: {} } as const;
  return { id, rawId: id, type: 'public-key', ...attachment, response };
}

function clientDataOf(type: string, challenge: string, answer: AnswerOptions): Buffer {
  const { origin, crossOrigin = false } = answer;
  const data = { type: answer.type ?? type, challenge: answer.challenge ?? challenge, origin, crossOrigin };
  return Buffer.from(JSON.stringify(data));
}

/** https://www.w3.org/TR/webauthn-3/#sctn-authenticator-data */
function authDataOf(
  { rpId, backedUp, userVerified = true, userPresent = true }: { rpId: string; backedUp: boolean } & AnswerOptions,
  signCount: number,
  attested: Buffer = Buffer.alloc(0),
): Buffer {
  const flags =
    (userPresent ? 1 : 0) | (userVerified ? 4 : 0) | (backedUp ? 8 | 16 : 0) | (attested.length > 0 ? 64 : 0);
  return Buffer.concat([sha256(rpId), Buffer.from([flags]), uint(4, signCount), attested]);
}

function signed({ algorithm, privateKey }: Passkey, data: Buffer): Buffer {
  return sign(algorithm === 'EdDSA' ? null : 'sha256', data, privateKey);
}

const COSE_ALGORITHMS: Readonly<Record<PasskeyAlgorithm, number>> = { ES256: -7, EdDSA: -8, RS256: -257 };

/** Private keys. */
const KEYS: Readonly<Record<PasskeyAlgorithm, (name: string) => KeyObject>> = {
  ES256(name) {
    const d = sha256(`ES256 ${name}`);
    const ecdh = createECDH('prime256v1');
    ecdh.setPrivateKey(d);
    const point = ecdh.getPublicKey();
    const x = point.subarray(1, 33).toString('base64url');
    const y = point.subarray(33).toString('base64url');
    return createPrivateKey({ key: { kty: 'EC', crv: 'P-256', d: d.toString('base64url'), x, y }, format: 'jwk' });
  },
  EdDSA(name) {
    // RFC 8410 section 7: what precedes the seed.
    const head = Buffer.from('302e020100300506032b657004220420', 'hex');
    return createPrivateKey({ key: Buffer.concat([head, sha256(`EdDSA ${name}`)]), format: 'der', type: 'pkcs8' });
  },
  RS256: () => createPrivateKey(readFileSync(join(import.meta.dirname, '../fixtures/passkeys/rs256.pem'))),
};

/** RFC 9053 section 7, RFC 8230 section 4. */
function coseOf(algorithm: PasskeyAlgorithm, publicKey: KeyObject): Buffer {
  const jwk = publicKey.export({ format: 'jwk' });
  const bytes = (field: 'x' | 'y' | 'n' | 'e') => Buffer.from(String(jwk[field]), 'base64url');
  const parameters: Record<PasskeyAlgorithm, () => [number, Cbor][]> = {
    ES256: () => [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes('x')],
      [-3, bytes('y')],
    ],
    EdDSA: () => [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes('x')],
    ],
    RS256: () => [
      [1, 3],
      [3, -257],
      [-1, bytes('n')],
      [-2, bytes('e')],
    ],
  };
  return cbor(new Map(parameters[algorithm]()));
}

type Cbor = number | string | Buffer | Map<number | string, Cbor>;

/** RFC 8949, as far as WebAuthn needs it. */
function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const members = [...value].flatMap(([key, member]) => [cbor(key), cbor(member)]);
  return Buffer.concat([head(5, value.size), ...members]);
}

function head(major: number, size: number): Buffer {
  const first = major << 5;
  if (size < 24) return Buffer.from([first | size]);
  if (size < 256) return Buffer.from([first | 24, size]);
  return Buffer.concat([Buffer.from([first | 25]), uint(2, size)]);
}

function uint(bytes: number, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function base64url(bytes: Buffer | string): string {
  return Buffer.from(bytes as string).toString('base64url');
}

export interface VirtualAuthenticator {
  /** Puts a passkey into the browser. Chromium takes those with a user handle as passkeys that it can offer by itself. */
  add(passkey: Passkey): Promise<void>;
  /** The credential ids that the browser has, in base64url. */
  credentialIds(): Promise<string[]>;
  /** Whether the person proves who they are: PIN, fingerprint. */
  verifiesUser(is: boolean): Promise<void>;
  /** Whether a question is answered by itself, or waits. */
  answersByItself(is: boolean): Promise<void>;
}

/** An authenticator in the browser of this page, which answers without a person. */
export async function virtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    async add({ privateKey, ...passkey }) {
      const { credentialId, rpId, userHandle, signCount, backedUp } = passkey.record();
      const credential = {
        credentialId: base64(credentialId),
        isResidentCredential: userHandle !== undefined,
        rpId,
        privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
        ...(userHandle === undefined ? {} : { userHandle: base64(userHandle) }),
        signCount,
        backupEligibility: backedUp,
        backupState: backedUp,
      };
      await session.send('WebAuthn.addCredential', { authenticatorId, credential });
    },
    async credentialIds() {
      const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId });
      return credentials.map(({ credentialId }) => Buffer.from(credentialId, 'base64').toString('base64url'));
    },
    async verifiesUser(isUserVerified) {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    },
    async answersByItself(enabled) {
      await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
    },
  };
}

function base64(base64url: string): string {
  return Buffer.from(base64url, 'base64url').toString('base64');
}
