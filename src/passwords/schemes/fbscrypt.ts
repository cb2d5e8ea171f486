/**
 * Firebase's modified scrypt as GoTrue writes it: `$fbscrypt$v=1,n=14,r=8,p=1,ss=separator,sk=signer key$salt$hash`,
 * base64.
 *
 * The hash is the project's signer key, encrypted (AES-256-CTR) with a key that scrypt derives from the password. `n`
 * is Firebase's mem_cost, log2 of scrypt's N; `r` is its rounds. The signer key makes it longer than any other hash.
 * github.com/firebase/scrypt; github.com/supabase/auth, internal/crypto/password.go.
 */
import { createCipheriv } from 'node:crypto';
import { decodeBase64, defineScheme, SHORTEST_DIGEST, sameBytes, wholeNumber } from '../scheme.ts';
import { scryptWork } from '../work.ts';
import { deriveScrypt, type ScryptCost, scryptCostProblem } from './scrypt.ts';

const PREFIX = '$fbscrypt$';
const KEY_BYTES = 32;
const NO_IV = Buffer.alloc(16);

interface Parts {
  cost: ScryptCost;
  /** Salt and separator. */
  salt: Buffer;
  signerKey: Buffer;
  digest: Buffer;
}

function parse(encoded: string): Parts | string {
  const [parameters = '', saltText, digestText, ...more] = encoded.slice(PREFIX.length).split('$');
  const found = /^v=([^,]*),n=([^,]*),r=([^,]*),p=([^,]*)(?:,ss=([^,]*))?,sk=([^,]*)$/.exec(parameters);
  if (found === null) return 'the parameters are not v=…,n=…,r=…,p=…,ss=…,sk=…';
  const [, version, n, r, p, separatorText = '', signerText = ''] = found;
  if (version !== '1') return 'only version v=1 is supported';
  const cost = { ln: wholeNumber(n), r: wholeNumber(r), p: wholeNumber(p) };
  const problem = scryptCostProblem(cost, 'n');
  if (problem !== undefined) return problem;
  if (saltText === undefined || digestText === undefined || more.length > 0) {
    return 'the fields are not parameters, salt and hash';
  }
  const separator = decodeBase64(separatorText);
  if (separator === undefined) return 'the salt separator ss is not base64';
  const signerKey = decodeBase64(signerText);
  if (signerKey === undefined) return 'the signer key sk is not base64';
  const salt = decodeBase64(saltText);
  if (salt === undefined) return 'the salt is not base64';
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  if (digest.length !== signerKey.length) return 'the hash is not as long as the signer key';
  return { cost, salt: Buffer.concat([salt, separator]), signerKey, digest };
}

export const fbscryptScheme = defineScheme({
  name: 'fbscrypt',
  longest: 400,
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  work: ({ cost }) => scryptWork(cost),
  verify({ cost, salt, signerKey, digest }, password) {
    const key = deriveScrypt(password, salt, cost, KEY_BYTES);
    return sameBytes(createCipheriv('aes-256-ctr', key, NO_IV).update(signerKey), digest);
  },
});
