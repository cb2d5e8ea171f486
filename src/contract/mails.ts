/** Mails as people get them, before any is sent: the kinds, and the operations. */
import { z } from 'zod';
import { language } from '../platform/fields.ts';
import { brandingBody } from './branding.ts';
import { PREVIEW_KINDS } from './link-templates.ts';
import { operations } from './operation.ts';
import { ANY_ROLE, MANAGER } from './roles.ts';

const body = z.strictObject({
  kind: z.enum(PREVIEW_KINDS, `must be one of ${PREVIEW_KINDS.join(', ')}`),
  language: language()
    .optional()
    .meta({ description: 'A language tag, as users have one; absent: that of users who prefer none.' }),
});

const BODY = {
  schema: body,
  error: 'MAIL-PREVIEW-INVALID',
  examples: { 'an invitation in German': { kind: 'initialise', language: 'de' } },
} as const;

const PREVIEW = {
  ...BODY,
  schema: body.extend({
    branding: brandingBody.optional().meta({
      description: 'A change of the branding that is not stored, as `PUT /management/v1/policies/branding` takes it.',
    }),
  }),
  examples: {
    ...BODY.examples,
    'with a branding that is not stored': { kind: 'initialise', branding: { name: 'Acme', primaryColor: '#0b7a3e' } },
  },
} as const;

/** A mail as it is shown. */
export const mailContent = {
  language: z.string().meta({ description: 'The language of the mail (BCP 47).' }),
  subject: z.string(),
  text: z.string(),
  html: z.string().meta({ description: 'A document of its own. Show it in a sandboxed frame.' }),
};

export const mailOperations = operations({
  previewMail: {
    path: 'POST /management/v1/mails/_preview',
    who: ANY_ROLE,
    of: 'org',
    summary: 'Preview a mail of an organization',
    description:
      'The mail as a user of the organization gets it. Its user and its code are made up. Changes and sends nothing. ' +
      'With `branding`, only callers may who may change the branding: the mail as it would be after that change.',
    body: PREVIEW,
    answers: {
      200: {
        schema: z.object(mailContent).meta({ id: 'MailPreview' }),
        example: {
          language: 'de',
          subject: 'Acme: Richten Sie Ihr Konto ein',
          text: 'Guten Tag Ann Example,\n\nSie haben ein neues Konto bei Acme.\n',
          html: '<!doctype html>\n<html lang="de" dir="ltr">…</html>\n',
        },
      },
    },
  },
  sendSampleMail: {
    path: 'POST /management/v1/mails/_sample',
    who: MANAGER,
    of: 'org',
    tries: 'always',
    summary: 'Send yourself a sample of a mail',
    description:
      'Sends the mail of `_preview` to the verified email address of the caller, and to nobody else. Its code is made ' +
      'up. At most 20 an hour for each caller. It counts as a mail of the organization.',
    body: BODY,
    answers: {
      200: {
        schema: z.object({ address: z.string().meta({ description: 'Where it goes.' }) }).meta({ id: 'MailSample' }),
        example: { address: 'ann@acme.example' },
      },
    },
    errors: ['MAIL-NO-ADDRESS', 'ORG-INACTIVE'],
  },
});
