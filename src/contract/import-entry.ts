/**
 * The fields of an imported user and their limits, for the single and the bulk import. One schema validates both bodies
 * and is the source of their documentation.
 */
import { z } from 'zod';
import {
  bool,
  emailAddress,
  gender,
  id,
  language,
  newUserId,
  requiredText,
  text,
  userName,
} from '../platform/fields.ts';
import { phoneIfAny } from '../platform/phone.ts';
import { LOST, OLD_WAYS } from '../sources/entry.ts';
import { importedTotpSecret } from './credentials.ts';
import { hashText, metadataValue } from './humans.ts';
import { importedPasskeys, importedRecoveryCodes, importedTotps } from './import-factors.ts';
import { IMPORTED_STATES, stateName } from './users.ts';

/**
 * The most elements of `metadata` and of `idps`. Checked first, because reporting many invalid elements is expensive.
 */
export const MAX_ELEMENTS = 10_000;

const metadata = z.object({ key: requiredText(200), value: metadataValue() }, 'must be an object');

const idp = z.object(
  {
    configId: requiredText(200),
    externalUserId: requiredText(200),
    displayName: text(200).default(''),
  },
  'must be an object',
);

function list<T extends z.ZodType>(element: T) {
  return z
    .array(z.unknown(), 'must be an array')
    .max(MAX_ELEMENTS, `must have at most ${MAX_ELEMENTS} elements`)
    .pipe(z.array(element));
}

function emailOf() {
  return z.object({ email: emailAddress(), isEmailVerified: bool().optional() }, required('an object'));
}

/** An `email` without an address counts as none. */
function isNone(email: unknown): boolean {
  if (email === null) return true;
  if (typeof email !== 'object' || Array.isArray(email)) return false;
  const { email: address } = email as { email?: unknown };
  return address === undefined || address === null || address === '';
}

const userFields = {
  userName: userName().optional(),
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
  email: emailOf(),
  phone: phoneIfAny(z.object({ phone: requiredText(200), isPhoneVerified: bool().optional() }, 'must be an object')),
  password: requiredText(200).optional(),
  hashedPassword: z.object({ value: hashText() }, 'must be an object').optional(),
  passwordSource: id()
    .optional()
    .meta({ description: 'Id of the password source that verifies the first sign-in, unless there is a password.' }),
  passwordChangeRequired: bool().optional(),
  metadata: list(metadata).optional(),
  idps: list(idp).optional(),
  otpCode: importedTotpSecret().optional(),
  totps: importedTotps().optional(),
  recoveryCodes: importedRecoveryCodes().optional(),
  passkeys: importedPasskeys().optional(),
  otpEmail: bool()
    .optional()
    .meta({ description: 'After the password, the user is asked for a code by mail, to the verified address.' }),
  otpSms: bool()
    .optional()
    .meta({ description: 'After the password, the user is asked for a code by text message, to the verified number.' }),
  requestPasswordlessRegistration: bool()
    .optional()
    .meta({
      description:
        'A new user is asked by mail to add a passkey, in place of choosing a password if there is none. Not for users ' +
        'who have a second factor or lost one, nor for those with a password and an address that is not verified; ' +
        'without `WEBAUTHN_RP_ID`, or where the policy has passkeys off, they get the mail that they would get otherwise.',
    }),
};

export const importUser = z.object(userFields, required('an object'));

const STATES = IMPORTED_STATES.map((state) => stateName(state));

const oldSignIn = z
  .object(
    {
      ways: z.array(z.enum(OLD_WAYS), 'must be an array').max(20).optional(),
      password: z.enum(['unknown', 'perhaps']).optional(),
      lost: z.array(z.enum(LOST), 'must be an array').max(20).optional(),
    },
    'must be an object',
  )
  .meta({
    description:
      'How the user signed in to the other system, what they lose, and whether they know the password of the hash, for ' +
      'the prediction `signIn`. The hash of a password that is `unknown` is not taken.',
  });

/** One entry of `humanUsers`. */
export const importEntry = z.object(
  {
    userId: newUserId().optional(),
    state: z.enum(STATES, `must be one of ${STATES.join(', ')}`).optional(),
    oldSignIn: oldSignIn.optional(),
    user: importUser,
  },
  'must be an object',
);

/**
 * One entry of an import with `withoutEmail=true`, which then needs a user name (checked in
 * src/imports/entries/validate.ts).
 */
export const entryWithoutEmail = importEntry.extend({
  user: importUser.extend({
    email: z.preprocess((email) => (isNone(email) ? undefined : email), emailOf().optional()).optional(),
  }),
});

export type ImportUser = z.output<typeof importUser>;
export type ImportEntry = z.output<typeof importEntry> | z.output<typeof entryWithoutEmail>;

function required(what: string) {
  return { error: (issue: { input?: unknown }) => (issue.input === undefined ? 'is required' : `must be ${what}`) };
}
