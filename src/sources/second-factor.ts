/**
 * Second factors in columns with common names, for every tabular source: a secret that can be read is taken, and any other
 * factor that is switched on is noted as lost.
 */
import { readTotpKey } from '../passwords/totp-secret.ts';
import type { Note } from './entry.ts';
import { PASSKEY_LOST, RECOVERY_CODES_LOST, SECOND_FACTOR_LOST } from './notes.ts';
import type { Fields } from './source.ts';
import { CONTEXT, fieldNames, flagOf, isFields, plainName, textAt } from './values.ts';
import { folded } from './words.ts';

export { PASSKEY_LOST, RECOVERY_CODES_LOST, SECOND_FACTOR_LOST } from './notes.ts';

export interface Lost {
  secondFactor?: boolean;
  passkey?: boolean;
  recoveryCodes?: boolean;
}

/** A note for each thing that the user had and that does not come along. */
export function lostNotes({ secondFactor, passkey, recoveryCodes }: Lost): Note[] {
  return [
    ...(secondFactor === true ? [SECOND_FACTOR_LOST] : []),
    ...(passkey === true ? [PASSKEY_LOST] : []),
    ...(recoveryCodes === true ? [RECOVERY_CODES_LOST] : []),
  ];
}

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

/** As `secondFactorOf`, for a record of no known system: a factor in objects, or under any other name, is lost. */
export function anySecondFactor(record: Fields): SecondFactor {
  const found = secondFactorOf(record);
  if (found.totp !== undefined || found.notes.length > 0) return found;
  const others = Object.entries(record).filter(([column]) => !hasFactorColumn([column]) || isFields(record[column]));
  return hasSecondFactor(Object.fromEntries(others)) ? { notes: [SECOND_FACTOR_LOST] } : found;
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
  return 'secret' in readTotpKey(secret) ? { totp: secret, notes: [] } : { notes: [SECOND_FACTOR_LOST] };
}

function flagAt(record: Fields, column: string): boolean | undefined {
  const flag = flagOf(record[column]);
  if (flag !== 'unreadable') return flag;
  // A date of its set-up.
  const text = textAt(record, column) ?? '';
  return /^[\d\s.:/TZ+-]+$/.test(text) ? /[1-9]/.test(text) : undefined;
}

/** Names, without case and punctuation. */
const OF_A_FACTOR =
  /2fa|mfa|totp|twofactor|twostep|2step|multifactor|secondfactor|otp(?:secret|key|auth|enabled|seed|uri|url|required)|gauth|googleauth|authenticators?(?!ion)|yubikey|u2f|webauthn|passkey|hardwaretoken/;
/** Names of times, codes and counts of a factor, and of hints that one should be set up. */
const OF_OTHER_THINGS =
  /(?:verified|confirmed|used|created|updated|enabled|last)?at$|date$|lasttoken|lastused|prompt|remind|skip|required$|enforce|count|attempts/;
/** Words for none. */
const NO_FACTOR = /^(?:|none|null|nil|disabled|off|inactive|unset|not enrolled|unenrolled|n\/a|-|\[\]|\{\}|\\n)$/i;
const FACTOR_DEPTH = 3;

/** Whether the names of fields, also in objects and lists, say that the user has a second factor: `gauth_secret`. */
function hasSecondFactor(record: Fields): boolean {
  return isFactorIn(record, false, 0);
}

/** @param isFactor whether the value is part of a second factor */
function isFactorIn(value: Fields, isFactor: boolean, depth: number): boolean {
  const fields = Object.entries(value).filter(([name]) => name !== CONTEXT);
  // Where a factor says whether it is on, nothing else decides.
  const switched = isFactor
    ? fields.find(([name]) => /^(?:is)?(?:enabled|active|on|enrolled)$/i.test(name))
    : undefined;
  if (switched) return flagOf(switched[1]) !== false;
  return fields.some(([name, inner]) => {
    const plain = name.length > 100 ? '' : folded(name).replace(/[^a-z0-9]/g, '');
    const isNamed = isFactor || (OF_A_FACTOR.test(plain) && !OF_OTHER_THINGS.test(plain));
    if (isFields(inner)) return depth < FACTOR_DEPTH && isFactorIn(inner, isNamed, depth + 1);
    return isNamed && isOn(inner);
  });
}

function isOn(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  return flagOf(value) !== false && !NO_FACTOR.test(String(value).trim());
}
