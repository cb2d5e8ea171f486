/** Causes and corrections of imports in the OpenAPI document. */
import { z } from 'zod';
import { REMEDIES } from '../../imports/answers.ts';
import { importEntry } from '../../imports/validate/schema.ts';
import { timestamp } from '../shapes.ts';
import { item, shownUser } from './import-shapes.ts';

const count = z.int().meta({ minimum: 0 });
const remedy = z.enum(REMEDIES).meta({ id: 'ImportRemedy' });
const ofUser = { index: count, orgId: z.string(), userId: z.string(), userName: z.string() };

export const causes = z
  .object({
    failed: count.meta({ description: 'Failed users, those corrected included.' }),
    corrected: count.meta({
      description: 'Users whose entries were corrected; `_retry` imports them, or `_start` those of a draft.',
    }),
    causes: z.array(
      z.object({
        cause: z.string().meta({ pattern: '^[0-9a-f]{8}$' }),
        id: z.string().meta({ description: 'Stable error id.' }),
        field: z.string().optional().meta({ description: 'The invalid field, array indices left out.' }),
        scheme: z.string().optional().meta({ description: 'Of the password hash.' }),
        message: z.string(),
        remedies: z.array(remedy),
        count,
        first: z.array(z.object(ofUser)).meta({ description: 'The first five, in body order.' }),
      }),
    ),
    moreCauses: count.meta({ description: 'How many causes there are in addition to these.' }),
    asOf: timestamp().meta({ description: 'When the users were counted.' }),
  })
  .meta({ id: 'ImportCauses' });

export const itemWithEntry = item
  .extend({
    entry: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'The entry without hashes and secrets, as far as it is stored; it may be invalid.' }),
  })
  .meta({ id: 'ImportItemWithEntry' });

const { profile, email } = shownUser.shape;
/** Only for the document, which cannot say that null removes a field. */
export const patchBody = importEntry
  .extend({ user: shownUser.extend({ profile: profile.partial(), email: email.partial() }).partial() })
  .partial()
  .meta({ id: 'ImportItemPatch' });

export const fixed = z
  .object({
    changed: count.meta({ description: 'Users whose entries were corrected, or who were left out.' }),
    unchanged: count.meta({ description: 'Users of the cause whom the remedy does not help.' }),
    examples: z
      .array(
        z.object({
          ...ofUser,
          field: z.string().optional(),
          before: z.unknown().optional(),
          after: z.unknown().optional(),
        }),
      )
      .optional()
      .meta({ description: 'With `dryRun`: the first five.' }),
    next: z
      .int()
      .meta({ type: ['integer', 'null'], minimum: 0, description: 'Where to continue; null when the cause is done.' }),
  })
  .meta({ id: 'ImportFixed' });

const user = { index: 17, orgId: 'acme', userId: 'wcoyote', userName: 'wcoyote' };
export const exampleCauses = {
  failed: 24,
  corrected: 0,
  causes: [
    {
      cause: '5f2b8c01',
      id: 'IMPORT-USER-INVALID',
      field: 'user.email.email',
      message: 'is required',
      remedies: ['user-name-as-email', 'leave-out'],
      count: 24,
      first: [user],
    },
  ],
  moreCauses: 0,
  asOf: '2026-01-31T12:00:00.000Z',
};
export const exampleItem = {
  ...user,
  state: 'ITEM_STATE_FAILED',
  entry: {
    userId: 'wcoyote',
    user: {
      userName: 'wcoyote',
      profile: { firstName: 'Wile E.', lastName: 'Coyote' },
      email: { email: 'wile@acme.example' },
      hashedPassword: { scheme: 'bcrypt' },
    },
  },
};
export const examplePatch = { user: { email: { email: 'wile@acme.example' } } };
export const exampleFixed = {
  code: 9,
  message: 'The entry was corrected. Retry the import to import this user.',
  details: [
    {
      '@type': 'type.googleapis.com/service.v1.ErrorDetail',
      id: 'IMPORT-USER-FIXED',
      message: 'The entry was corrected. Retry the import to import this user.',
    },
  ],
};
export const exampleFix = { cause: '5f2b8c01', remedy: 'user-name-as-email', domain: 'acme.example', dryRun: true };
