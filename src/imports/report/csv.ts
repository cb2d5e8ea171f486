/** CSV as RFC 4180 writes it, safe to open in a spreadsheet. */

const NEEDS_QUOTES = /[",\r\n]/;
/** A spreadsheet would take such a cell for a formula (OWASP, "CSV Injection"); also in their full-width forms. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/** One record, its line break included. A cell that a spreadsheet would compute begins with an apostrophe. */
export function csvRecord(cells: readonly (string | number)[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
