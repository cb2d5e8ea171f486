/** Writes CSV (RFC 4180) that is safe to open in a spreadsheet. */

const NEEDS_QUOTES = /[",\r\n]/;
/** A spreadsheet would read such a cell as a formula (OWASP, "CSV Injection"); includes the full-width forms. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/** One record with its line break. A cell that a spreadsheet would compute gets a leading apostrophe. */
export function csvRecord(cells: readonly (string | number)[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
