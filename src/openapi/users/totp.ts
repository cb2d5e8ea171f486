/** Second factors in the OpenAPI document. */
import { z } from 'zod';
import { removeTotpBody, verifyTotpBody } from '../../identity/totp/schema.ts';
import type { Operations } from '../operation.ts';
import { OWNER_PROOF, proofBody, SIGN_IN_AGAIN, WRONG_PASSWORD } from '../owner-proof.ts';
import { changed, details, exampleDetails } from '../shapes.ts';

export const totpOperations: Operations = {
  'POST /v2beta/users/{userId}/totp': {
    id: 'addTotp',
    summary: 'Start adding a second factor (TOTP)',
    description:
      'The secret is shown only once, in this response. Logins require the second factor once a code is verified. ' +
      OWNER_PROOF,
    body: proofBody,
    answers: {
      200: {
        schema: z.object({
          details,
          uri: z.string().meta({ description: 'An `otpauth://` URI to show as a QR code.' }),
          secret: z.string().meta({ description: 'Base32.', pattern: '^[A-Z2-7]+$' }),
        }),
        example: {
          details: exampleDetails,
          uri: 'otpauth://totp/Acme:bob%40acme.example?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
          secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        },
      },
    },
    errors: {
      400:
        'TOTP-NOT-HUMAN: the user is not a human user. TOTP-ACTIVE: the user already has a second factor. ' +
        WRONG_PASSWORD,
      401: SIGN_IN_AGAIN,
    },
  },
  'POST /v2beta/users/{userId}/totp/verify': {
    id: 'verifyTotp',
    summary: 'Verify the second factor',
    body: { schema: verifyTotpBody, examples: { 'a code': { code: '123456' } } },
    answers: { 200: changed },
    errors: {
      400: 'TOTP-VERIFY: invalid fields. TOTP-CODE: the code is wrong. TOTP-ACTIVE: the second factor is already verified.',
    },
  },
  'DELETE /v2beta/users/{userId}/totp': {
    id: 'removeTotp',
    summary: 'Remove the second factor',
    description: OWNER_PROOF,
    body: { ...proofBody, schema: removeTotpBody },
    answers: { 200: changed },
    errors: { 400: WRONG_PASSWORD, 401: SIGN_IN_AGAIN },
  },
};
