/**
 * Converts the secret of a Keycloak authenticator app to base32.
 *
 * Trap: Keycloak's secret is a text whose bytes are the key. It looks like base32, but is not, unless `secretEncoding`
 * says so.
 * https://www.keycloak.org/docs/latest/server_admin/index.html#one-time-password-otp-policies
 */
import { Secret } from 'otpauth';
import { readTotpSecret } from '../../../identity/totp/secret.ts';
import type { Fields } from '../../source.ts';
import { jsonAt, numberAt, textAt } from '../../values.ts';

/** Undefined unless the credential gives 6-digit codes every 30 seconds by SHA-1, from a secret that is long enough. */
export function totpOf(credential: Fields): string | undefined {
  const isOld = typeof credential.hashedSaltedValue === 'string';
  const data = isOld ? { ...credential, subType: credential.type } : jsonAt(credential, 'credentialData');
  const value = isOld ? credential.hashedSaltedValue : jsonAt(credential, 'secretData').value;
  if (typeof value !== 'string' || !isUsual(data)) return undefined;
  const read = readTotpSecret(inBase32(value, textAt(data, 'secretEncoding')));
  return 'secret' in read ? read.secret : undefined;
}

/** Absent settings have the values of a new realm's policy. */
function isUsual(data: Fields): boolean {
  const isSha1 = /^(hmac)?sha-?1$/i.test(textAt(data, 'algorithm') ?? 'HmacSHA1');
  const isTimed = (textAt(data, 'subType') ?? 'totp') === 'totp';
  return isSha1 && isTimed && (numberAt(data, 'digits') ?? 6) === 6 && (numberAt(data, 'period') ?? 30) === 30;
}

function inBase32(value: string, encoding: string | undefined): string {
  if (encoding === undefined) return Secret.fromUTF8(value).base32;
  return encoding.toUpperCase() === 'BASE32' ? value : '';
}
