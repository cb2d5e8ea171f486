/** `muster orgs limits`: what an organization may use at most. */
import type { Answer } from '../../contract/client.ts';
import { command } from '../command.ts';
import { ORG, text } from '../options.ts';
import { findOrg } from '../service/find.ts';

/** By the name of the limit in the API: its option, what it limits, and its use in the answer. */
const LIMITS = [
  ['users', 'users', 'users'],
  ['importsAtOnce', 'imports-at-once', 'imports at once'],
  ['usersPerImport', 'users-per-import', 'users per import'],
  ['mailsPerDay', 'mails-per-day', 'mails a day'],
  ['smsPerDay', 'sms-per-day', 'text messages a day'],
  ['requestsPerMinute', 'requests-per-minute', 'requests a minute'],
] as const;
type Name = (typeof LIMITS)[number][0];
/** Of one limit there is no use: it is of each import. */
type Usage = Answer<'getOrgLimits'>['usage'] & { usersPerImport?: never };

const most = (what: string) => ({ ...text(`${what}: a whole number, or none for no limit`), coerce: limitOf }) as const;

/** @returns null for `none` @throws Error for anything else than a whole number; yargs reports it as wrong usage */
function limitOf(given: string | undefined): number | null | undefined {
  if (given === undefined) return undefined;
  if (given === 'none') return null;
  if (/^\d{1,10}$/.test(given)) return Number(given);
  throw new Error(`A limit must be a whole number or none, but is "${given}".`);
}

export const limits = command({
  usage: 'limits <org>',
  describe: 'show what an organization may use and uses; set its limits (IAM_OWNER)',
  options: {
    org: ORG,
    users: most('users of the organization'),
    'imports-at-once': most('imports that have not ended'),
    'users-per-import': most('users of one import'),
    'mails-per-day': most('emails and text messages to its users'),
    'sms-per-day': most('text messages to its users'),
    'requests-per-minute': most('calls of the API by its programs and administrators'),
  },
  examples: [
    ['$0 orgs limits acme', 'show them'],
    ['$0 orgs limits acme --users 50000 --imports-at-once 2', 'set two, leave the others'],
    ['$0 orgs limits acme --users none', 'no longer limit its users'],
  ],
  async run(
    { out, api },
    { users, importsAtOnce, usersPerImport, mailsPerDay, smsPerDay, requestsPerMinute, ...given },
  ) {
    const org = await findOrg(api, given.org);
    const changes = { users, importsAtOnce, usersPerImport, mailsPerDay, smsPerDay, requestsPerMinute };
    const isChange = Object.values(changes).some((value) => value !== undefined);
    const before = await api.call('getOrgLimits', { org });
    if (isChange) {
      const body = Object.fromEntries(
        LIMITS.map(([name]) => [name, changes[name] === undefined ? before[name] : changes[name]]),
      );
      await api.call('setOrgLimits', { org, body });
    }
    const answer = isChange ? await api.call('getOrgLimits', { org }) : before;
    out.result(answer);
    const { usage } = answer;
    out.table(
      ['LIMIT', 'AT MOST', 'IN USE'],
      LIMITS.map(([name, , shown]) => [shown, String(answer[name] ?? 'none'), useOf(name, usage)]),
    );
  },
});

function useOf(name: Name, usage: Usage): string {
  const use = String(usage[name] ?? '');
  return name === 'users' && usage.pendingUsers > 0 ? `${use} and ${usage.pendingUsers} in imports` : use;
}
