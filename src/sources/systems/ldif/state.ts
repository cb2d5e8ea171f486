/**
 * Whether an account in a directory is disabled, locked or expired, by the attributes of OpenLDAP (slapo-ppolicy), 389
 * Directory Server and FreeIPA, Active Directory, PingDS and OpenDJ, eDirectory, and shadow(5).
 *
 * An expired account is imported as inactive: a user who cannot sign in there must not be able to sign in here.
 */

import type { Person } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { firstOf, integerOf, isTrue } from './values.ts';

const DISABLED = ['nsaccountlock', 'ds-pwp-account-disabled', 'logindisabled'];

// https://learn.microsoft.com/windows/win32/adschema/a-useraccountcontrol
const UAC_DISABLED = 0x2;
const UAC_LOCKED = 0x10;

const DAY_MS = 86_400_000;
/** FILETIME counts units of 100 ns since 1601. */
const FILETIME_PER_MS = 10_000;
const FILETIME_1970_MS = 11_644_473_600_000;

/** @param now milliseconds since 1970 */
export function stateOf(entry: Fields, now: number): Person['state'] {
  const control = integerOf(entry, 'useraccountcontrol') ?? 0;
  if (DISABLED.some((attribute) => isTrue(entry, attribute))) return 'inactive';
  if ((control & UAC_DISABLED) !== 0 || /^(inactive|deleted)$/i.test(firstOf(entry, 'inetuserstatus') ?? '')) {
    return 'inactive';
  }
  if (endOf(entry).some((end) => end <= now)) return 'inactive';
  const isLocked = firstOf(entry, 'pwdaccountlockedtime') !== undefined || isTrue(entry, 'lockedbyintruder');
  return isLocked || (control & UAC_LOCKED) !== 0 ? 'locked' : undefined;
}

/** When the account expires: shadow(5) counts days, Active Directory uses FILETIME, FreeIPA and others write a time. */
function endOf(entry: Fields): number[] {
  const days = integerOf(entry, 'shadowexpire') ?? -1;
  const filetime = Number(firstOf(entry, 'accountexpires') ?? 0);
  const written = firstOf(entry, 'krbprincipalexpiration', 'ds-pwp-account-expiration-time', 'loginexpirationtime');
  return [
    ...(days > 0 ? [days * DAY_MS] : []),
    // Zero means never; so does the largest number, which is a date in the far future.
    ...(filetime > 0 ? [filetime / FILETIME_PER_MS - FILETIME_1970_MS] : []),
    ...(written === undefined ? [] : momentsOf(written)),
  ];
}

/** GeneralizedTime of RFC 4517 section 3.3.13, as servers write it: `20260301000000Z`. */
function momentsOf(text: string): number[] {
  const [, year, month, day, hour, minute, second = '0'] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(?:[.,]\d+)?Z$/.exec(text) ?? [];
  if (year === undefined) return [];
  return [Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))];
}
