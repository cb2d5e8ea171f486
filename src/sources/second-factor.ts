/**
 * Second factors in columns with common names, for every tabular source: a secret that can be read is taken, and any other
 * factor that is switched on is noted as lost.
 */
import { readTotpSecret } from '../passwords/totp-secret.ts';
import type { Note } from './entry.ts';
import { SECOND_FACTOR_LOST } from './hashes.ts';
import type { Fields } from './source.ts';
import { fieldNames, flagOf, plainName, textAt } from './values.ts';

/** Columns of secrets, in lower case and without punctuation. */
export const FACTOR_SECRETS = fieldNames(`totp totpsecret otpsecret mfasecret mfatotpsecret tfasecret twofactorsecret
  twofasecret 2fasecret google2fasecret googleauthsecret googleauthenticatorsecret gasecret authenticatorsecret
  authenticatorkey totpkey otpkey mfakey twofactorkey twofakey 2fakey otpauth otpauthurl totpurl twofactorseed totpseed`);

/** Columns that say whether there is a factor: yes or no, or when it was set up. */
const FLAGS = fieldNames(`mfa mfaactive mfaenabled ismfaenabled mfaenabledat mfaenrolled usesmfa usingmfa tfa tfaenabled
  twofactor twofactorenabled istwofactorenabled twofactorauth twofactorconfirmedat twofactorenabledat 2fa 2faenabled
  is2faenabled twofa twofaenabled istwofaenabled 2svenrolled totpenabled istotpenabled otpenabled otpactive
  otprequiredforlogin google2faenabled twostepenabled twostep`);

export interface SecondFactor {
  totp?: string;
  notes: readonly Note[];
}

const NONE: SecondFactor = { notes: [] };

/** Whether one of the columns is of a second factor, so that a source that reads it knows more than their names say. */
export function hasFactorColumn(columns: Iterable<string>): boolean {
  for (const column of columns) {
    const name = plainName(column);
    if (FACTOR_SECRETS.has(name) || FLAGS.has(name)) return true;
  }
  return false;
}

/** The second factor in the columns of a record. */
export function secondFactorOf(record: Fields): SecondFactor {
  const flags: boolean[] = [];
  let secret: string | undefined;
  for (const column of Object.keys(record)) {
    const name = plainName(column);
    const isSecret = FACTOR_SECRETS.has(name);
    if (!isSecret && !FLAGS.has(name)) continue;
    const flag = flagAt(record, column);
    if (flag !== undefined) flags.push(flag);
    else if (isSecret) secret ??= textAt(record, column);
  }
  const isOn = flags.includes(true);
  if (secret === undefined) return isOn ? { notes: [SECOND_FACTOR_LOST] } : NONE;
  // A secret that was made and never confirmed is no factor.
  if (!isOn && flags.length > 0) return NONE;
  return 'secret' in readTotpSecret(secret) ? { totp: secret, notes: [] } : { notes: [SECOND_FACTOR_LOST] };
}

function flagAt(record: Fields, column: string): boolean | undefined {
  const flag = flagOf(record[column]);
  if (flag !== 'unreadable') return flag;
  // A date of its set-up.
  const text = textAt(record, column) ?? '';
  return /^[\d\s.:/TZ+-]+$/.test(text) ? /[1-9]/.test(text) : undefined;
}
