/**
 * The second factors, recovery codes and passkeys of an entry, as its item keeps them until its user is written.
 *
 * Guarantee: the keys of apps and the hashes of recovery codes are encrypted in the item, for the purpose that they have
 * with their user; passkeys are public.
 */
import type { ImportEntry } from '../../contract/import-entry.ts';
import { type ImportedPasskey, MOST_PASSKEYS } from '../../contract/import-factors.ts';
import { bytesOf } from '../../passwords/cose-key.ts';
import { RECOVERY_PURPOSE, storedCodes } from '../../passwords/recovery-codes.ts';
import { MOST_APPS, TOTP_PURPOSE } from '../../passwords/totp-secret.ts';
import type { Secrets } from '../../platform/encryption.ts';
import type { FieldViolation } from '../../platform/errors.ts';

interface MetadataEntry {
  key: string;
  /** Base64, padded or not. */
  value: string;
}

/** What few users have. */
export interface Extras {
  /** As a list, or by key; see `compact`. */
  metadata?: MetadataEntry[] | Record<string, string>;
  /** Absent: none. */
  idps?: { configId: string; externalUserId: string; displayName: string }[];
  /** Fields that the entry omits, by name or as bits; see `noteOmitted`. Stored items keep the name of earlier versions. */
  unsaid?: string[] | number;
  /** The name of the app whose key is `totpSealed`. */
  totpName?: string;
  /** Further apps, encrypted. */
  totps?: { sealed: string; name: string }[];
  /** The recovery codes that are left, encrypted, and their number. */
  recovery?: { sealed: string; left: number };
  passkeys?: StoredPasskey[];
  /** How the user gets codes after the password. */
  otp?: ('email' | 'sms')[];
  /** The mail to a new user is an invitation to add a passkey. */
  wantsPasskey?: true;
}

/** Bytes are in base64, as PostgreSQL decodes it. */
export interface StoredPasskey {
  id: string;
  /** A COSE key. */
  key: string;
  count: number;
  rpId: string;
  handle: string | null;
  transports: string[];
  name: string;
  backedUp: boolean | null;
  /** False: a second factor only. */
  passwordless: boolean;
}

/** Metadata with more characters gets rows of its own, as it would make the row of the user large. */
const MOST_BY_KEY = 900;
/** What PostgreSQL adds to each, rounded up. */
const EACH_BY_KEY = 16;

/**
 * The same without empty lists, and with small metadata by key, as the row of the user has it (migration 216): less to
 * store until then, and the batch that writes the user copies it, instead of reading each entry of a list.
 *
 * Processes before migration 219 cannot read it, and fail: they miss the list of links. So metadata beside links stays a
 * list, or they would show the user without metadata.
 */
export function compact({ metadata = [], idps = [], ...others }: Extras): Extras {
  if (idps.length === 0) return { ...byKey(metadata), ...others };
  return Array.isArray(metadata) && metadata.length === 0 ? { idps, ...others } : { metadata, idps, ...others };
}

function byKey(metadata: NonNullable<Extras['metadata']>): Pick<Extras, 'metadata'> {
  if (!Array.isArray(metadata)) return { metadata };
  if (metadata.length === 0) return {};
  const size = metadata.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + value.length + EACH_BY_KEY, 0);
  if (size > MOST_BY_KEY) return { metadata };
  return { metadata: Object.fromEntries(metadata.map(({ key, value }) => [key, padded(value)])) };
}

function padded(base64: string): string {
  return base64.padEnd(Math.ceil(base64.length / 4) * 4, '=');
}

/** The metadata of an item, as an entry has it. */
export function sentMetadata({ metadata = [] }: Extras): MetadataEntry[] {
  return Array.isArray(metadata) ? metadata : Object.entries(metadata).map(([key, value]) => ({ key, value }));
}

type EntryUser = ImportEntry['user'];

/** An authenticator app; `text` is what is encrypted. */
export interface App {
  text: string;
  name: string;
}

/** The apps of a user, each once: `otpCode` first. */
export function appsOf({ otpCode, totps = [] }: EntryUser): App[] {
  const apps = new Map(totps.map((app) => [app.text, app]));
  const first = otpCode === undefined ? undefined : (apps.get(otpCode) ?? { text: otpCode, name: '' });
  if (first) apps.delete(first.text);
  return [...(first ? [first] : []), ...apps.values()];
}

/** @param apps of which the first one has a column of its own */
export function extrasOf(user: EntryUser, [first, ...others]: App[], secrets: Secrets): Extras | null {
  const otp = [...(user.otpEmail ? (['email'] as const) : []), ...(user.otpSms ? (['sms'] as const) : [])];
  const rare: Omit<Extras, 'metadata' | 'idps'> = {
    ...(first?.name ? { totpName: first.name } : {}),
    ...(others.length > 0
      ? { totps: others.map(({ text, name }) => ({ sealed: secrets.seal(text, TOTP_PURPOSE), name })) }
      : {}),
    ...(user.recoveryCodes?.length ? { recovery: sealedCodes(user.recoveryCodes, secrets) } : {}),
    ...(user.passkeys?.length ? { passkeys: user.passkeys.map(storedPasskey) } : {}),
    ...(otp.length > 0 ? { otp } : {}),
    ...(user.requestPasswordlessRegistration ? { wantsPasskey: true } : {}),
  };
  const { metadata = [], idps = [] } = user;
  const hasSome = metadata.length > 0 || idps.length > 0 || Object.keys(rare).length > 0;
  return hasSome ? { metadata, idps, ...rare } : null;
}

function sealedCodes(codes: NonNullable<EntryUser['recoveryCodes']>, secrets: Secrets): Extras['recovery'] & object {
  const { text, left } = storedCodes(codes);
  return { sealed: secrets.seal(text, RECOVERY_PURPOSE), left };
}

function storedPasskey(sent: ImportedPasskey): StoredPasskey {
  return {
    id: sent.credentialId,
    key: sent.publicKey,
    count: sent.signCount,
    rpId: sent.rpId,
    handle: sent.userHandle ?? null,
    transports: sent.transports,
    name: sent.name,
    backedUp: sent.backedUp ?? null,
    passwordless: !sent.secondFactorOnly,
  };
}

/** The passkey as an entry has it. */
export function sentPasskey(stored: StoredPasskey): Record<string, unknown> {
  const url = (base64: string) => Buffer.from(base64, 'base64').toString('base64url');
  return {
    credentialId: url(stored.id),
    publicKey: url(stored.key),
    signCount: stored.count,
    rpId: stored.rpId,
    ...(stored.handle === null ? {} : { userHandle: url(stored.handle) }),
    ...(stored.transports.length > 0 ? { transports: stored.transports } : {}),
    ...(stored.name === '' ? {} : { name: stored.name }),
    ...(stored.backedUp === null ? {} : { backedUp: stored.backedUp }),
    ...(stored.passwordless ? {} : { secondFactorOnly: true }),
  };
}

/**
 * What a schema of single fields cannot find: more apps than a user can have, and a credential id that occurs twice.
 * @param user as it was sent, with its fields renamed; anything JSON can hold
 */
export function crossFactors({ otpCode, totps, passkeys }: Record<string, unknown>): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const isFull = Array.isArray(totps) && totps.length === MOST_APPS && typeof otpCode === 'string' && otpCode !== '';
  if (isFull) {
    violations.push({ field: 'user.totps', description: `must have at most ${MOST_APPS - 1} elements beside otpCode` });
  }
  if (!Array.isArray(passkeys) || passkeys.length > MOST_PASSKEYS) return violations;
  const seen = new Set<string>();
  for (const [index, passkey] of passkeys.entries()) {
    const id = (passkey as { credentialId?: unknown } | null)?.credentialId;
    const bytes = typeof id === 'string' ? bytesOf(id)?.toString('base64') : undefined;
    if (bytes === undefined) continue;
    if (seen.has(bytes)) {
      violations.push({ field: `user.passkeys[${index}].credentialId`, description: 'is given twice' });
    }
    seen.add(bytes);
  }
  return violations;
}
