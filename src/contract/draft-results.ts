/** What the API returns about drafts: what their files are, what they would mail, and what was tried with them. */
import { z } from 'zod';
import { count, FILE_KINDS, state, text } from './import-results.ts';
import { digits, timestamp } from './shapes.ts';

export const guess = z
  .object({
    source: text().meta({ description: 'The likeliest source; empty when it is not certain.' }),
    candidates: z.array(z.object({ source: text(), title: text(), certainty: z.number() })),
    files: z.array(
      z.object({
        fileId: text(),
        name: text(),
        kind: z.enum(FILE_KINDS),
        isHashes: z.boolean().meta({ description: 'It holds hashes for the users of another file.' }),
        format: text(),
        encoding: text(),
        alsoFits: z.array(text()).optional().meta({
          description:
            'If the encoding is a guess: others that fit about as well. `encoding` of `_convert` and of this call names one.',
        }),
        doubtful: z.number().meta({
          description: 'The share of the characters beyond ASCII that are hardly text and may be garbled, from 0 to 1.',
        }),
        isGzip: z.boolean(),
        sheet: text().optional().meta({ description: 'The sheet of a workbook (XLSX) that is read.' }),
        sheets: z
          .array(z.object({ name: text(), isHidden: z.boolean() }))
          .optional()
          .meta({ description: 'All sheets of a workbook. `sheet` of `_convert` and of this call names one.' }),
        delimiter: text(),
        columns: z.array(
          z.object({
            name: text(),
            samples: z.array(z.object({ text: text().optional(), hidden: text().optional() })),
            becomes: text().meta({ description: 'The field that the column becomes; empty when it is not taken.' }),
          }),
        ),
        problem: text()
          .optional()
          .meta({ description: 'Why no source recognizes the file, if the file itself is the reason.' }),
      }),
    ),
    mapping: z.record(z.string(), z.string()),
    namesOrganizations: z.boolean().meta({
      description: 'Whether each of the first users names an organization. If not, `_convert` needs `orgId`.',
    }),
  })
  .meta({ id: 'ImportGuess' });

/** The mails that an import may send, as users get them. */
export const mailsPreview = z
  .object({
    from: text().meta({ description: 'The sender, `Name <address>`.' }),
    domain: text().meta({ description: 'The domain of the sender.' }),
    server: z.enum(['SMTP', 'MAILBOX']).meta({
      description: '`MAILBOX`: no mail server is set, so mails are kept as files on the server and reach nobody.',
    }),
    spf: z
      .enum(['FOUND', 'NONE', 'UNKNOWN'])
      .optional()
      .meta({
        description:
          'Whether the domain of the sender has an SPF record, which says who may send its mails. `UNKNOWN`: DNS did not ' +
          'answer in time. Absent without a mail server.',
      }),
    language: text().meta({ description: 'The language of users who prefer none that there are texts in (BCP 47).' }),
    orgId: text().optional().meta({
      description: 'Whose mails these are: `orgId` of the query, or the organization with the most mails.',
    }),
    orgs: z.array(z.object({ orgId: text(), name: text(), mails: count })).meta({
      description:
        'How many mails the users of each organization would get, the most first; at most 100. Empty before the first check.',
    }),
    moreOrgs: count.meta({ description: 'How many further organizations have users who would get a mail.' }),
    kinds: z
      .object({ verification: count, initialisation: count, passkey: count })
      .optional()
      .meta({ description: 'How many mails of each kind the whole import would send. Absent before the first check.' }),
    mails: z.array(
      z.object({
        kind: z.enum(['verification', 'initialisation', 'passkey']),
        language: text().meta({ description: 'The language of this mail (BCP 47).' }),
        users: count.optional().meta({
          description:
            'How many users of the organization would get it, by the latest check. Absent before the first check.',
        }),
        subject: text(),
        text: text(),
        html: text().meta({ description: 'A document of its own. Show it in a sandboxed frame.' }),
        validForSeconds: count.meta({ description: 'How long its link works, from when the mail is written.' }),
      }),
    ),
  })
  .meta({
    id: 'ImportMailsPreview',
    description:
      'Each mail of an organization in the default language, and in each language that its users prefer. The code in its ' +
      'link is made up.',
  });

/** Imports of a file that a draft has too. */
export const earlierImports = z
  .object({
    imports: z
      .array(
        z.object({
          importId: digits(),
          fileName: text().meta({ description: 'The name of the file in this draft.' }),
          state,
          startDate: timestamp(),
          users: count.meta({ description: 'Users that it has imported.' }),
          orgIds: z.array(z.string()).meta({ description: 'The organizations of its users.' }),
        }),
      )
      .meta({ description: 'Newest first, at most 10.' }),
  })
  .meta({ id: 'EarlierImports' });

/** What trying a password of a draft tells. */
export const TRIED = ['FITS', 'DOES_NOT_FIT', 'NO_HASH', 'AT_SOURCE', 'INVALID_ENTRY', 'NO_USER'] as const;
export const passwordTry = z
  .object({
    result: z.enum(TRIED).meta({
      description:
        '`NO_HASH`: the entry has no password. `AT_SOURCE`: a password source verifies it at the first sign-in. ' +
        '`INVALID_ENTRY`: the user fails, and nothing was compared. `NO_USER`: no entry has this name.',
    }),
  })
  .meta({ id: 'ImportPasswordTry' });
