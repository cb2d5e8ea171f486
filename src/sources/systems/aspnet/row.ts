/** A row of ASP.NET Identity's tables, whichever way its database writes names and the absence of a value. */
import type { Fields } from '../../source.ts';
import { isFields, parseJson } from '../../values.ts';

/** `EmailConfirmed`, `emailConfirmed`, `email_confirmed` and `EMAIL_CONFIRMED` to `emailconfirmed`. */
export function columnName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** The values by the names of their columns, without those that are absent. */
export function columnsOf(record: Fields): Fields {
  const told = Object.entries(record).filter(([, value]) => !isNull(value));
  return Object.fromEntries(told.map(([name, value]) => [columnName(name), value]));
}

/** SQL Server's tools write `NULL` into CSV, MySQL's and PostgreSQL's `\N`. */
export function isNull(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === 'NULL' || value === '\\N';
}

/** The objects of a list, also where it stands there as JSON text, as `FOR JSON` makes it. */
export function listAt(row: Fields, column: string): Fields[] {
  const value = Object.hasOwn(row, column) ? row[column] : undefined;
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) ? list.filter(isFields) : [];
}
