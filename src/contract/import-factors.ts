/**
 * The fields of an imported user that prove who they are beside the password: authenticator apps, recovery codes,
 * passkeys, and codes by mail and text message.
 *
 * Guarantee: a value that could not be used later fails its user, and no message quotes any part of a secret.
 */
import { z } from 'zod';
import { bytesOf, LONGEST_KEY_TEXT, readPasskeyKey } from '../passwords/cose-key.ts';
import {
  LONGEST_RECOVERY_CODE,
  MOST_RECOVERY_CODES,
  RECOVERY_SCHEMES,
  recoveryProblem,
} from '../passwords/recovery-codes.ts';
import { LONGEST_TEXT, MOST_APPS, readTotpKey, totpText } from '../passwords/totp-secret.ts';
import { bool, requiredText, text } from '../platform/fields.ts';

/** Passkeys of one user. */
export const MOST_PASSKEYS = 50;
/** WebAuthn level 3, section 6.5.1. */
const LONGEST_CREDENTIAL_ID = 1023;
/** WebAuthn level 3, section 5.4.3. */
const LONGEST_USER_HANDLE = 64;
const LONGEST_HASH = 400;
/** Labels of a domain name, in lower case (RFC 1123). */
const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
const COUNT = 'must be from 0 to 4294967295';
const TRANSPORT = /^[a-z0-9-]{1,30}$/;

const parameter = z.union([z.string(), z.number()], 'must be a string or a number').optional();

const totp = z
  .object(
    {
      secret: z
        .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
        .meta({ maxLength: LONGEST_TEXT, description: 'Base32, or the otpauth://totp/ address of the QR code.' }),
      algorithm: z.string('must be a string').optional().meta({ description: 'SHA1 (default), SHA256 or SHA512.' }),
      digits: parameter.meta({ description: '6 (default) or 8.' }),
      period: parameter.meta({ description: 'Seconds, from 10 to 300; 30 if absent.' }),
      name: text(200).optional(),
    },
    'must be an object',
  )
  .transform(({ secret, algorithm, digits, period, name = '' }, ctx) => {
    const key = readTotpKey(secret, { algorithm, digits, period });
    if (!('problem' in key)) return { text: totpText(key), name };
    ctx.addIssue({ code: 'custom', message: key.problem, path: ['secret'] });
    return z.NEVER;
  });

/** Authenticator apps beside `otpCode`. */
export function importedTotps() {
  return list(totp, MOST_APPS).meta({ description: 'Authenticator apps; a code of any of them is right.' });
}

const recoveryCode = z.union(
  [
    z.string().max(LONGEST_RECOVERY_CODE),
    z.object({ hash: z.string().min(1).max(LONGEST_HASH), scheme: z.enum(RECOVERY_SCHEMES) }),
  ],
  `must be a code of at most ${LONGEST_RECOVERY_CODE} characters, or its hash with a scheme: ${RECOVERY_SCHEMES.join(', ')}`,
);

/** Recovery codes that are left: each is used once. */
export function importedRecoveryCodes() {
  return list(recoveryCode, MOST_RECOVERY_CODES)
    .superRefine((codes, ctx) => {
      const problem = recoveryProblem(codes);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ description: 'The recovery codes that are left, in clear or as hashes. Each is used once.' });
}

/** Bytes in base64url; standard base64 is taken too. */
function base64url(most: number) {
  return requiredText(2 * most)
    .meta({ description: `1 to ${most} bytes in base64url.` })
    .transform((value, ctx) => {
      const bytes = bytesOf(value);
      if (bytes !== undefined && bytes.length >= 1 && bytes.length <= most) return bytes.toString('base64');
      ctx.addIssue({ code: 'custom', message: `must be 1 to ${most} bytes in base64url` });
      return z.NEVER;
    });
}

const publicKey = z
  .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
  .meta({ maxLength: LONGEST_KEY_TEXT, description: 'A COSE key in base64url, or a public key as PEM.' })
  .transform((value, ctx) => {
    const read = readPasskeyKey(value);
    if ('key' in read) return read.key.toString('base64');
    ctx.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  });

const rpId = requiredText(253)
  .meta({ description: 'The domain for which the passkey was made: it works at no other.', examples: ['example.com'] })
  .transform((value, ctx) => {
    const domain = value.toLowerCase();
    if (DOMAIN.test(domain)) return domain;
    ctx.addIssue({ code: 'custom', message: 'must be a domain name such as example.com' });
    return z.NEVER;
  });

const passkey = z.object(
  {
    credentialId: base64url(LONGEST_CREDENTIAL_ID),
    publicKey,
    signCount: z.int('must be a whole number').min(0, COUNT).max(2 ** 32 - 1, COUNT).default(0), // biome-ignore format: a row
    rpId,
    userHandle: base64url(LONGEST_USER_HANDLE).optional(),
    transports: z
      .array(
        z.string('must be a string').regex(TRANSPORT, 'must be a transport such as internal or usb'),
        'must be an array',
      )
      .max(10, 'must have at most 10 elements')
      .default([]),
    name: text(200).default(''),
    backedUp: bool().optional(),
    secondFactorOnly: bool()
      .default(false)
      .meta({ description: 'A security key that was asked for after the password: it does not sign in alone.' }),
  },
  'must be an object',
);

/** Passkeys, and security keys that are a second factor only. */
export function importedPasskeys() {
  return list(passkey, MOST_PASSKEYS).meta({
    description: 'Passkeys and security keys. A credential id belongs to one user of the instance.',
  });
}

export type ImportedPasskey = z.output<typeof passkey>;

function list<T extends z.ZodType>(element: T, most: number) {
  return z
    .array(z.unknown(), 'must be an array')
    .max(most, `must have at most ${most} elements`)
    .pipe(z.array(element));
}
