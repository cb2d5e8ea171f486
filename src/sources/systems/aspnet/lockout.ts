/**
 * Whether a user of ASP.NET Identity is locked out. As in UserManager.IsLockedOutAsync: lockout is enabled for the
 * user, and its end is in the future.
 * https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.identity.usermanager-1.islockedoutasync
 */
import type { Note } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { boolAt, textAt } from '../../values.ts';

const LOCKOUT_STAYS: Note = {
  id: 'LOCKOUT-WITHOUT-END',
  message: 'The user is locked out until a certain time; here they stay locked until someone unlocks them.',
};
const LOCKOUT_UNREADABLE: Note = {
  id: 'LOCKOUT-UNREADABLE',
  message: 'The end of the lockout is not a readable date; the user is imported as locked.',
};

/** To lock a user permanently, administrators set the largest possible date, which is in this year. */
const FOR_GOOD = Date.UTC(9999, 0);

/** `2026-03-01T00:00:00Z`, `2026-03-01 00:00:00.0000000 +01:00`; without a zone it is UTC, as in the older table. */
const MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)? ?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/** @param row by the column names that `columnsOf` returns @param now milliseconds since 1970 */
export function lockoutOf(row: Fields, now: number): { isLocked: boolean; notes: Note[] } {
  const end = textAt(row, 'lockoutend') ?? textAt(row, 'lockoutenddateutc');
  if (end === undefined || boolAt(row, 'lockoutenabled') === false) return { isLocked: false, notes: [] };
  const moment = momentOf(end);
  if (Number.isNaN(moment)) return { isLocked: true, notes: [LOCKOUT_UNREADABLE] };
  if (moment < now) return { isLocked: false, notes: [] };
  return { isLocked: true, notes: moment < FOR_GOOD ? [LOCKOUT_STAYS] : [] };
}

function momentOf(text: string): number {
  if (text === 'infinity') return Number.POSITIVE_INFINITY; // PostgreSQL for the largest date
  if (text === '-infinity') return Number.NEGATIVE_INFINITY;
  const [, day, time, zone = 'Z'] = MOMENT.exec(text) ?? [];
  if (day === undefined) return Date.parse(text);
  return Date.parse(`${day}T${time}${/^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone}`);
}
