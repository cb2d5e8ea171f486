/** Second factors in the OpenAPI document. */
import { z } from 'zod';
import { verifyTotpBody } from '../identity/totp/schema.ts';
import type { Operations } from './operation.ts';
import { changed, details, exampleDetails } from './shapes.ts';

export const totpOperations: Operations = {
  'POST /v2beta/users/{userId}/totp': {
    id: 'addTotp',
    summary: 'Begin to add a second factor',
    description: 'It is asked for once a code of it was verified. The secret is shown this once.',
    answers: {
      200: {
        schema: z.object({
          details,
          uri: z.string().meta({ description: 'An otpauth address, to be shown as a QR code.' }),
          secret: z.string().meta({ description: 'Base32.', pattern: '^[A-Z2-7]+$' }),
        }),
        example: {
          details: exampleDetails,
          uri: 'otpauth://totp/Acme:bob%40acme.example?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
          secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        },
      },
    },
    errors: { 400: 'TOTP-NOT-HUMAN, or TOTP-ACTIVE: the user has one already.' },
  },
  'POST /v2beta/users/{userId}/totp/verify': {
    id: 'verifyTotp',
    summary: 'Show that the second factor works',
    body: { schema: verifyTotpBody, examples: { 'a code': { code: '123456' } } },
    answers: { 200: changed },
    errors: { 400: 'TOTP-VERIFY: bad fields. TOTP-CODE: the code is wrong. TOTP-ACTIVE: it is verified already.' },
  },
  'DELETE /v2beta/users/{userId}/totp': {
    id: 'removeTotp',
    summary: 'Remove the second factor',
    answers: { 200: changed },
  },
};
