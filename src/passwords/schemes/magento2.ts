/**
 * Magento 2: `hash:salt:version` in hexadecimal digits. Version 0 is MD5, 1 SHA-256 of salt and password; 2 is argon2id
 * of libsodium's interactive cost; `3_bytes_passes_memory` is argon2id with its own. A hash that was upgraded lists
 * several versions, `1:3_32_2_67108864`: each hashes the result of the one before.
 * github.com/magento/magento2, lib/internal/Magento/Framework/Encryption/Encryptor.php
 */
import { hash } from 'node:crypto';
import { decodeHex, defineScheme, joined, type Secret, sameBytes } from '../scheme.ts';
import { argon2Work } from '../work.ts';
import { type Argon2Cost, argon2CostProblem, deriveArgon2 } from './argon2.ts';

const FORM = /^((?:[0-9a-f]{2}){16,64}):([0-9A-Za-z]{8,64})((?::\d+(?:_\d+_\d+_\d+)?){1,4})$/i;
const DIGESTS: Readonly<Record<string, string>> = { 0: 'md5', 1: 'sha256' };
/** SODIUM_CRYPTO_PWHASH_…_INTERACTIVE */
const INTERACTIVE = '3_32_2_67108864';
const SALT_BYTES = 16;

/** One digest or one argon2id over the previous text. */
type Step = { digest: string } | { cost: Argon2Cost; bytes: number };

function stepOf(version: string): Step | string {
  const digest = DIGESTS[version];
  if (digest !== undefined) return { digest };
  const [kind, ...numbers] = (version === '2' ? INTERACTIVE : version).split('_');
  const [bytes = 0, t = 0, memory = 0] = numbers.map(Number);
  if (kind !== '3' || numbers.length !== 3) return 'the version is not one of 0 to 3';
  const cost = { m: Math.floor(memory / 1024), t, p: 1 };
  return argon2CostProblem(cost) ?? (bytes < 16 || bytes > 64 ? 'the hash is not 16 to 64 bytes' : { cost, bytes });
}

function apply(step: Step, text: Secret, salt: string): string {
  if ('digest' in step) return hash(step.digest, joined(salt, text));
  return deriveArgon2('argon2id', text, Buffer.alloc(SALT_BYTES, salt), step.cost, step.bytes).toString('hex');
}

export const magento2Scheme = defineScheme({
  name: 'magento2',
  matches: (encoded) => FORM.test(encoded),
  parse(encoded) {
    const [, digestText = '', salt = '', versions = ''] = FORM.exec(encoded) ?? [];
    const steps = versions.slice(1).split(':').map(stepOf);
    const problem = steps.find((step) => typeof step === 'string');
    if (problem !== undefined) return problem;
    return { digest: decodeHex(digestText) as Buffer, salt, steps: steps as Step[] };
  },
  work: ({ steps }) => steps.reduce((sum, step) => sum + ('cost' in step ? argon2Work(step.cost) : 0), 0),
  verify({ digest, salt, steps }, password) {
    const made = steps.reduce((text: Secret, step) => apply(step, text, salt), password);
    return sameBytes(Buffer.from(String(made), 'hex'), digest);
  },
});
