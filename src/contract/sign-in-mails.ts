/** The mail to the users of an import who have not signed in: who would get it, and the operations. */
import { z } from 'zod';
import { urlTemplate } from './credentials.ts';
import { exampleResult, exampleSignInMailsPreview } from './import-examples.ts';
import { result } from './import-results.ts';
import { operations } from './operation.ts';
import { OWNER } from './roles.ts';

const count = z.int().meta({ minimum: 0 });

/** Why a user of an import gets no mail that tells how to sign in, by id. */
const UNMAILED = [
  'SIGNED_IN',
  'DELETED',
  'INACTIVE',
  'NO_ADDRESS',
  'LEFT_OUT',
  'MAIL_WAITS',
  'MAILED_LATELY',
  'MAIL_REFUSED',
] as const;

/** Who would get a mail that tells how to sign in. */
const signInMailsPreview = z
  .object({
    users: count.meta({ description: 'Users who would get the mail now.' }),
    reasons: z.array(z.object({ reason: z.enum(UNMAILED), users: count })).meta({
      description:
        'Why the others would not: they have signed in, are deleted, inactive or locked, have no address, are left out ' +
        'of mail codes, have a mail that is still to be sent, got such a mail within 24 hours, or the last mail to them was refused.',
    }),
  })
  .meta({ id: 'ImportSignInMailsPreview' });
export type SignInMailsPreview = z.input<typeof signInMailsPreview>;

export const signInMailOperations = operations({
  previewSignInMails: {
    path: 'GET /admin/v1/imports/{importId}/sign_in_mails_preview',
    who: OWNER,
    of: 'import',
    summary: 'Preview the mail to users who have not signed in',
    description:
      'Counts the users whom `_send_sign_in_mails` would mail now, and the others with the reasons. Changes nothing.',
    answers: { 200: { schema: signInMailsPreview, example: exampleSignInMailsPreview } },
    errors: ['IMPORT-DRY-RUN', 'IMPORT-PREVIEWS', 'IMPORT-STATE'],
  },
  sendSignInMails: {
    path: 'POST /admin/v1/imports/{importId}/_send_sign_in_mails',
    who: OWNER,
    of: 'import',
    summary: 'Mail the users who have not signed in',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description:
      'Tells each user of an import that has ended and who has not signed in with which name they sign in, and where if ' +
      '`urlTemplate` says so; without a code or a password. The mails are written after the response, with the rights that the caller has then, and ' +
      'count as mails of the import. Nobody gets two within 24 hours, and nobody who signs in before theirs is sent. ' +
      'While mails are being written, nothing changes.',
    body: {
      schema: z.strictObject({ urlTemplate: urlTemplate().optional() }),
      error: 'IMPORT-ACTION',
      examples: { 'with the address of the application': { urlTemplate: 'https://app.example.com/' } },
    },
    answers: { 200: { schema: result, example: exampleResult, description: 'The import in its new state.' } },
    errors: ['IMPORT-DRY-RUN', 'IMPORT-MAILS-HELD', 'IMPORT-STATE', 'ORG-INACTIVE', 'URL-TEMPLATE-NOT-ALLOWED'],
  },
});
