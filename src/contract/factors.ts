/** The factors of a user: which there are, recovery codes, and the operations on them all; apps are in credentials.ts. */
import { z } from 'zod';
import { operations } from './operation.ts';
import { MANAGER, MANAGER_OR_SELF } from './roles.ts';
import {
  AT,
  changed,
  details,
  endSessions,
  exampleDetails,
  OWNER_PROOF,
  ownerProof,
  proofBody,
  timestamp,
} from './shapes.ts';

const state = z.enum(['AUTH_FACTOR_STATE_READY', 'AUTH_FACTOR_STATE_NOT_READY']).meta({
  description: 'Not ready: an authenticator app of which no code was verified yet.',
});

/** One of `otp`, `otpEmail`, `otpSms` says what it is. */
const factor = z
  .object({
    state,
    otp: z
      .object({
        id: z.string(),
        name: z.string().meta({ description: 'As its user called it; may be empty.' }),
        creationDate: timestamp(),
        lastUseDate: timestamp().optional(),
      })
      .optional()
      .meta({ description: 'An authenticator app.' }),
    otpEmail: z.object({}).optional().meta({ description: 'Codes by mail to the verified address.' }),
    otpSms: z.object({}).optional().meta({ description: 'Codes by text message to the verified number.' }),
  })
  .meta({ id: 'AuthenticationFactor' });

const endsSessions = ownerProof.extend({ endSessions: endSessions() });
const CODE_EXAMPLES = ['7KXQ2-MF4WD', 'HB93T-YRN6C'];

export const factorOperations = operations({
  listFactors: {
    path: 'POST /v2beta/users/{userId}/authentication_factors/_search',
    rpc: 'zitadel.user.v2.UserService/ListAuthenticationFactors',
    who: MANAGER_OR_SELF,
    of: 'user',
    summary: 'List the second factors of a user',
    description:
      'No secret is shown. `securityKeys` and `passkeys` count credentials of WebAuthn; `recoveryCodesLeft` counts ' +
      'codes that were not used yet. 403 also if the user has more rights than the caller.',
    answers: {
      200: {
        schema: z.object({
          result: z.array(factor),
          securityKeys: z.int(),
          passkeys: z.int(),
          recoveryCodesLeft: z.int(),
          lostSince: timestamp()
            .optional()
            .describe('Since when a factor is missing that could not come along from the system before.'),
        }),
        example: {
          result: [
            { state: 'AUTH_FACTOR_STATE_READY', otp: { id: '1', name: 'Phone', creationDate: AT, lastUseDate: AT } },
          ],
          securityKeys: 0,
          passkeys: 1,
          recoveryCodesLeft: 10,
        },
      },
    },
  },
  makeRecoveryCodes: {
    path: 'POST /v2beta/users/{userId}/recovery_codes',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Make recovery codes',
    description: `Ten codes, each of which stands in for the second factor once. They replace those before, and are shown only in this response. ${OWNER_PROOF}`,
    body: { ...proofBody, error: 'RECOVERY-CODES-INVALID' },
    answers: {
      200: {
        schema: z.object({ details, recoveryCodes: z.array(z.string()) }),
        example: { details: exampleDetails, recoveryCodes: CODE_EXAMPLES },
      },
    },
    errors: [
      'TOTP-NOT-HUMAN',
      'RECOVERY-CODES-NO-FACTOR',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
  removeRecoveryCodes: {
    path: 'DELETE /v2beta/users/{userId}/recovery_codes',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove the recovery codes',
    description: OWNER_PROOF,
    body: { ...proofBody, error: 'RECOVERY-CODES-INVALID' },
    answers: { 200: changed },
    errors: [
      'RECOVERY-CODES-NOT-FOUND',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
  resetFactors: {
    path: 'DELETE /v2beta/users/{userId}/authentication_factors',
    who: MANAGER,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove all factors of a user',
    description:
      'For a user who has lost them: authenticator apps, codes by mail and text message, security keys, passkeys and ' +
      `recovery codes. From then on the password alone is enough. The user gets a mail. ${OWNER_PROOF}`,
    body: { ...proofBody, schema: endsSessions, error: 'TOTP-INVALID' },
    answers: { 200: changed },
    errors: [
      'FACTORS-NOT-FOUND',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
});
