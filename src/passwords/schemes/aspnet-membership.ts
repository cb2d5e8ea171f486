/**
 * The table aspnet_Membership of ASP.NET before Identity, with `PasswordFormat` 1: `$aspnet-membership$salt$hash`, as the
 * columns `PasswordSalt` and `Password` hold them in base64. Hashed is the salt and the password in UTF-16, or an HMAC of
 * the password with the salt as its key, repeated or cut off to the length of the class's own key. The length of the hash
 * tells the digest and not which of both, so both are tried.
 *
 * SqlMembershipProvider.EncodePassword of .NET Framework 4 (referencesource, System.Web/Security/SQLMembershipProvider.cs)
 */
import { createHmac, hash } from 'node:crypto';
import { DIGESTS, decodeBase64, defineScheme, joined, sameBytes } from '../scheme.ts';

const PREFIX = '$aspnet-membership$';

interface Parts {
  algorithm: string;
  salt: Buffer;
  digest: Buffer;
}

function parse(encoded: string): Parts | string {
  const [saltText, digestText, ...more] = encoded.slice(PREFIX.length).split('$');
  if (saltText === undefined || digestText === undefined || more.length > 0) return 'the fields are not salt and hash';
  const [salt, digest] = [decodeBase64(saltText), decodeBase64(digestText)];
  if (salt === undefined || salt.length === 0) return 'the salt is not base64';
  if (digest === undefined) return 'the hash is not base64';
  const algorithm = DIGESTS.find(({ length }) => length === digest.length)?.algorithm;
  return algorithm === undefined ? 'the hash has the length of no digest' : { algorithm, salt, digest };
}

/** The keys that .NET's classes make have the length of the digest's block. */
const BLOCK_BYTES: Readonly<Record<string, number>> = { sha384: 128, sha512: 128 };

export const aspnetMembershipScheme = defineScheme({
  name: 'aspnet-membership',
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  verify({ algorithm, salt, digest }, password) {
    const text = typeof password === 'string' ? Buffer.from(password, 'utf16le') : password;
    const key = Buffer.alloc(BLOCK_BYTES[algorithm] ?? 64, salt);
    const made = [hash(algorithm, joined(salt, text), 'buffer'), createHmac(algorithm, key).update(text).digest()];
    return made.some((one) => sameBytes(one, digest));
  },
});
