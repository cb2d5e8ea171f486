/** What a program asks for in a session: a code by mail or text message, or a passkey. */
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { urlTemplate } from './credentials.ts';

const otpEmail = z
  .object({
    sendCode: z.object({ urlTemplate: urlTemplate().optional() }).optional(),
    returnCode: z.object({}).optional(),
  })
  .refine(
    (of) => of.sendCode === undefined || of.returnCode === undefined,
    'must contain either sendCode or returnCode',
  )
  .meta({
    description:
      'Mails the user a code of 8 digits, which is valid for 10 minutes in this session; the default. With `returnCode` ' +
      'it is returned for you to deliver, and then verifies no address.',
  });

const otpSms = z
  .object({ sendCode: z.object({}).optional(), returnCode: z.object({}).optional() })
  .refine(
    (of) => of.sendCode === undefined || of.returnCode === undefined,
    'must contain either sendCode or returnCode',
  )
  .meta({
    description:
      'Sends a code of 8 digits to the verified number of the user, which is valid for 10 minutes in this session; the ' +
      'default. With `returnCode` it is returned for you to deliver.',
  });

const VERIFICATIONS = {
  USER_VERIFICATION_REQUIREMENT_UNSPECIFIED: undefined,
  USER_VERIFICATION_REQUIREMENT_REQUIRED: 'required',
  USER_VERIFICATION_REQUIREMENT_PREFERRED: 'preferred',
  USER_VERIFICATION_REQUIREMENT_DISCOURAGED: 'discouraged',
} as const;

const webAuthN = z
  .object({
    domain: requiredText(253).meta({
      description: 'Of the page that asks the browser: the domain that the passkeys of this service are for.',
    }),
    userVerificationRequirement: z
      .enum(Object.keys(VERIFICATIONS) as (keyof typeof VERIFICATIONS)[])
      .transform((name) => VERIFICATIONS[name])
      .optional()
      .meta({
        description:
          'Without the password always required, which is then the default; with it, preferred is the default.',
      }),
  })
  .meta({
    description:
      'Asks for a passkey; with the password of a user who has a second factor, for a security key or passkey as that ' +
      'factor. Good for five minutes and this session.',
  });

/** What a program may ask for. */
export const challenges = z.object({
  otpEmail: otpEmail.optional(),
  otpSms: otpSms.optional(),
  webAuthN: webAuthN.optional(),
});

/** What a program asks for in a session. */
export type Challenges = z.output<typeof challenges>;
export type SentChallenge = z.output<typeof otpEmail>;
export type KeyChallenge = z.output<typeof webAuthN>;

/** What opens a session without a password. */
export const FIRST_CHALLENGES = ['otpEmail', 'otpSms', 'webAuthN'] as const;

/** What a session was asked to send. */
export const returned = z
  .object({
    otpEmail: z.string().optional().meta({ description: 'The code, with `returnCode`.' }),
    otpSms: z.string().optional().meta({ description: 'The code, with `returnCode`.' }),
    webAuthN: z
      .object({
        publicKeyCredentialRequestOptions: z.record(z.string(), z.unknown()).meta({
          description:
            'PublicKeyCredentialRequestOptionsJSON of WebAuthn level 3, for ' +
            '`PublicKeyCredential.parseRequestOptionsFromJSON`.',
        }),
      })
      .optional(),
  })
  .optional();
