/**
 * Salted digests of Kratos: `$sha256$pf=<format>$salt$hash`, each part in base64. The format says how salt and password
 * are concatenated: `{SALT}{PASSWORD}`, or with additional text.
 *
 * The additional text becomes part of the salt. Text on both sides of the password cannot be expressed.
 * https://www.ory.com/docs/kratos/manage-identities/import-user-accounts-identities#hashed-passwords
 */
import { bytesOf, type HashText, saltedDigest } from '../../hash-text.ts';

const PASSWORD = '{PASSWORD}';
const SALT = '{SALT}';

/**
 * @param fields the parts after the name of the digest; MD5 may lack format and salt
 * @returns undefined when it cannot be expressed
 */
export function saltedDigestOf(algorithm: string, fields: string[]): HashText | undefined {
  const isBare = algorithm === 'md5' && fields.length === 1;
  const [format, saltText, digestText] = isBare ? [`pf=${btoa(PASSWORD)}`, '', fields[0]] : fields;
  const digest = bytesOf(digestText ?? '-', 'base64');
  const [before, after] = surroundingsOf(format ?? '', saltText ?? '') ?? [];
  if (!digest || !before || !after || (before.length > 0 && after.length > 0)) return undefined;
  const isSuffix = after.length > 0;
  return { hash: saltedDigest(algorithm, isSuffix ? 'suffix' : 'prefix', isSuffix ? after : before, digest) };
}

/** The bytes before and after the password. */
function surroundingsOf(format: string, saltText: string): Buffer[] | undefined {
  const pattern = format.startsWith('pf=') ? bytesOf(format.slice('pf='.length), 'base64') : undefined;
  const salt = bytesOf(saltText, 'base64');
  const parts = pattern?.toString('latin1').split(PASSWORD) ?? [];
  if (salt === undefined || parts.length !== 2) return undefined;
  // Byte by byte, because the salt may not be text.
  const letters = salt.toString('latin1');
  return parts.map((part) =>
    Buffer.from(
      part.replaceAll(SALT, () => letters),
      'latin1',
    ),
  );
}
