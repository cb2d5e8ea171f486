/** Reads rows of ASP.NET Identity's tables, however the database spells column names and absent values. */
import type { Fields } from '../../source.ts';
import { isFields, parseJson } from '../../values.ts';

/** Turns `EmailConfirmed`, `emailConfirmed`, `email_confirmed` and `EMAIL_CONFIRMED` into `emailconfirmed`. */
export function columnName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** The values by column name, without the absent ones. */
export function columnsOf(record: Fields): Fields {
  const told = Object.entries(record).filter(([, value]) => !isNull(value));
  return Object.fromEntries(told.map(([name, value]) => [columnName(name), value]));
}

/** In CSV, SQL Server's tools write `NULL`; MySQL's and PostgreSQL's write `\N`. */
export function isNull(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === 'NULL' || value === '\\N';
}

/** The objects of a list, also if it is JSON text, as SQL Server's `FOR JSON` writes it. */
export function listAt(row: Fields, column: string): Fields[] {
  const value = Object.hasOwn(row, column) ? row[column] : undefined;
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) ? list.filter(isFields) : [];
}
