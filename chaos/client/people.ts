/** The users of an import: of every kind, and the same for the same plan. */
import { HASH } from '../../test/support/imports/imports.ts';
import type { SentUser } from './sent.ts';

/** An entry as the body has it, and what the checker has to know. */
export interface Person {
  entry: { userId?: string; state?: string; user: Record<string, unknown> };
  sent: SentUser;
}

const OLD_NAME = 'Arbor';

/** Each kind recurs with its own period, so that kinds also occur together in small imports. */
const every = (period: number, place: number) => (i: number) => i % period === place;
const isUnverified = every(8, 1);
const hasNoPassword = every(11, 2);
const hasPlainPassword = every(150, 7);
const isInvalid = every(37, 5);
const isInactive = every(17, 6);
const hasNoId = every(4, 3);
const repeatsAnother = every(61, 60);

/** `count` users of two organizations: the first half of one, the rest of the other. */
export function newPeople(prefix: string, count: number, orgIds: readonly [string, string]): Person[] {
  const people: Person[] = [];
  for (let i = 0; i < count; i++) {
    const orgId = i < count / 2 ? orgIds[0] : orgIds[1];
    const first = repeatsAnother(i) ? people.findLast(({ sent }) => sent.fate === 'created') : undefined;
    people.push(first && first.sent.orgId === orgId ? repeated(first) : newPerson(`${prefix}${i}`, i, orgId));
  }
  return people;
}

function repeated({ entry, sent }: Person): Person {
  return { entry, sent: { ...sent, fate: 'failed', mailDue: false } };
}

function newPerson(userName: string, i: number, orgId: string): Person {
  const password = hasNoPassword(i) ? 'none' : hasPlainPassword(i) ? 'plain' : 'hash';
  const userId = hasNoId(i) ? undefined : `id-${userName}`;
  const [inactive, invalid, verified] = [isInactive(i), isInvalid(i), !isUnverified(i)];
  const email = `${userName}@chaos.test`;
  const entry = {
    ...(userId ? { userId } : {}),
    ...(inactive ? { state: 'USER_STATE_INACTIVE' } : {}),
    user: {
      userName,
      profile: { firstName: 'Ann', lastName: OLD_NAME },
      email: { email: invalid ? 'no address' : email, isEmailVerified: verified },
      ...(password === 'hash' ? { hashedPassword: { value: HASH } } : {}),
      ...(password === 'plain' ? { password: 'correct horse' } : {}),
    },
  };
  const state = inactive ? 'inactive' : password === 'none' ? 'initial' : 'active';
  const mailDue = !invalid && !inactive && (!verified || password === 'none');
  const fate = invalid ? 'failed' : 'created';
  return { entry, sent: { orgId, userName, userId, email, familyNames: [OLD_NAME], state, fate, mailDue } };
}

/** The same users again, to be skipped or to get another last name. @param familyNames those that they may have then */
export function samePeople(
  people: Person[],
  familyNames: readonly string[],
  change: { skip: true } | { lastName: string },
): Person[] {
  const existing = people.filter(({ sent }) => sent.fate === 'created');
  return existing.map(({ entry, sent }) => ({
    entry: 'skip' in change ? entry : { ...entry, user: renamed(entry.user, change.lastName) },
    sent: { ...sent, fate: 'skip' in change ? 'skipped' : 'updated', familyNames, mailDue: false },
  }));
}

function renamed(user: Record<string, unknown>, lastName: string): Record<string, unknown> {
  return { ...user, profile: { firstName: 'Ann', lastName } };
}

/** The body of an import, in pieces that may be sent apart. */
export function bodyOf(people: Person[], format: 'json' | 'ndjson', timeout: string): string[] {
  if (format === 'ndjson') {
    return people.map(({ entry, sent }) => `${JSON.stringify({ orgId: sent.orgId, ...entry })}\n`);
  }
  const orgs = [...Map.groupBy(people, ({ sent }) => sent.orgId)].map(([orgId, members]) => {
    const users = members.map(({ entry }, i) => `${i > 0 ? ',' : ''}${JSON.stringify(entry)}`);
    return [`{"orgId":${JSON.stringify(orgId)},"humanUsers":[`, ...users, ']}'];
  });
  const pieces = orgs.flatMap((org, i) => (i > 0 ? [',', ...org] : org));
  return [`{"timeout":${JSON.stringify(timeout)},"dataOrgs":{"orgs":[`, ...pieces, ']}}'];
}
