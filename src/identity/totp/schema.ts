/** Request bodies and fields of the second factor. */
import { z } from 'zod';
import { requiredText } from '../../fields/fields.ts';
import { endSessions, ownerProof } from '../login/owner-proof.ts';
import { LONGEST_TEXT, readTotpSecret } from './secret.ts';

/** A code as users type it; the check decides whether it is valid. */
export function totpCode() {
  return requiredText(50);
}

export const verifyTotpBody = z.object({ code: totpCode(), endSessions: endSessions() });

export const removeTotpBody = ownerProof.extend({ endSessions: endSessions() });

/** A secret from another program, converted to canonical base32; an empty text means none. */
export function importedTotpSecret() {
  return z
    .string('must be a string')
    .meta({
      description: 'Base32 as people copy it into an authenticator app, or the otpauth://totp/ address of its QR code.',
      maxLength: LONGEST_TEXT,
      examples: ['JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP'],
    })
    .transform((text, ctx) => {
      if (text === '') return undefined;
      const read = readTotpSecret(text);
      if ('secret' in read) return read.secret;
      ctx.addIssue({ code: 'custom', message: read.problem });
      return z.NEVER;
    });
}
