/**
 * The users that the benches import: about 350 bytes each in a body of `dataOrgs`, the same users in every run.
 *
 * Each has a verified address and a hash, like most users of a migration, so that no mail is due. Ids ascend, because
 * exports are in the order of creation; names and addresses do not, so that their indexes are written at random
 * positions.
 */

/** bcrypt of `correct horse 0` … `correct horse 5` at cost 10. */
const HASHES = [
  '$2b$10$IfSlTo7OqxZvHScBBuhzWumWsn0zgTB/evCQe7/85MstRv5xyyBIe',
  '$2b$10$CV/3lzXRo1YDA0dOP5QczORiWDrc4y1eSDO7/SqCsBcFlLEaa92rS',
  '$2b$10$R//Yk3tBXOy4a5wPcykqHeZP.7HND/NyvMPNVroGqROFRJ00IU06K',
  '$2b$10$0jHpfzPOquk5gc28qW8JLu31k66N4/DzYyxvXdmxNEMM1M5KeOzQG',
  '$2b$10$5dmnULkb2PEYsQ/UISvXrOapRnRTqkLLsYjBfx1APD8Y91hktkCG2',
  '$2b$10$agrh6CroO7VfAkz50/Op2OMzKLLiylyT2I9yXAfcEt0XBjJiuvWwm',
];
const FIRST = ['Ann', 'Björn', 'Chloé', 'Dmitri', 'Elif', 'Fatima', 'Giulia', 'Hiroshi', 'Ines', 'João', 'Katarzyna'];
const LAST = ['Smith', 'Müller', 'Novák', 'García', 'Okafor', 'Tanaka', 'Rossi', 'Andersson', 'Kowalski', 'Yılmaz'];
const DOMAINS = ['example.com', 'mail.example.org', 'post.example.net'];
const LANGUAGES = ['en', 'de', 'fr', 'es', 'ja'];
const CHUNK_BYTES = 64 * 1024;
/** Knuth's multiplicative hashing: spreads consecutive numbers over 32 bits, without collisions. */
const SPREAD = 2_654_435_761;

function pick(list: string[], n: number): string {
  return list[n % list.length] as string;
}

interface ImportUser {
  userName: string;
  profile: { firstName: string; lastName: string; displayName: string; preferredLanguage: string };
  email: { email: string; isEmailVerified: boolean };
  hashedPassword: { value: string };
}

/** The `n`-th user in the shape of the single import. */
export function user(n: number): ImportUser {
  const spread = Math.imul(n, SPREAD) >>> 0;
  const firstName = pick(FIRST, spread);
  const lastName = pick(LAST, spread >>> 8);
  const name = `${firstName}.${lastName}.${spread.toString(36)}`.toLowerCase();
  return {
    userName: name,
    profile: {
      firstName,
      lastName,
      displayName: `${firstName} ${lastName}`,
      preferredLanguage: pick(LANGUAGES, spread),
    },
    email: { email: `${name}@${pick(DOMAINS, spread)}`, isEmailVerified: true },
    hashedPassword: { value: pick(HASHES, n) },
  };
}

/** The password of the `n`-th user. */
export function passwordOf(n: number): string {
  return `correct horse ${n % HASHES.length}`;
}

/** Eighteen digits, like the ids in the ecosystem's services. */
export function userId(n: number): string {
  return `2918${String(n).padStart(14, '0')}`;
}

function plainEntry(n: number): object {
  return { userId: userId(n), user: user(n) };
}

/** The body of a bulk import of the entries 0 … `users - 1`, piece by piece, never held as a whole. */
export function* importBody(users: number, orgId: string, entry = plainEntry): Generator<Buffer> {
  let text = `{"timeout":"10h0m0s","dataOrgs":{"orgs":[{"orgId":${JSON.stringify(orgId)},"humanUsers":[`;
  for (let n = 0; n < users; n++) {
    text += `${n === 0 ? '' : ','}${JSON.stringify(entry(n))}`;
    if (text.length < CHUNK_BYTES) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(`${text}]}]}}`);
}
