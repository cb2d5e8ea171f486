/**
 * Options of an import: bodies and query strings that start, check or convert one, and the format of its time limit.
 */
import { z } from 'zod';
import { id, requiredText, text } from '../platform/fields.ts';
import { ENCODINGS } from '../sources/read/encoding.ts';
import { SOURCES } from '../sources/registry.ts';
import { isRpId } from '../sources/rp-id.ts';
import { webhookUrl } from './shapes.ts';

export const onExisting = z
  .enum(['fail', 'skip', 'update'], 'must be fail, skip or update')
  .default('fail')
  .meta({ description: 'What happens when a user already exists.' });

export const mails = z
  .enum(['auto', 'none'], 'must be auto or none')
  .default('auto')
  .meta({ description: '`auto` sends the mails that are due; `none` holds them until `_send_mails`.' });

export const enterpriseMailCodes = z
  .boolean('must be true or false')
  .default(true)
  .meta({
    description:
      'If false, users who came only by a connection of their company are left out of mail codes: no code and no mail ' +
      'gives them a way in, until somebody who manages users allows it.',
  });

export const timeout = z.string('must be a string with a duration such as "30m0s"');

/** The body of `_check`. */
export const checkBody = z.object({
  timeout: timeout.default('1h').meta({ description: 'Time limit of the check.' }),
  onExisting,
  mails,
  enterpriseMailCodes,
});

/** The body of `_start`. */
export const startBody = z.object({
  timeout: timeout.meta({ description: 'Time limit of the import, from now on.' }),
  onExisting,
  mails,
  enterpriseMailCodes,
  skipBroken: z
    .boolean('must be true or false')
    .default(false)
    .meta({ description: 'Import the others when some records of the files cannot be read.' }),
  webhook: webhookUrl().optional().meta({
    description: 'URL that receives a message when the import ends, signed with the organization’s webhook secret.',
  }),
});

const MOST_MAPPED = 200;
const NAMES = SOURCES.map((source) => source.name);

const sourceName = () =>
  z.string('must be a string').refine((name) => NAMES.includes(name), `must be one of ${NAMES.join(', ')}`);

const sheetName = () => text(100);

const encodingName = () => z.enum(ENCODINGS, `must be one of ${ENCODINGS.join(', ')}`);

/** The query of `GET /admin/v1/imports/{importId}/mails_preview`. */
export const mailsPreviewQuery = z.strictObject({
  orgId: text(200).optional().meta({
    description:
      'Shows the mails of this organization of the import. Default: the one whose users would get the most mails.',
  }),
});

/** The query of `GET /admin/v1/imports/{importId}/guess`. */
export const guessQuery = z.strictObject({
  encoding: encodingName().optional().meta({
    description: 'Reads the files in this encoding, as `_convert` would with it. Default: as recognized.',
  }),
  sheet: sheetName().optional().meta({
    description: 'Reads this sheet of a workbook, as `_convert` would with it. Default: the first that is not hidden.',
  }),
  source: sourceName()
    .optional()
    .meta({
      description:
        'Reads the files as exports of this source: `columns` and `mapping` are then as `_convert` would use them with it, ' +
        'also where the files are recognized as those of another source. Default: as recognized; `csv` for tables that no source recognizes.',
    }),
});

/** The body of `_convert`. */
export const convertBody = z.object({
  source: sourceName()
    .optional()
    .meta({ description: 'The system that the files come from. Default: as they are recognized.' }),
  mapping: z
    .record(text(200), text(200))
    .refine((map) => Object.keys(map).length <= MOST_MAPPED, `must have at most ${MOST_MAPPED} fields`)
    .optional()
    .meta({
      description:
        'Columns by field, for the sources `csv` and `ndjson`: `{"email": "Mail"}`. For other sources only what says a ' +
        'state, such as `{"disabled": "Sperre"}`, `state`, `password` (empty: left out), `salt`, `iterations` and `metadata.…`.',
    }),
  hashFormat: text(200)
    .optional()
    .meta({
      description:
        'How hashes that do not say it were made, as a formula of docs/passwords.md: `sha1(salt + sha1(password))`. ' +
        'The salt and the rounds of each user come from the columns `salt` and `iterations` of `mapping`, or from ' +
        'columns with such names.',
    }),
  orgId: id().optional().meta({ description: 'The organization of users whose entry names none.' }),
  idPrefix: text(100).optional().meta({ description: 'Text before every user id of the files.' }),
  quoteAddresses: z.boolean('must be true or false').optional().meta({
    description:
      'Writes addresses with dots at an end of their local part, or two in a row, in quotes, as mail standards want.',
  }),
  unknownPasswords: z
    .enum(['keep', 'drop'], 'must be keep or drop')
    .optional()
    .meta({
      description:
        'Passwords that the old system perhaps made up, so that users may not know them: `keep` counts them as known, `drop` ' +
        'drops them. Default: the users have them, and count as users without a password too.',
    }),
  passkeyRpId: z
    .string('must be a host name such as auth.example.com')
    .refine((host) => isRpId(host.toLowerCase()), 'must be a host name such as auth.example.com')
    .optional()
    .meta({
      description:
        'The host that passkeys were made for (RP id), for those whose export does not name it: `auth.example.com`. ' +
        'Default: such passkeys are dropped.',
    }),
  format: z.enum(['json', 'ndjson', 'csv', 'ldif'], 'must be json, ndjson, csv or ldif').optional(),
  encoding: encodingName().optional().meta({ description: 'The encoding of all files. Default: as recognized.' }),
  sheet: sheetName().optional().meta({
    description: 'The sheet of a workbook (XLSX) to read. Default: the first that is not hidden.',
  }),
  strict: z.boolean('must be true or false').optional(),
  withoutEmail: z.boolean('must be true or false').optional(),
  passwordSource: id().optional().meta({
    description:
      'Id of a password source of the organization: it verifies users whose password the files do not contain.',
  }),
});

/** The body of `POST /admin/v1/imports`. */
export const createBody = z.object({
  orgId: id().optional().meta({ description: 'The organization of users whose entry names none.' }),
});

/** The body of `_try_password`. A password is as long as at a sign-in (sessions.ts). */
export const tryPasswordBody = z.strictObject({
  loginName: requiredText(200).meta({ description: 'The user name, the email address or the user id of an entry.' }),
  password: requiredText(1000),
});

const yesOrNo = () => z.enum(['true', 'false'], 'must be true or false').optional();

/** The query of `POST /admin/v1/import`. */
export const importQuery = z.strictObject({
  strict: yesOrNo().meta({
    description:
      'If true, a user with an unknown field fails. By default the field is ignored and reported as a warning.',
  }),
  dryRun: yesOrNo().meta({ description: 'If true, validates every user and reports the result, but writes no user.' }),
  onExisting: z
    .enum(['fail', 'skip', 'update'], 'must be fail, skip or update')
    .optional()
    .meta({ description: 'What happens when a user already exists. Default: `fail`.' }),
  mails: z.enum(['auto', 'none'], 'must be auto or none').optional().meta({
    description: '`auto` sends the mails that are due; `none` holds them until `_send_mails`. Default: `auto`.',
  }),
  enterpriseMailCodes: yesOrNo().meta({
    description:
      'If false, users who came only by a connection of their company (`oldSignIn.ways`) are left out of mail codes: no ' +
      'code and no mail gives them a way in, until somebody who manages users allows it. Default: true.',
  }),
  withoutEmail: yesOrNo().meta({
    description:
      'If true, users without an email address are imported. They need a `userName`, log in with it, and get no mail. ' +
      'Leave out `email`, or send it without an address. By default such a user fails.',
  }),
  passwordSource: id()
    .optional()
    .meta({
      description:
        'Id of a password source of the organization. It verifies the first sign-in of every user who has no password ' +
        'of their own, so they get no initialisation email.',
    }),
  source: z
    .string()
    .regex(/^[\w.-]{1,50}$/, 'must have 1 to 50 letters, digits, dots, hyphens or underscores')
    .optional()
    .meta({
      description: 'The system that the users come from, such as `auth0`, for people who read the list of imports.',
    }),
  draft: yesOrNo().meta({
    description:
      'If true, the users are kept as a draft, which `_check` judges and `_start` imports without sending them again. ' +
      'The timeout, `onExisting`, `mails`, `enterpriseMailCodes` and `webhook` are then options of `_start`.',
  }),
  webhook: webhookUrl().optional().meta({
    description: 'URL that receives a message when the import ends, signed with the organization’s webhook secret.',
  }),
});

/** Formats of the report of an import. */
export const FORMATS = ['ndjson', 'csv', 'dataorgs'] as const;

export type ReportFormat = (typeof FORMATS)[number];

/** Units of durations in the format of Go's time.ParseDuration: `1h30m0s`, `10m`, `300ms`, `1.5h`. */
const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const WHOLE = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** Milliseconds, possibly with a fraction; undefined when `text` is not a Go duration. */
export function parseDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0;
  if (text.length > 100 || !WHOLE.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(PART)) ms += Number(amount) * (UNIT_MS[unit as string] as number);
  return text.startsWith('-') ? -ms : ms;
}

/**
 * What is wrong with the timeout of an import, if anything. It must be more than 0 and at most `max`.
 * @param max the longest allowed, as a Go duration
 */
export function timeoutProblem(value: unknown, max: string): string | undefined {
  if (value === undefined) return 'is required';
  if (typeof value !== 'string') return 'must be a string with a duration such as "30m0s"';
  const ms = parseDuration(value);
  if (ms === undefined) return 'must be a duration such as "30m0s", "1.5h" or "300ms"';
  // Go counts nanoseconds.
  if (ms < 1e-6) return 'must be more than 0';
  if (ms > (parseDuration(max) ?? 0)) return `must be at most ${max}`;
  return undefined;
}
