/** Every bound of contract section 5 that is one number, with hashes that stand at it and beyond it. */
const SALT = 'c2FsdHNhbHRzYWx0';
const B32 = 'A'.repeat(43);
const dots = (length: number) => '.'.repeat(length);
/** The digit of crypt(3) for a number below 64. */
const digit = (n: number) => './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.charAt(n);
const bcrypt = (id: string) => (cost: number) => `$${id}$${String(cost).padStart(2, '0')}$${dots(53)}`;
const argon2 = (id: string, cost: string) => `$${id}$v=19$${cost}$${SALT}$${B32}`;
export const scrypt = (cost: string) => `$scrypt$${cost}$${SALT}$${B32}`;

export interface Bound {
  scheme: string;
  /** As the message names it. */
  what: string;
  make: (n: number) => string;
  lowest: number;
  highest: number;
}

const MEMORY_KIB = 512 * 1024;
export const BOUNDS: readonly Bound[] = [
  ...['2a', '2b', '2y'].map((id) => ({ scheme: 'bcrypt', what: 'cost', make: bcrypt(id), lowest: 4, highest: 16 })),
  ...['argon2id', 'argon2i'].flatMap((scheme) => [
    {
      scheme,
      what: 'memory m (KiB)',
      make: (m: number) => argon2(scheme, `m=${m},t=1,p=1`),
      lowest: 8,
      highest: MEMORY_KIB,
    },
    { scheme, what: 'passes t', make: (t: number) => argon2(scheme, `m=64,t=${t},p=1`), lowest: 1, highest: 10 },
    { scheme, what: 'parallelism p', make: (p: number) => argon2(scheme, `m=256,t=1,p=${p}`), lowest: 1, highest: 16 },
  ]),
  { scheme: 'scrypt', what: 'p', make: (p) => scrypt(`ln=14,r=8,p=${p}`), lowest: 1, highest: 16 },
  ...['pbkdf2', 'pbkdf2-sha224', 'pbkdf2-sha256', 'pbkdf2-sha384', 'pbkdf2-sha512'].map((scheme) => ({
    scheme,
    what: 'rounds',
    make: (n: number) => `$${scheme}$${n}$${SALT}$${B32}`,
    lowest: 1,
    highest: 10_000_000,
  })),
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
];

/** Hashes at every bound. */
export const TAKEN = BOUNDS.flatMap(({ make, lowest, highest }) => [make(lowest), make(highest)]);
/** Hashes just beyond. */
export const REFUSED = BOUNDS.flatMap(({ make, lowest, highest }) => [make(lowest - 1), make(highest + 1)]);
