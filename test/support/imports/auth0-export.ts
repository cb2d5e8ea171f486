/**
 * Exports as Auth0 writes them: the users of an export job and the hashes of its support, both NDJSON, of any size.
 *
 * Guarantee: the same seed and size give the same bytes, and each planted fault has its exact number of lines.
 */
import { hashSync } from 'bcryptjs';

/** What may be wrong with a line: no such user is imported until it is corrected. */
export const FAULTS = ['bracketed', 'noAddress', 'variant', 'longName', 'repeated', 'taken'] as const;
export type Fault = (typeof FAULTS)[number];
/** Users who are imported and get a mail. */
type Mailed = 'unverified' | 'noPassword';
export type Kind = Fault | Mailed | 'good';

export interface Planted {
  userId: string;
  /** Empty: none. */
  email: string;
  /** Empty: none. */
  userName: string;
  password: string;
}

export interface Auth0Export {
  users: string;
  hashes: string;
  /** The lines of a kind, from 0, ascending. */
  linesOf(kind: Kind): number[];
  personAt(line: number): Planted;
}

export interface ExportOptions {
  seed: number;
  /** The number of lines of each kind. */
  counts: Record<Kind, number>;
  /** Names of users who exist already, one for each user of the kind `taken`. */
  takenNames: readonly string[];
}

const GIVEN = ['Ann', 'Ben', 'Cléo', 'Dora', 'Emre', 'Фёдор', 'Grażyna', 'Hồ', 'Ines', '次郎'];
const FAMILY = [
  'Archer',
  'Brändli',
  'Cohen',
  "D'Angelo",
  'Eriksson',
  'Fujita',
  'García',
  'O’Hara',
  'Ivanova',
  'Jansen',
];
const CONNECTION = 'Username-Password-Authentication';
const TENANT = 'acme-eu';
/** Distinct hashes: hashing takes longer than everything else. */
const PASSWORDS = 8;
const DIGITS = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** A name may have at most 200 characters. */
const TOO_LONG = 'x'.repeat(201);

export function auth0Export({ seed, counts, takenNames }: ExportOptions): Auth0Export {
  const random = seeded(seed);
  const kinds = shuffled(counts, random.next);
  const credentials = Array.from({ length: PASSWORDS }, (_, i) => credentialOf(i, random.next));
  const namesLeft = [...takenNames];
  const people: (Planted & { hash: string })[] = [];
  const lines = kinds.map((kind, line) => {
    const { password, hash } = credentials[line % PASSWORDS] as (typeof credentials)[number];
    const given = GIVEN[line % GIVEN.length] as string;
    const family = FAMILY[Math.floor(random.next() * FAMILY.length)] as string;
    const userName = kind === 'noAddress' ? `p${line}` : kind === 'taken' ? String(namesLeft.shift()) : '';
    const email = kind === 'noAddress' ? '' : `user.${line}@example.com`;
    const own = { userId: `auth0|${oidOf(seed, line)}`, email, userName, password, hash: hashOf(kind, hash) };
    const person = kind === 'repeated' ? earlier(kinds, people, random.next) : own;
    people.push(person);
    return userLine(kind, person, { given, family, line });
  });
  const hashed = people.filter(({ hash }, line) => hash !== '' && kinds[line] !== 'repeated');
  return {
    users: lines.join(''),
    hashes: hashed.map(hashLine).join(''),
    linesOf: (kind) => kinds.flatMap((one, line) => (one === kind ? [line] : [])),
    personAt: (line) => people[line] as Planted,
  };
}

/** The kinds of all lines in random order, a good one first, so that every repeated user has an earlier one. */
function shuffled(counts: Record<Kind, number>, next: () => number): Kind[] {
  const kinds = (Object.entries(counts) as [Kind, number][]).flatMap(([kind, count]) => Array<Kind>(count).fill(kind));
  for (let i = kinds.length - 1; i > 0; i--) swap(kinds, i, Math.floor(next() * (i + 1)));
  swap(kinds, 0, kinds.indexOf('good'));
  return kinds;
}

function swap(list: Kind[], a: number, b: number): void {
  [list[a], list[b]] = [list[b] as Kind, list[a] as Kind];
}

function earlier<T>(kinds: readonly Kind[], people: readonly T[], next: () => number): T {
  for (let i = Math.floor(next() * people.length); ; i--) if (kinds[i] === 'good') return people[i] as T;
}

/** A hash with the lowest cost. Its salt comes from the seed; the last digit of a salt has two bits only. */
function credentialOf(i: number, next: () => number): { password: string; hash: string } {
  const digits = Array.from({ length: 21 }, () => DIGITS[Math.floor(next() * DIGITS.length)]);
  const password = `correct horse ${i}`;
  return { password, hash: hashSync(password, `$2b$04$${digits.join('')}u`) };
}

function hashOf(kind: Kind, hash: string): string {
  if (kind === 'noPassword') return '';
  return kind === 'variant' ? hash.replace('$2b$', '$2e$') : hash;
}

function oidOf(seed: number, line: number): string {
  return `64f0c0de${seed.toString(16).padStart(8, '0')}${line.toString(16).padStart(8, '0')}`;
}

function userLine(
  kind: Kind,
  { userId, email, userName }: Planted,
  { given, family, line }: { given: string; family: string; line: number },
): string {
  const oid = userId.replace('auth0|', '');
  const at = `2024-05-${String(1 + (line % 28)).padStart(2, '0')}T08:00:00.000Z`;
  return `${JSON.stringify({
    user_id: userId,
    ...(email ? { email: kind === 'bracketed' ? `<${email}>` : email } : {}),
    email_verified: kind !== 'unverified' && kind !== 'noAddress',
    ...(userName ? { username: userName } : {}),
    given_name: kind === 'longName' ? TOO_LONG : given,
    family_name: family,
    name: `${given} ${family}`,
    nickname: `${given.toLowerCase()}${line}`,
    picture: `https://example.com/avatars/${line}.png`,
    ...(line % 10 === 0 ? { user_metadata: { theme: line % 20 === 0 ? 'dark' : 'light' } } : {}),
    identities: [{ user_id: oid, provider: 'auth0', connection: CONNECTION, isSocial: false }],
    ...{ created_at: '2023-09-01T08:00:00.000Z', updated_at: at, last_login: at, logins_count: line % 50 },
  })}\n`;
}

function hashLine({ userId, email, hash }: Planted & { hash: string }): string {
  return `${JSON.stringify({
    _id: { $oid: userId.replace('auth0|', '') },
    ...(email ? { email } : {}),
    ...{ email_verified: true, tenant: TENANT, connection: CONNECTION, passwordHash: hash, _tmp_is_unique: true },
  })}\n`;
}

/** Random numbers from 0 to 1 that the seed determines (mulberry32). */
function seeded(seed: number): { next(): number } {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}
