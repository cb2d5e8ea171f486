/**
 * What the API returns about imports, as schemas, with the headers of the operations and the states of imports and
 * items.
 */
import { z } from 'zod';
import { PEPPER_MODES } from '../passwords/marks.ts';
import { WORKER_ROLE_NAMES } from '../platform/config.ts';
import { id } from '../platform/fields.ts';
import type { Summary } from '../sources/summary.ts';
import { importEntry, importUser, MAX_ELEMENTS } from './import-entry.ts';
import { checkBody, convertBody } from './import-options.ts';
import { signIn, signInCounts } from './import-sign-ins.ts';
import { REMEDIES } from './remedies.ts';
import { createdDetails, digits, error, timestamp, timestampOrNull } from './shapes.ts';

/** Why an undo kept a user, as the items show it. */
export const KEPT = ['SIGNED_IN', 'CHANGED', 'MEMBER', 'DELETED', 'NOT_CREATED'] as const;

/** The states of items, without their prefix `ITEM_STATE_`. */
export const ITEM_STATES = ['PENDING', 'SUCCEEDED', 'SKIPPED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'UNDONE'] as const;

/** The states of imports that have started, without their prefix `IMPORT_STATE_`. */
export const IMPORT_STATES = [
  'RUNNING',
  'PAUSED',
  'UNDOING',
  'SUCCEEDED',
  'COMPLETED_WITH_ERRORS',
  'TIMED_OUT',
  'CANCELLED',
  'UNDONE',
] as const;

/** The states of an import until it starts, without their prefix `IMPORT_STATE_`. */
export const DRAFT_STATES = [
  'UPLOADING',
  'CONVERTING',
  'UNREADABLE',
  'DRAFT',
  'CHECKING',
  'CHECKED',
  'DISCARDED',
] as const;

/** What a file of a draft holds. */
export const FILE_KINDS = ['users', 'hashes', 'hash_parameters'] as const;
export type FileKind = (typeof FILE_KINDS)[number];

const { metadata, idps } = importUser.shape;
/** The service counts the elements before it reads them; the document shows their shape. */
export const shownUser = importUser
  .extend({
    metadata: metadata.unwrap().out.meta({ maxItems: MAX_ELEMENTS }).optional(),
    idps: idps.unwrap().out.meta({ maxItems: MAX_ELEMENTS }).optional(),
  })
  .meta({ id: 'ImportUser' });

/** Only for the document, as the service reads the body as a stream. The schema of the users also validates them. */
export const importBody = z
  .object({
    dataOrgs: z.object({
      orgs: z
        .array(z.object({ orgId: id(), humanUsers: z.array(importEntry.extend({ user: shownUser })) }))
        .meta({ minItems: 1 }),
    }),
    timeout: duration(),
  })
  .meta({ id: 'ImportBody' });

export const keyHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[ -~]{1,255}$/)
    .optional()
    .meta({
      description:
        'Makes the request safe to repeat: for 24 hours, the same request with the same key returns the same ' +
        'import or user, and imports nothing again.',
      examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'],
    }),
});
export const pepperHeaders = z.object({
  'Password-Pepper': z
    .string()
    .regex(/^[A-Za-z0-9+/]+={0,2}$/)
    .optional()
    .meta({
      description:
        'Base64 of the pepper that the old system added to every password before it hashed it. It is stored encrypted, ' +
        'while hashes of this import need it; the first login of a user replaces the hash by one without it.',
      examples: ['c2VhIHNhbHQ='],
    }),
  'Password-Pepper-Mode': z
    .enum(PEPPER_MODES)
    .optional()
    .meta({
      description:
        'How the pepper was added: after the password (`suffix`, the default; Devise), before it, or as the key of ' +
        'HMAC-SHA-256, whose result in hexadecimal digits or base64 was hashed.',
    }),
});
export const bulkHeaders = keyHeaders.extend({
  ...pepperHeaders.shape,
  Prefer: z
    .string()
    .optional()
    .meta({
      description: '`wait=N` (RFC 7240): wait up to N seconds, and return the final result if it is ready by then.',
      examples: ['wait=30'],
    }),
});
export const bulkAnswerHeaders = z.object({
  Location: z.string().optional().meta({ description: 'URL of the import.' }),
  'Preference-Applied': z.string().optional(),
});

/** A Go duration: `1h30m0s`, `10m`, `300ms`. */
export function duration() {
  return z.string().meta({
    pattern: '^\\+?(?:(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:ns|us|µs|μs|ms|s|m|h))+$',
    maxLength: 100,
    examples: ['30m0s'],
  });
}

export const count = z.int().meta({ minimum: 0 });
const counts = z
  .object({
    total: count,
    pending: count,
    succeeded: count,
    skipped: count,
    failed: count,
    timedOut: count,
    cancelled: count,
    undone: count,
  })
  .meta({ id: 'ImportCounts', description: 'The other counts add up to `total`.' });

export const state = z
  .enum([...DRAFT_STATES, ...IMPORT_STATES].map((name) => `IMPORT_STATE_${name}`))
  .meta({ id: 'ImportState' });

export const warnings = z.array(z.object({ path: z.string(), count, message: z.string() }));

export const accepted = z
  .object({ importId: digits(), state, counts, deadline: timestamp(), details: createdDetails })
  .meta({ id: 'ImportAccepted' });

export const text = () => z.string();
const files = z.array(
  z.object({
    fileId: text(),
    name: text(),
    kind: z.enum(FILE_KINDS),
    size: count.meta({ description: 'Bytes.' }),
    offset: count.meta({ description: 'Bytes that have arrived.' }),
  }),
);
const groups = z.array(
  z.object({
    id: text(),
    message: text(),
    count,
    examples: z.array(z.object({ file: text(), line: count })).meta({ description: 'The first three.' }),
  }),
);
/**
 * What the command line prints before an import. Programs of this repository have the type of all its members; those
 * that generators write need none.
 */
const summary = z
  .looseObject({
    users: count,
    notes: groups.meta({ description: 'What was changed or dropped during the conversion.' }),
    skipped: groups.meta({ description: 'Records that are not users to import.' }),
    broken: groups.meta({ description: 'Records that cannot be read.' }),
    unusedHashes: count.meta({ description: 'Hashes that match no user in the files.' }),
  })
  .meta({
    description:
      'What the conversion found, as `muster import` prints it: counts, hashes by scheme, mails by kind, and places.',
  }) as unknown as z.ZodType<Omit<Summary, 'orgs'>, Omit<Summary, 'orgs'>>;
const draft = z
  .object({
    createdBy: text(),
    expiresAt: timestamp(),
    orgId: text().meta({ description: 'The organization of users whose entry names none; empty if there is none.' }),
    files,
    source: text().meta({ description: 'The system that the users were converted from; empty before.' }),
    conversion: convertBody.optional().meta({ description: 'The body of the latest `_convert`.' }),
    pepper: z.enum(PEPPER_MODES).optional().meta({
      description: 'If its hashes need a pepper: how it was added. The pepper itself is never returned.',
    }),
    settings: checkBody.optional().meta({ description: 'The body of the latest `_check`.' }),
    progress: z
      .object({ bytes: count, totalBytes: count, users: count })
      .optional()
      .meta({ description: 'While the files are converted: bytes read, bytes to read, users so far.' }),
    summary: summary.optional(),
    check: z
      .object({ importId: digits(), state, counts })
      .optional()
      .meta({ description: 'The dry run of the latest check: an import of its own, with items and a report.' }),
    error: error.optional().meta({ description: 'Why the files cannot be read.' }),
  })
  .meta({ id: 'ImportDraft', description: 'Only before the import starts: its files, and what was found in them.' });

const progressShape = {
  ...accepted.shape,
  dryRun: z.boolean(),
  source: text().optional().meta({ description: 'The system that the users come from, if it is known.' }),
  files: z.array(text()).optional().meta({
    description: 'The names of the files of its users, if they came in files; before the start, see `draft.files`.',
  }),
  checkOf: digits().optional().meta({
    description: 'Of the dry run that checks a draft: the id of the draft, as long as its users are the same.',
  }),
  timeout: z.string(),
  startDate: timestamp().optional().meta({ description: 'Absent before a draft starts.' }),
  mails: z.object({
    pending: count,
    held: count.meta({ description: 'Mails of an import with `mails=none` that wait for `_send_mails`.' }),
    sent: count,
    failed: count,
  }),
  usersPerSecond: z.number().meta({ minimum: 0 }),
  eta: timestampOrNull(),
  orgs: z.array(z.object({ orgId: z.string(), counts })),
  draft: draft.optional(),
};
/** The result without errors, success and warnings, as the list and the events show it. */
export const progress = z.object(progressShape).meta({ id: 'ImportProgress' });

export const result = z
  .object({
    ...progressShape,
    warnings: warnings.meta({
      description: 'Unknown fields of the body, at most 100; and why the import was stopped, with an empty path.',
    }),
    errors: z
      .array(z.object({ type: z.literal('human_user'), id: z.string(), message: z.string() }))
      .meta({ description: 'The first 100 failed users.' }),
    success: z
      .object({ orgs: z.array(z.object({ orgId: z.string(), humanUserIds: z.array(z.string()) })) })
      .meta({ description: 'The first 1000 imported users.' }),
    hashes: z
      .array(z.object({ scheme: z.string(), users: count, verifiable: z.boolean() }))
      .optional()
      .meta({ description: 'Dry runs only: password hashes by scheme, and whether the service can verify them.' }),
    mailKinds: z
      .object({ verification: count, initialisation: count })
      .optional()
      .meta({
        description:
          'Dry runs only: the mails that would be sent, counted in `mails.pending` too. Those that ask for a passkey are ' +
          'initialisations.',
      }),
    signIn: signInCounts.optional().meta({
      description:
        'How the users sign in, by the login policies as they are now. Exact when the import has ended; while it runs, ' +
        'with users who have failed since it began, and by the policies of a second ago. Absent for imports of earlier ' +
        'versions.',
    }),
    webhook: z
      .object({
        state: z.enum(['WEBHOOK_STATE_PENDING', 'WEBHOOK_STATE_SENT', 'WEBHOOK_STATE_FAILED']),
        attempts: count,
        lastError: z.string().optional(),
      })
      .optional()
      .meta({ description: 'Delivery of the webhook for the last end of the import, if the import has a webhook.' }),
    missingRoles: z
      .array(z.enum(WORKER_ROLE_NAMES))
      .optional()
      .meta({ description: 'Roles of workers that the import waits for: no live worker has them.' }),
  })
  .meta({ id: 'ImportResult' });

export const stateCounts = z
  .object({
    states: z
      .record(z.string(), count)
      .meta({ description: 'By state, such as `IMPORT_STATE_RUNNING`. Dry runs are not among them.' }),
    drafts: count.meta({ description: 'Imports that have not started.' }),
    dryRuns: count.meta({ description: 'Dry runs, such as the checks of drafts.' }),
    isCapped: z.boolean().meta({ description: 'There are more imports; the newest 10,000 are counted.' }),
  })
  .meta({ id: 'ImportStateCounts' });

export const itemState = z.enum(ITEM_STATES.map((name) => `ITEM_STATE_${name}`)).meta({ id: 'ImportItemState' });
export const item = z
  .object({
    index: count,
    orgId: z.string(),
    userId: z.string(),
    userName: z.string(),
    state: itemState,
    error: error.optional(),
    kept: z.enum(KEPT).optional().meta({ description: 'Why an undo did not remove the user.' }),
    changed: z
      .array(z.string())
      .optional()
      .meta({ description: 'Fields that the import changed in an existing user.', examples: [['profile.firstName']] }),
    signIn: signIn.optional().meta({ description: 'Only of users that are imported or can be.' }),
  })
  .meta({ id: 'ImportItem' });

export const rates = z
  .object({
    points: z.array(
      z.object({
        at: timestamp().meta({ description: 'End of the interval.' }),
        seconds: z.number().meta({ minimum: 0, description: 'How long the import ran since the previous point.' }),
        succeeded: count,
        skipped: count,
        failed: count,
        usersPerSecond: z.number().meta({ minimum: 0 }),
      }),
    ),
  })
  .meta({ id: 'ImportRates' });

export const undoPreview = z
  .object({
    removed: count.meta({ description: 'Users that an undo would remove.' }),
    kept: count,
    reasons: z
      .array(z.object({ reason: z.enum(KEPT), users: count }))
      .meta({ description: 'Why users are kept; the counts add up to `kept`.' }),
  })
  .meta({ id: 'ImportUndoPreview' });

const remedy = z.enum(REMEDIES).meta({ id: 'ImportRemedy' });
const earlier = count.optional().meta({ description: 'Index of the first entry that has the id or the user name.' });
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
        remedies: z.array(remedy).meta({
          description: 'Those that help, the best one first; while the import runs, those that may help.',
        }),
        fixes: z
          .array(z.object({ remedy, users: count }))
          .optional()
          .meta({ description: 'How many users each remedy that changes entries fixes, of those in `examined`.' }),
        examined: count
          .optional()
          .meta({ description: 'Users of the cause to whose entries the remedies were tried.' }),
        count,
        first: z.array(z.object({ ...ofUser, earlier })).meta({ description: 'The first five, in body order.' }),
      }),
    ),
    moreCauses: count.meta({ description: 'How many causes there are in addition to these.' }),
    asOf: timestamp().meta({ description: 'When the users were counted.' }),
  })
  .meta({ id: 'ImportCauses' });

export const itemWithEntry = item
  .extend({
    earlier,
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
      .custom<number | null>((value) => value === null || Number.isInteger(value))
      .meta({
        type: ['integer', 'null'],
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Where to continue; null when the cause is done.',
      }),
  })
  .meta({ id: 'ImportFixed' });

/**
 * How the API shows a pending item of an import in this state: as timed out or cancelled once the import is, and as
 * cancelled from an undo on. The table keeps it `pending`.
 */
export function openState(importState: string): 'pending' | 'timed_out' | 'cancelled' {
  if (importState === 'timed_out') return importState;
  return ['cancelled', 'undoing', 'undone'].includes(importState) ? 'cancelled' : 'pending';
}

/** How the API shows a pending item of an import; one of ITEM_STATES. @param of.state `IMPORT_STATE_…` */
export function openStateOf({ state }: { state: string }): string {
  return openState(state.replace('IMPORT_STATE_', '').toLowerCase()).toUpperCase();
}

/** The state in the table for one of ITEM_STATES; null when no item of this import can have it. */
export function storedState(of: { state: string }, state: string | undefined): string | undefined | null {
  if (state === undefined) return undefined;
  if (['PENDING', 'TIMED_OUT', 'CANCELLED'].includes(state)) return openStateOf(of) === state ? 'pending' : null;
  return state.toLowerCase();
}
