/**
 * Second factors of a FusionAuth user: the first authenticator app with a secret is imported.
 * https://fusionauth.io/docs/apis/users/import (`twoFactor`; `twoFactorSecret` before 1.26)
 *
 * FusionAuth's codes always use SHA-1, 6 digits and 30 seconds. Its secrets are base64, while apps use base32.
 */
import { Secret } from 'otpauth';
import { bytesOf, SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { boolAt, objectAt, objectsAt, textAt } from '../../values.ts';

export function factorsOf(record: Fields): Pick<Person, 'totp'> & { notes: Note[] } {
  const methods = [...objectsAt(objectAt(record, 'twoFactor'), 'methods'), ...oldMethod(record)];
  const secrets = methods.map(secretOf).filter((secret) => secret !== undefined);
  const [totp] = secrets;
  return { totp, notes: methods.length > (totp === undefined ? 0 : 1) ? [SECOND_FACTOR_LOST] : [] };
}

function oldMethod(record: Fields): Fields[] {
  if (boolAt(record, 'twoFactorEnabled') !== true) return [];
  return [{ method: 'authenticator', secret: record.twoFactorSecret }];
}

/** The secret of an authenticator app in base32; undefined for mail and SMS, and when the export omits it. */
function secretOf(method: Fields): string | undefined {
  const secret = textAt(method, 'method') === 'authenticator' ? textAt(method, 'secret') : undefined;
  const bytes = secret === undefined ? undefined : bytesOf(secret, 'base64');
  return bytes === undefined ? undefined : new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32;
}
