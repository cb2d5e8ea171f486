/**
 * `hashes`: how long one verification takes in a hashing thread, for each scheme that can be imported, at a common
 * cost; and how long the most expensive hash takes that acceptance allows. The whole bench takes a minute, so it runs
 * only when named.
 *
 * Ceiling: bcrypt at cost 10, which is the cost of every login after the rehash. The ratio says how many times longer
 * the first login takes, so less is better.
 */
import { hashProblem, schemeOf, verifyHash } from '../../src/passwords/registry.ts';
import { type Context, percentile, type Result, rounded } from '../bench.ts';

const PASSWORD = 'correct horse battery staple';
/** Verification takes the same work whatever was hashed. */
const SALT = Buffer.alloc(16, 1).toString('base64').replace(/=+$/, '');
const base64 = (bytes: number) => Buffer.alloc(bytes, 2).toString('base64').replace(/=+$/, '');
const hex = (bytes: number) => Buffer.alloc(bytes, 2).toString('hex');
const zeros = (length: number) => '.'.repeat(length);

const bcrypt = (cost: string) => `$2b$${cost}$${zeros(53)}`;
const argon2 = (variant: string) => (cost: string) => `$${variant}$v=19$${cost}$${SALT}$${base64(32)}`;
const scrypt = (cost: string) => `$scrypt$${cost}$${SALT}$${base64(32)}`;
const pbkdf2 = (name: string, bytes: number) => (rounds: string) => `$${name}$${rounds}$${SALT}$${base64(bytes)}`;
const sha2 = (id: number, length: number) => (cost: string) => `$${id}$${cost}$saltsaltsaltsalt$${zeros(length)}`;
const portable = (id: string, length: number) => (log2: string) => `$${id}$${log2}saltsalt${zeros(length)}`;
const fbscrypt = (cost: string) => `$fbscrypt$v=1,${cost},ss=Bw==,sk=${base64(64)}$${SALT}$${base64(64)}`;
function djangoScrypt(cost: string): string {
  const [n, r, p] = cost.split(',').map((parameter) => parameter.slice(2));
  return `scrypt$${n}$salt$${r}$${p}$${base64(64)}`;
}

interface Case {
  make: (cost: string) => string;
  usual: string;
  /** At the upper bounds of docs/passwords.md; absent: the scheme has only one cost. */
  dearest?: string;
}

export const CASES: readonly Case[] = [
  { make: bcrypt, usual: '10', dearest: '16' },
  { make: (cost) => bcrypt(cost).replace('$2b$', '$2x$'), usual: '10', dearest: '16' },
  { make: (cost) => `$bcrypt-sha512$${bcrypt(cost)}`, usual: '10', dearest: '15' },
  { make: argon2('argon2id'), usual: 'm=19456,t=2,p=1', dearest: 'm=524288,t=5,p=16' },
  { make: argon2('argon2i'), usual: 'm=4096,t=3,p=1', dearest: 'm=524288,t=5,p=16' },
  { make: scrypt, usual: 'ln=14,r=8,p=1', dearest: 'ln=18,r=8,p=6' },
  { make: pbkdf2('pbkdf2', 20), usual: '131000', dearest: '10000000' },
  { make: pbkdf2('pbkdf2-sha224', 28), usual: '29000', dearest: '10000000' },
  { make: pbkdf2('pbkdf2-sha256', 32), usual: '29000', dearest: '10000000' },
  { make: pbkdf2('pbkdf2-sha384', 48), usual: '25000', dearest: '10000000' },
  { make: pbkdf2('pbkdf2-sha512', 64), usual: '25000', dearest: '10000000' },
  { make: sha2(5, 43), usual: 'rounds=5000', dearest: 'rounds=1000000' },
  { make: sha2(6, 86), usual: 'rounds=5000', dearest: 'rounds=1000000' },
  { make: portable('P', 22), usual: 'B', dearest: 'H' },
  { make: portable('S', 43), usual: 'D', dearest: 'H' },
  { make: fbscrypt, usual: 'n=14,r=8,p=1', dearest: 'n=18,r=8,p=6' },
  { make: (rounds) => `pbkdf2_sha256$${rounds}$salt$${base64(32)}`, usual: '600000', dearest: '10000000' },
  { make: (rounds) => `pbkdf2_sha1$${rounds}$salt$${base64(20)}`, usual: '600000', dearest: '10000000' },
  { make: (cost) => `argon2${argon2('argon2id')(cost)}`, usual: 'm=102400,t=2,p=8', dearest: 'm=524288,t=5,p=16' },
  { make: (cost) => `bcrypt_sha256$${bcrypt(cost)}`, usual: '12', dearest: '16' },
  { make: (cost) => `bcrypt$${bcrypt(cost)}`, usual: '12', dearest: '16' },
  { make: djangoScrypt, usual: 'N=16384,r=8,p=1', dearest: 'N=262144,r=8,p=6' },
  { make: (cost) => `$wp${bcrypt(cost)}`, usual: '10', dearest: '14' },
  { make: (cost) => `scrypt:${cost}$salt$${hex(64)}`, usual: '32768:8:1', dearest: '262144:8:6' },
  { make: (rounds) => `pbkdf2:sha256:${rounds}$salt$${hex(32)}`, usual: '600000', dearest: '10000000' },
  { make: argon2('argon2d'), usual: 'm=4096,t=3,p=1', dearest: 'm=2048,t=40,p=250' },
  { make: pbkdf2('pbkdf2-sha3-256', 32), usual: '25000', dearest: '5000000' },
  { make: (cost) => `$y$j${cost}$LdJMENpBABJJ3hIHjB1Bi.$${zeros(43)}`, usual: '9T', dearest: 'F5' },
  { make: (rounds) => `$sha1$${rounds}$saltsalt$${zeros(28)}`, usual: '24680', dearest: '1000000' },
  { make: (rounds) => `_${rounds}salt${zeros(11)}`, usual: 'J9..', dearest: 'zzzz' },
  { make: () => `ab${zeros(11)}`, usual: '25 times DES' },
  { make: (rounds) => `sha512_symfony$${rounds}$saltsalt$${base64(64)}`, usual: '5000', dearest: '500000' },
  { make: (rounds) => `$formula$sha256(${rounds},salt+password)$c2FsdA$${base64(32)}`, usual: '1', dearest: '1000000' },
  { make: () => `{pbkdf2}${hex(40)}`, usual: '185,000 rounds of SHA-1' },
  { make: () => `${hex(16)}:${hex(64)}`, usual: 'N=16384,r=16,p=1' },
  { make: (version) => `${hex(32)}:saltsalt:${version}`, usual: '3_32_2_67108864', dearest: '3_32_5_536870912' },
  { make: () => `sha1$salt$${hex(20)}`, usual: 'one SHA-1' },
  { make: () => `md5$salt$${hex(16)}`, usual: 'one MD5' },
  { make: () => `$1$saltsalt$${zeros(22)}`, usual: '1000 rounds' },
  { make: () => `$md5salted-prefix$salt$${base64(16)}==`, usual: 'one MD5' },
  { make: () => `$md5salted-suffix$salt$${base64(16)}==`, usual: 'one MD5' },
  { make: () => '0'.repeat(32), usual: 'one MD5' },
];

const RUNS = { least: 5, most: 1000, ms: 300 };

export async function hashes({ say }: Context): Promise<Result[]> {
  const ceiling = usualMicros(bcrypt('10'));
  const results: Result[] = [];
  for (const { make, usual, dearest } of CASES) {
    const name = schemeOf(make(usual)) as string;
    say(`hashes: ${name}`);
    const value = usualMicros(make(usual));
    const dearestMs = dearest === undefined ? undefined : rounded(timed(make(dearest)), 0);
    const most = dearest === undefined ? '' : `; most expensive, ${dearest}: ${dearestMs} ms`;
    const [extras, notes] = [{ usual, dearest, dearestMs }, [`${usual}${most}`]];
    results.push({ name, value, unit: 'µs', ceiling, ratio: rounded(value / ceiling, 3), notes, extras });
    await new Promise((resume) => setImmediate(resume)); // lets Ctrl-C through
  }
  return results;
}

/** The median of enough runs, in microseconds. */
function usualMicros(encoded: string): number {
  const times: number[] = [];
  for (let spent = 0; times.length < RUNS.least || (spent < RUNS.ms && times.length < RUNS.most); ) {
    const ms = timed(encoded);
    times.push(ms);
    spent += ms;
  }
  return rounded(percentile(times, 0.5) * 1000, 1);
}

/** Milliseconds of one verification. */
function timed(encoded: string): number {
  const problem = hashProblem(encoded);
  if (problem) throw new Error(problem); // a rejected hash costs no work
  const start = performance.now();
  verifyHash(encoded, PASSWORD);
  return performance.now() - start;
}
