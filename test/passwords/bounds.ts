/** Every bound of docs/passwords.md that is a single number, with hashes at it and beyond it. */
const SALT = 'c2FsdHNhbHRzYWx0';
const B32 = 'A'.repeat(43);
const dots = (length: number) => '.'.repeat(length);
/** The digit of crypt(3) for a number below 64. */
const digit = (n: number) => './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.charAt(n);
const bcrypt = (id: string) => (cost: number) => `$${id}$${String(cost).padStart(2, '0')}$${dots(53)}`;
const argon2 = (id: string, cost: string) => `$${id}$v=19$${cost}$${SALT}$${B32}`;
export const scrypt = (cost: string) => `$scrypt$${cost}$${SALT}$${B32}`;

export function fbscrypt(cost: string, signerKey = 64, separator = 1): string {
  const [ss, sk] = [separator, signerKey].map((bytes) => Buffer.alloc(bytes, 7).toString('base64'));
  return `$fbscrypt$v=1,${cost},ss=${ss},sk=${sk}$${SALT}$${sk}`;
}
const HEX = 'ab'.repeat(64);

/** ASP.NET Identity, version 3, with SHA-256. */
function aspnet(rounds: number): string {
  const head = Buffer.alloc(13);
  head.set([1, 0, 0, 0, 1]);
  head.writeUInt32BE(rounds, 5);
  head.writeUInt32BE(16, 9);
  return Buffer.concat([head, Buffer.alloc(48)]).toString('base64');
}
const bcryptSha256 = (cost: number) => `$bcrypt-sha256$v=2,t=2b,r=${cost}$${dots(22)}$${dots(31)}`;
const DIGEST_BYTES = { md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 };

const base64Of = (algorithm: string) =>
  Buffer.alloc(DIGEST_BYTES[algorithm as keyof typeof DIGEST_BYTES]).toString('base64');

export interface Bound {
  scheme: string;
  /** Its name in messages. */
  what: string;
  make: (n: number) => string;
  lowest: number;
  highest: number;
}

const MEMORY_KIB = 512 * 1024;
export const BOUNDS: readonly Bound[] = [
  ...['2a', '2b', '2y'].map((id) => ({ scheme: 'bcrypt', what: 'cost', make: bcrypt(id), lowest: 4, highest: 16 })),
  ...['argon2id', 'argon2i', 'argon2d'].flatMap((scheme) => [
    {
      scheme,
      what: 'memory m (KiB)',
      make: (m: number) => argon2(scheme, `m=${m},t=1,p=1`),
      lowest: 8,
      highest: MEMORY_KIB,
    },
    { scheme, what: 'passes t', make: (t: number) => argon2(scheme, `m=8,t=${t},p=1`), lowest: 1, highest: 100_000 },
    {
      scheme,
      what: 'parallelism p',
      make: (p: number) => argon2(scheme, `m=4096,t=1,p=${p}`),
      lowest: 1,
      highest: 255,
    },
  ]),
  { scheme: 'scrypt', what: 'p', make: (p) => scrypt(`ln=14,r=8,p=${p}`), lowest: 1, highest: 16 },
  ...['pbkdf2', 'pbkdf2-sha224', 'pbkdf2-sha256', 'pbkdf2-sha384', 'pbkdf2-sha512'].map((scheme) => ({
    scheme,
    what: 'rounds',
    make: (n: number) => `$${scheme}$${n}$${SALT}$${B32}`,
    lowest: 1,
    highest: 10_000_000,
  })),
  {
    scheme: 'pbkdf2-sha256',
    what: 'rounds',
    make: (n) => `$pbkdf2-sha256$i=${n},l=32$${SALT}$${B32}`,
    lowest: 1,
    highest: 10_000_000,
  },
  {
    scheme: 'formula',
    what: 'rounds',
    make: (n) => `$formula$sha256(${n},unhex(salt)+password)$YWJjZA$${B32}`,
    lowest: 1,
    highest: 1_000_000,
  },
  {
    scheme: 'formula',
    what: 'rounds',
    make: (n) => `$formula$pbkdf2-sha256(${n},unhex(salt),password)$YWJjZA$${B32}`,
    lowest: 1,
    highest: 10_000_000,
  },
  { scheme: 'bcrypt-sha256', what: 'cost', make: bcryptSha256, lowest: 4, highest: 16 },
  { scheme: 'bcrypt $2x$', what: 'cost', make: bcrypt('2x'), lowest: 4, highest: 16 },
  { scheme: 'sha1-crypt', what: 'rounds', make: (n) => `$sha1$${n}$salt$${dots(28)}`, lowest: 1, highest: 1_000_000 },
  {
    scheme: 'yescrypt',
    what: 'log2 of N',
    make: (n) => `$y$j${digit(n - 1)}5$salt$${dots(43)}`,
    lowest: 8,
    highest: 18,
  },
  ...['sha512', 'sha256', 'sha1'].map((algorithm) => ({
    scheme: `symfony ${algorithm}`,
    what: 'rounds',
    make: (n: number) => `${algorithm}_symfony$${n}$salt$${base64Of(algorithm)}`,
    lowest: 1,
    highest: 500_000,
  })),
  ...['{PBKDF2-HMAC-SHA256}', '{PBKDF2-HMAC-SHA512}', '{PBKDF2}'].map((name) => ({
    scheme: name === '{PBKDF2}' ? 'opendj {PBKDF2}' : name,
    what: 'rounds',
    make: (n: number) => `${name}${n}:${Buffer.alloc(72).toString('base64')}`,
    lowest: 1,
    highest: 10_000_000,
  })),
  {
    scheme: 'spring argon2',
    what: 'memory m (KiB)',
    make: (m) => `{argon2@SpringSecurity_v5_8}${argon2('argon2id', `m=${m},t=1,p=1`)}`,
    lowest: 8,
    highest: MEMORY_KIB,
  },
  {
    scheme: 'spring scrypt',
    what: 'p',
    make: (p) => `{scrypt}$e08${p.toString(16).padStart(2, '0')}$${SALT}$${B32}`,
    lowest: 1,
    highest: 16,
  },
  {
    scheme: 'magento2',
    what: 'passes t',
    make: (t) => `${'ab'.repeat(32)}:saltsalt:3_32_${t}_8192`,
    lowest: 1,
    highest: 100_000,
  },
  ...[
    { id: '5', length: 43 },
    { id: '6', length: 86 },
  ].map(({ id, length }) => ({
    scheme: `sha2-crypt $${id}$`,
    what: 'rounds',
    make: (n: number) => `$${id}$rounds=${n}$salt$${dots(length)}`,
    lowest: 1000,
    highest: 1_000_000,
  })),
  ...[
    { id: 'P', scheme: 'phpass', length: 22 },
    { id: 'H', scheme: 'phpass', length: 22 },
    { id: 'S', scheme: 'drupal7', length: 43 },
  ].map(({ id, scheme, length }) => ({
    scheme,
    what: 'log2 of the rounds',
    make: (n: number) => `$${id}$${digit(n)}saltsalt${dots(length)}`,
    lowest: 7,
    highest: 19,
  })),
  ...['2a', '2b', '2y'].flatMap((id) =>
    ['{BCRYPT}', '{CRYPT}'].map((scheme) => ({
      scheme,
      what: 'bcrypt: cost',
      make: (cost: number) => `${scheme}${bcrypt(id)(cost)}`,
      lowest: 4,
      highest: 16,
    })),
  ),
  {
    scheme: '{CRYPT}',
    what: 'sha2-crypt $6$: rounds',
    make: (n) => `{crypt}$6$rounds=${n}$salt$${dots(86)}`,
    lowest: 1000,
    highest: 1_000_000,
  },
  {
    scheme: '{ARGON2}',
    what: 'argon2id: memory m (KiB)',
    make: (m) => `{ARGON2}${argon2('argon2id', `m=${m},t=1,p=1`)}`,
    lowest: 8,
    highest: MEMORY_KIB,
  },
  // Of 20 bytes, it is SHA-1 alone.
  {
    scheme: '{PBKDF2}',
    what: 'rounds',
    make: (n) => `{PBKDF2}${n}$${SALT}$${'A'.repeat(27)}`,
    lowest: 1,
    highest: 10_000_000,
  },
  ...['{PBKDF2_STRETCH}', '{PBKDF2-SHA1}', '{PBKDF2-SHA256}', '{PBKDF2-SHA512}'].map((scheme) => ({
    scheme,
    what: 'rounds',
    make: (n: number) => `${scheme}${n}$${SALT}$${B32}`,
    lowest: 1,
    highest: 10_000_000,
  })),
  { scheme: 'fbscrypt', what: 'n', make: (n) => fbscrypt(`n=${n},r=2,p=1`), lowest: 1, highest: 20 },
  { scheme: 'fbscrypt', what: 'p', make: (p) => fbscrypt(`n=14,r=8,p=${p}`), lowest: 1, highest: 16 },
  { scheme: 'django scrypt', what: 'p', make: (p) => `scrypt$16384$salt$8$${p}$${B32}`, lowest: 1, highest: 16 },
  { scheme: 'werkzeug scrypt', what: 'p', make: (p) => `scrypt:32768:8:${p}$salt$${HEX}`, lowest: 1, highest: 16 },
  ...['pbkdf2_sha256', 'pbkdf2_sha1'].map((hasher) => ({
    scheme: `django ${hasher}`,
    what: 'rounds',
    make: (n: number) => `${hasher}$${n}$salt$${B32}`,
    lowest: 1,
    highest: 10_000_000,
  })),
  ...(['sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const).map((digest) => ({
    scheme: 'werkzeug pbkdf2',
    what: 'rounds',
    make: (n: number) => `pbkdf2:${digest}:${n}$salt$${'ab'.repeat(DIGEST_BYTES[digest])}`,
    lowest: 1,
    highest: 10_000_000,
  })),
  ...[
    { scheme: 'django bcrypt', make: (cost: number) => `bcrypt$${bcrypt('2b')(cost)}` },
    { scheme: 'django bcrypt_sha256', make: (cost: number) => `bcrypt_sha256$${bcrypt('2b')(cost)}` },
  ].map((wrapped) => ({ ...wrapped, what: 'cost', lowest: 4, highest: 16 })),
  {
    scheme: 'django argon2',
    what: 'memory m (KiB)',
    make: (m) => `argon2${argon2('argon2id', `m=${m},t=1,p=1`)}`,
    lowest: 8,
    highest: MEMORY_KIB,
  },
  { scheme: 'aspnet-identity-v3', what: 'rounds', make: aspnet, lowest: 1, highest: 10_000_000 },
  ...Object.entries(DIGEST_BYTES).flatMap(([digest, bytes]) =>
    ['prefix', 'suffix'].map((order) => ({
      scheme: `salted-${digest}-${order}`,
      what: 'rounds r',
      make: (n: number) => `$salted-${digest}-${order}$r=${n}$${SALT}$${Buffer.alloc(bytes).toString('base64')}`,
      lowest: 1,
      highest: 1_000_000,
    })),
  ),
];

/** Hashes that take about as much time as bcrypt with cost 16, and ones that take longer: how many times as long. */
export const WORK: readonly { scheme: string; most: string; more: string; times: string }[] = [
  { scheme: 'wordpress bcrypt', most: `$wp${bcrypt('2y')(14)}`, more: `$wp${bcrypt('2y')(15)}`, times: '1.5' },
  { scheme: 'wordpress bcrypt', most: `$wp${bcrypt('2y')(4)}`, more: `$wp${bcrypt('2y')(16)}`, times: '3.0' },
  {
    scheme: 'bcrypt-sha512',
    most: `$bcrypt-sha512$${bcrypt('2a')(15)}`,
    more: `$bcrypt-sha512$${bcrypt('2a')(16)}`,
    times: '2.0',
  },
  // Lanes cost time of their own, and a hash with data is computed twice.
  {
    scheme: 'argon2id',
    most: argon2('argon2id', 'm=2048,t=40,p=250'),
    more: argon2('argon2id', 'm=2048,t=80,p=250'),
    times: '2.0',
  },
  {
    scheme: 'argon2id',
    most: argon2('argon2id', `m=${MEMORY_KIB / 4},t=10,p=1,data=Zm9v`),
    more: argon2('argon2id', `m=${MEMORY_KIB / 2},t=10,p=1,data=Zm9v`),
    times: '2.0',
  },
  // Of another length than 20 bytes, it is tried as SHA-512 and as SHA-1.
  {
    scheme: '{PBKDF2}',
    most: `{PBKDF2}5000000$${SALT}$${B32}`,
    more: `{PBKDF2}10000000$${SALT}$${B32}`,
    times: '2.0',
  },
  ...['argon2id', 'argon2i', 'argon2d'].map((scheme) => ({
    scheme,
    most: argon2(scheme, `m=${MEMORY_KIB},t=5,p=1`),
    more: argon2(scheme, `m=${MEMORY_KIB},t=6,p=1`),
    times: '1.2',
  })),
  {
    scheme: '{ARGON2}',
    most: `{ARGON2}${argon2('argon2id', `m=${MEMORY_KIB / 2},t=10,p=4`)}`,
    more: `{ARGON2}${argon2('argon2id', `m=${MEMORY_KIB},t=10,p=16`)}`,
    times: '2.0',
  },
  { scheme: 'scrypt', most: scrypt('ln=18,r=8,p=6'), more: scrypt('ln=18,r=8,p=16'), times: '2.7' },
  { scheme: 'scrypt', most: scrypt('ln=20,r=2,p=6'), more: scrypt('ln=20,r=2,p=16'), times: '2.7' },
  { scheme: 'fbscrypt', most: fbscrypt('n=18,r=8,p=6'), more: fbscrypt('n=18,r=8,p=7'), times: '1.2' },
  {
    scheme: 'django scrypt',
    most: `scrypt$262144$salt$8$6$${B32}`,
    more: `scrypt$262144$salt$8$7$${B32}`,
    times: '1.2',
  },
  {
    scheme: 'werkzeug scrypt',
    most: `scrypt:262144:8:6$salt$${HEX}`,
    more: `scrypt:262144:8:7$salt$${HEX}`,
    times: '1.2',
  },
  ...['sha3-224', 'sha3-256', 'sha3-384', 'sha3-512'].map((algorithm) => ({
    scheme: `pbkdf2-${algorithm}`,
    most: `$pbkdf2-${algorithm}$5000000$${SALT}$${'A'.repeat(32)}`,
    more: `$pbkdf2-${algorithm}$10000000$${SALT}$${'A'.repeat(32)}`,
    times: '2.0',
  })),
  {
    scheme: 'magento2',
    most: `${'ab'.repeat(32)}:saltsalt:1:3_32_5_${MEMORY_KIB * 1024}`,
    more: `${'ab'.repeat(32)}:saltsalt:2:3_32_6_${MEMORY_KIB * 1024}`,
    times: '1.3',
  },
  {
    scheme: 'spring scrypt',
    most: `{scrypt}$120806$${SALT}$${B32}`,
    more: `{scrypt}$120807$${SALT}$${B32}`,
    times: '1.2',
  },
  // One block of output after another is computed.
  {
    scheme: 'pbkdf2',
    most: `$pbkdf2$10000000$${SALT}$${'A'.repeat(54)}`,
    more: `$pbkdf2$10000000$${SALT}$${'A'.repeat(56)}`,
    times: '1.5',
  },
  {
    scheme: 'pbkdf2-sha512',
    most: `$pbkdf2-sha512$5000000$${SALT}$${'A'.repeat(88)}`,
    more: `$pbkdf2-sha512$10000000$${SALT}$${'A'.repeat(88)}`,
    times: '2.0',
  },
  {
    scheme: '{PBKDF2-SHA512}',
    most: `{PBKDF2-SHA512}5000000$${SALT}$${'A'.repeat(88)}`,
    more: `{PBKDF2-SHA512}10000000$${SALT}$${'A'.repeat(88)}`,
    times: '2.0',
  },
  {
    scheme: 'django pbkdf2_sha1',
    most: `pbkdf2_sha1$10000000$salt$${'A'.repeat(54)}`,
    more: `pbkdf2_sha1$10000000$salt$${'A'.repeat(56)}`,
    times: '1.5',
  },
  {
    scheme: 'werkzeug pbkdf2',
    most: `pbkdf2:sha384:5000000$salt$${HEX}`,
    more: `pbkdf2:sha384:10000000$salt$${HEX}`,
    times: '2.0',
  },
];

/** Hashes at every bound. */
export const TAKEN = [
  ...BOUNDS.flatMap(({ make, lowest, highest }) => [make(lowest), make(highest)]),
  ...WORK.map(({ most }) => most),
];
/** Hashes just beyond. */
export const REFUSED = [
  ...BOUNDS.flatMap(({ make, lowest, highest }) => [make(lowest - 1), make(highest + 1)]),
  ...WORK.map(({ more }) => more),
];
