/**
 * How an imported user signs in: the way that is predicted before the import and is true afterwards, why it is that one,
 * and what is different from the other system. Their ids are stable.
 */
import { z } from 'zod';

/** The best first: a user's way is the first that works for them. */
export const WAYS = [
  'PASSWORD',
  'PASSWORD_SOURCE',
  'PROVIDER',
  'PASSKEY',
  'MAIL_CODE',
  'SMS_CODE',
  'INIT_MAIL',
  'NONE',
] as const;
export type Way = (typeof WAYS)[number];

/** Why a user does not sign in with the old password, by id. */
export const CAUSES = {
  NO_PASSWORD: 'The import brings no password for the user.',
  UNKNOWN_PASSWORD: 'The user may not know the password: the other system makes one up for users who do not use it.',
  PASSWORD_AT_SOURCE: 'The password is verified at a password source, at the first sign-in.',
  PROVIDER_NOT_SET_UP: 'The user came by an external provider that is not set up here.',
  LINK_HELD_TWICE: 'Another user has the same account at the external provider.',
  NO_ADDRESS: 'The user has no email address, and no password.',
  ADDRESS_NOT_VERIFIED: 'The user signs in with the address, which is not verified.',
  MAILS_HELD: 'The import holds its mails back; they are sent on request.',
  ONLY_ENTERPRISE:
    'The user came by a connection of their company only, and the import leaves such users out of mail codes.',
  INACTIVE: 'The user is inactive.',
  LOCKED: 'The user is locked.',
} as const;
export type Cause = keyof typeof CAUSES;

/** What is different from the other system, by id. */
export const CHANGES = {
  TYPES_USER_NAME: 'The user must type the user name, not the address, until the address is verified.',
  GETS_MAIL: 'The import sends the user a mail.',
  SECOND_FACTOR_LOST: 'The second factor does not come along: the account is weaker until the user sets one up again.',
  SECOND_FACTOR_RE_ENROL:
    'The second factor does not come along, and the organization demands one: it is set up at the first sign-in.',
  PASSKEYS_LOST: 'The passkeys do not come along.',
  RECOVERY_CODES_LOST: 'The recovery codes do not come along.',
  RELAY_ADDRESS: 'The address is a relay of Apple, which accepts only mails of senders that are registered with Apple.',
  LINK_UNUSED: 'The user had an account at an external provider that cannot sign in here.',
  ENTERPRISE_LINK_UNUSED: 'The user came by a connection of their company, which cannot sign in here.',
  NEW_PASSWORD: 'The user must set another password after the first sign-in.',
} as const;
export type Change = keyof typeof CHANGES;

const keysOf = <K extends string>(sentences: Readonly<Record<K, string>>) => Object.keys(sentences) as [K, ...K[]];

/** The prediction for one user. */
export const signIn = z
  .object({
    way: z.enum(WAYS),
    cause: z.enum(keysOf(CAUSES)).optional().meta({ description: 'Absent where the old password signs in.' }),
    changes: z.array(z.enum(keysOf(CHANGES))),
  })
  .meta({ id: 'ImportSignIn', description: 'How the user signs in after the import, and what is different then.' });
export type SignIn = z.output<typeof signIn>;

const count = z.int().meta({ minimum: 0 });

/** The predictions of an import, counted. */
export const signInCounts = z
  .object({
    ways: z.record(z.enum(WAYS), count).meta({ description: 'They add up to the users that are imported or can be.' }),
    causes: z.partialRecord(z.enum(keysOf(CAUSES)), count),
    changes: z.partialRecord(z.enum(keysOf(CHANGES)), count),
  })
  .meta({ id: 'ImportSignInCounts' });
export type SignInCounts = z.output<typeof signInCounts>;
