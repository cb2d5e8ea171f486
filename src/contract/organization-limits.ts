/** What an organization may use at most: the operations, and what can be limited. */
import { z } from 'zod';
import { operations } from './operation.ts';
import { IAM_OWNER_ONLY, OWNER } from './roles.ts';
import { changed, details, exampleDetails } from './shapes.ts';

/** Names of limits, as the API and the table `org_limits` have them. */
export const ORG_LIMITS = [
  'users',
  'importsAtOnce',
  'usersPerImport',
  'mailsPerDay',
  'smsPerDay',
  'requestsPerMinute',
] as const;
export type OrgLimit = (typeof ORG_LIMITS)[number];
/** What is not limited is absent. */
export type OrgLimits = { [name in OrgLimit]?: number };

const MOST = 1_000_000_000;
const PROBLEM = `must be a whole number from 0 to ${MOST}`;
const most = (description: string) => z.int(PROBLEM).min(0, PROBLEM).max(MOST, PROBLEM).nullish().meta({ description });

const MEANINGS: Record<OrgLimit, string> = {
  users: 'Users of the organization, with those who wait in imports that have not ended.',
  importsAtOnce: 'Imports with users of the organization that run or are paused; dry runs count.',
  usersPerImport: 'Users of the organization in one import, also those that are invalid or exist.',
  mailsPerDay: 'Emails and text messages to users of the organization, in a day of UTC.',
  smsPerDay:
    'Text messages to users of the organization, in a day of UTC, so that nobody makes it pay for more; absent: the ' +
    'setting SMS_PER_DAY.',
  requestsPerMinute:
    'Calls of the API by machine users of the organization and by its people with a role, but not in the console.',
};

/** Absent or null: not limited. */
export const orgLimitsBody = z
  .object({
    users: most(MEANINGS.users),
    importsAtOnce: most(MEANINGS.importsAtOnce),
    usersPerImport: most(MEANINGS.usersPerImport),
    mailsPerDay: most(MEANINGS.mailsPerDay),
    smsPerDay: most(MEANINGS.smsPerDay),
    requestsPerMinute: most(MEANINGS.requestsPerMinute),
  })
  .transform((given) => {
    const set = ORG_LIMITS.filter((name) => typeof given[name] === 'number');
    return Object.fromEntries(set.map((name) => [name, given[name]])) as OrgLimits;
  });

const n = (description?: string) =>
  z
    .int()
    .min(0)
    .meta(description === undefined ? {} : { description });
const shown = (name: OrgLimit) =>
  z
    .int()
    .optional()
    .meta({ description: `${MEANINGS[name]} Absent: not limited.` });

export const organizationLimitOperations = operations({
  getOrgLimits: {
    path: 'GET /management/v1/orgs/me/limits',
    who: OWNER,
    of: 'org',
    summary: 'Get the limits of an organization, and what it uses',
    answers: {
      200: {
        schema: z.object({
          details,
          users: shown('users'),
          importsAtOnce: shown('importsAtOnce'),
          usersPerImport: shown('usersPerImport'),
          mailsPerDay: shown('mailsPerDay'),
          smsPerDay: z.int().optional().meta({ description: MEANINGS.smsPerDay }),
          requestsPerMinute: shown('requestsPerMinute'),
          usage: z.object({
            users: n(),
            pendingUsers: n('Users of imports that have not ended who are yet to be written.'),
            importsAtOnce: n(),
            mailsPerDay: n(
              'Sent or tried in this day of UTC, since they are limited. Absent: not limited, so not counted.',
            ).optional(),
            smsPerDay: n('Asked for or sent in this day of UTC. Absent: there is no limit of its own.').optional(),
            requestsPerMinute: n(
              'In the minute that runs, which the first request began; of all processes together, with requests that ' +
                'were refused. Absent: not limited, so not counted.',
            ).optional(),
          }),
        }),
        example: {
          details: exampleDetails,
          users: 50_000,
          importsAtOnce: 2,
          mailsPerDay: 20_000,
          usage: { users: 10_240, pendingUsers: 500, importsAtOnce: 1, mailsPerDay: 1204 },
        },
      },
    },
  },
  setOrgLimits: {
    path: 'PUT /management/v1/orgs/me/limits',
    who: IAM_OWNER_ONLY,
    of: 'org',
    summary: 'Set the limits of an organization',
    description:
      'Replaces all limits: what is absent or null is not limited. A limit below what is already there takes nothing ' +
      'away, it lets nothing be added.',
    body: {
      schema: orgLimitsBody,
      error: 'ORG-LIMITS',
      examples: { 'users and imports': { users: 50_000, importsAtOnce: 2 } },
    },
    answers: { 200: changed },
    errors: ['ORG-STATE'],
  },
});
