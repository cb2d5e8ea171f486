/**
 * The user of an import, single or bulk: what may be sent, with its limits (interface.md 4.5, contract section 4).
 * One schema validates both bodies and is the source of their documentation.
 */
import { z } from 'zod';
import { bool, emailAddress, gender, id, language, requiredText, text } from '../users/fields.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
const METADATA_VALUE_MAX = 500_000;

const metadata = z.object({
  key: requiredText(200),
  value: z
    .string('must be a string')
    .min(1, 'must not be empty')
    .max(METADATA_VALUE_MAX, `must have at most ${METADATA_VALUE_MAX} characters`)
    .regex(BASE64, 'must be base64'),
});

const idp = z.object({
  configId: requiredText(200),
  externalUserId: requiredText(200),
  displayName: text(200).default(''),
});

/** Security features that are not built fail the user that asks for them, rather than being dropped. */
const notBuilt = (what: string, isUnset: (v: unknown) => boolean) =>
  z.unknown().refine((v) => v === undefined || v === null || isUnset(v), `${what} cannot be imported`);

const userFields = {
  userName: requiredText(200).optional(),
  profile: z.object(
    {
      firstName: requiredText(200),
      lastName: requiredText(200),
      nickName: text(200).optional(),
      displayName: text(200).optional(),
      preferredLanguage: language().optional(),
      gender: gender().optional(),
    },
    required('an object'),
  ),
  email: z.object({ email: emailAddress(), isEmailVerified: bool().optional() }, required('an object')),
  phone: z.object({ phone: requiredText(200), isPhoneVerified: bool().optional() }, 'must be an object').optional(),
  password: requiredText(200).optional(),
  hashedPassword: z.object({ value: requiredText(200) }, 'must be an object').optional(),
  passwordChangeRequired: bool().optional(),
  metadata: z
    .array(metadata, 'must be an array')
    .superRefine(uniqueBy('key', (m) => m.key))
    .optional(),
  idps: z
    .array(idp, 'must be an array')
    .superRefine(uniqueBy('externalUserId', (i) => JSON.stringify([i.configId, i.externalUserId])))
    .optional(),
  otpCode: notBuilt('a second factor', (v) => v === '').optional(),
  requestPasswordlessRegistration: notBuilt('a passkey registration', (v) => v === false).optional(),
};

export const importUser = z.object(userFields, required('an object'));

export const USER_STATES = ['USER_STATE_ACTIVE', 'USER_STATE_INACTIVE', 'USER_STATE_LOCKED'] as const;

/** One entry of `humanUsers`. */
export const importEntry = z.object(
  {
    userId: id().optional(),
    state: z.enum(USER_STATES, `must be one of ${USER_STATES.join(', ')}`).optional(),
    user: importUser,
  },
  'must be an object',
);

export type ImportUser = z.output<typeof importUser>;
export type ImportEntry = z.output<typeof importEntry>;

function required(what: string) {
  return { error: (issue: { input?: unknown }) => (issue.input === undefined ? 'is required' : `must be ${what}`) };
}

function uniqueBy<T>(field: string, key: (item: T) => string) {
  return (items: T[], ctx: z.core.$RefinementCtx) => {
    const seen = new Set<string>();
    for (const [i, item] of items.entries()) {
      if (seen.has(key(item))) ctx.addIssue({ code: 'custom', path: [i, field], message: 'is given twice' });
      seen.add(key(item));
    }
  };
}
