/**
 * How an imported user signs in: the way that is predicted before the import and is true afterwards, why it is that one,
 * and what is different from the other system. Their ids are stable.
 */
/** The best first: a user's way is the first that works for them. */
export const WAYS = [
  'PASSWORD',
  'PASSWORD_SOURCE',
  'PROVIDER',
  'PASSKEY',
  'MAIL_CODE',
  'SMS_CODE',
  'INIT_MAIL',
  'NONE',
] as const;
export type Way = (typeof WAYS)[number];

/** Why a user does not sign in with the old password, by id. */
export const CAUSES = {
  NO_PASSWORD: 'The import brings no password for the user.',
  UNKNOWN_PASSWORD: 'The user may not know the password: the other system makes one up for users who do not use it.',
  PASSWORD_AT_SOURCE: 'The password is verified at a password source, at the first sign-in.',
  PROVIDER_NOT_SET_UP: 'The user came by an external provider that is not set up here.',
  PROVIDER_NOT_ALLOWED:
    'The external provider of the user is one of their organization, and may not sign in a user with their rights.',
  LINK_HELD_TWICE: 'Another user has the same account at the external provider.',
  NO_ADDRESS: 'The user has no email address, and no password or user name that signs in.',
  ADDRESS_NOT_VERIFIED: 'Addresses alone sign in here, and the address of the user is not verified.',
  MAILS_HELD: 'The import holds its mails back; they are sent on request.',
  ONLY_ENTERPRISE: 'The user came by a connection of their company only, and is left out of mail codes.',
  SECOND_FACTOR_UNUSABLE: 'The user has a second factor that cannot be used here, and no other one.',
  NUMBER_HELD_TWICE: 'Another user of the organization has the same phone number.',
  INACTIVE: 'The user is inactive.',
  LOCKED: 'The user is locked.',
} as const;
export type Cause = keyof typeof CAUSES;

/** What is different from the other system, by id. */
export const CHANGES = {
  TYPES_USER_NAME: 'The user must type the user name, not the address, until the address is verified.',
  GETS_MAIL: 'The import sends the user a mail.',
  SECOND_FACTOR_LOST: 'The second factor does not come along: the account is weaker until the user sets one up again.',
  SECOND_FACTOR_RE_ENROL:
    'The second factor does not come along, and the organization demands one: it is set up at the first sign-in.',
  PASSKEYS_LOST: 'The passkeys do not come along.',
  RECOVERY_CODES_LOST: 'The recovery codes do not come along.',
  PASSKEYS_OTHER_HOST: 'The passkeys were made for another host, where alone they work.',
  SMS_OFF: 'The user had codes by text message, which no gateway is set up for or the organization does not use.',
  RELAY_ADDRESS: 'The address is a relay of Apple, which accepts only mails of senders that are registered with Apple.',
  LINK_UNUSED: 'The user had an account at an external provider that cannot sign in here.',
  ENTERPRISE_LINK_UNUSED: 'The user came by a connection of their company, which cannot sign in here.',
  NEW_PASSWORD: 'The user must set another password after the first sign-in.',
} as const;
export type Change = keyof typeof CHANGES;

/** The prediction for one user. */
export interface SignIn {
  way: Way;
  /** Absent where the user signs in as before. */
  cause?: Cause | undefined;
  changes: Change[];
}

/** The predictions of an import, counted. */
export interface SignInCounts {
  /** They add up to the users that are imported or can be. */
  ways: Record<Way, number>;
  causes: Partial<Record<Cause, number>>;
  /** The causes of the users of each way that has some. */
  causesByWay: Partial<Record<Way, Partial<Record<Cause, number>>>>;
  changes: Partial<Record<Change, number>>;
  /** The names under which users have links that lead to no enabled provider, those of most users first. */
  links?: UnknownLink[] | undefined;
  /** How many further names there are. */
  moreLinks?: number | undefined;
  /** The passkeys by the domain that they were made for, those of most first. */
  passkeys?: PasskeyDomain[] | undefined;
}

/** Passkeys and security keys that were made for one domain. */
export interface PasskeyDomain {
  rpId: string;
  passkeys: number;
  /** Whether it is the domain of this service, so that they work. */
  works: boolean;
}

/** The passkeys that come along: those of the domain of this service, which work, and those of others. */
export interface PasskeyCounts {
  total: number;
  here: number;
  /** The domain of this service. */
  domain: string;
  elsewhere: number;
  /** The other domain, if it is one. */
  otherDomain: string | undefined;
}

/** Undefined if there are none. */
export function countPasskeys(domains: readonly PasskeyDomain[] = []): PasskeyCounts | undefined {
  const [own, others] = [domains.filter(({ works }) => works), domains.filter(({ works }) => !works)];
  const sum = (list: typeof own) => list.reduce((all, { passkeys }) => all + passkeys, 0);
  const [here, elsewhere] = [sum(own), sum(others)];
  if (here + elsewhere === 0) return undefined;
  const otherDomain = others.length === 1 ? others[0]?.rpId : undefined;
  return { total: here + elsewhere, here, domain: own[0]?.rpId ?? '', elsewhere, otherDomain };
}

/** The passkeys in one sentence; undefined if there are none. @param number writes one */
export function passkeySentence(
  domains: readonly PasskeyDomain[] | undefined,
  number: (n: number) => string,
): string | undefined {
  const counts = countPasskeys(domains);
  if (!counts) return undefined;
  const { total, here, domain, elsewhere, otherDomain } = counts;
  const where = otherDomain === undefined ? 'other hosts' : `another host (${otherDomain})`;
  const works = here > 0 ? [`${number(here)} for ${domain} will work`] : [];
  const fails = elsewhere > 0 ? [`${number(elsewhere)} for ${where} will not`] : [];
  return `${number(total)} ${total === 1 ? 'passkey' : 'passkeys'}: ${[...works, ...fails].join(', ')}`;
}

/** A name for a provider that is not set up, as the other system has it. */
export interface UnknownLink {
  name: string;
  users: number;
  /** The type of provider whose alias it is. */
  preset?: string | undefined;
}

/** What people ask first: who signs in with what they know, who with something else, who cannot. */
export const WAY_GROUPS = {
  known: ['PASSWORD', 'PASSWORD_SOURCE'],
  other: ['PROVIDER', 'PASSKEY', 'MAIL_CODE', 'SMS_CODE', 'INIT_MAIL'],
  none: ['NONE'],
} as const satisfies Record<string, readonly Way[]>;
export type WayGroup = keyof typeof WAY_GROUPS;

export interface GroupedSignIns {
  name: WayGroup;
  users: number;
  /** Only those that have users. */
  ways: [way: Way, users: number][];
  causes: [cause: Cause, users: number][];
}

/** The counts in the order in which people ask. */
export function groupSignIns({ ways, causesByWay }: SignInCounts): GroupedSignIns[] {
  return (Object.keys(WAY_GROUPS) as WayGroup[]).map((name) => {
    const all: readonly Way[] = WAY_GROUPS[name];
    const causes: Partial<Record<Cause, number>> = {};
    for (const [cause, users] of all.flatMap((way) => entriesOf(CAUSES, causesByWay[way] ?? {}))) {
      causes[cause] = (causes[cause] ?? 0) + users;
    }
    return {
      name,
      users: all.reduce((sum, way) => sum + ways[way], 0),
      ways: all.map((way): [Way, number] => [way, ways[way]]).filter(([, users]) => users > 0),
      causes: entriesOf(CAUSES, causes),
    };
  });
}

/** What is different, and for how many, in the order of CHANGES. */
export function changesIn({ changes }: SignInCounts): [change: Change, users: number][] {
  return entriesOf(CHANGES, changes);
}

function entriesOf<K extends string>(all: Readonly<Record<K, string>>, counts: Partial<Record<K, number>>) {
  const names = Object.keys(all) as K[];
  return names.map((name): [K, number] => [name, counts[name] ?? 0]).filter(([, users]) => users > 0);
}
