/**
 * Converts rows of cells to records by column name. Many programs leave out empty cells at the end of a row, so missing
 * cells count as empty, and empty cells beyond the last column as nothing.
 *
 * Guarantee: a row with text beyond the last column is a broken record, as its cells are under the wrong names. So is one
 * with different cells in two columns of the same name, as one of them would be lost. Other
 * rows of another length are read, and marked, as they may lack a cell in the middle.
 */
import type { FileRecord } from './records.ts';

export type RowReader = (cells: string[], line: number) => FileRecord | undefined;

/**
 * Reads rows one after the other. The first row may decide how many cells a row usually has: in some files every row
 * except the header ends with a delimiter, and files without a header may lack the last columns.
 * @param columns names, from the header or from the caller
 * @param hasHeader whether the names are in the file
 */
export function rowReader(columns: readonly string[], hasHeader: boolean): RowReader {
  let width: number | undefined;
  const twice = repeatedOf(columns);
  return (cells, line) => {
    // A line of spaces is not a row.
    if (cells.length === 1 && columns.length > 1 && cells[0]?.trim() === '') return undefined;
    const unclear = twice.find((places) => new Set(places.map((at) => cells[at] ?? '')).size > 1);
    if (unclear) {
      const problem = `has different values in two columns named "${columns[unclear[0] as number]}": rename one`;
      return { line, value: undefined, problem };
    }
    width ??= widthBy(cells, columns, hasHeader);
    if (cells.length === width) return { line, value: recordOf(cells, columns) };
    if (isEmptyBeyond(columns.length, cells)) return { line, value: recordOf(cells, columns), isUneven: true };
    const where = hasHeader ? 'the header' : 'this export';
    return { line, value: undefined, problem: `has ${cells.length} cells where ${where} has ${columns.length}` };
  };
}

/** Like `rowReader`, but accepts rows of any length: for recognizing a file, not for importing it. */
export function looseRowReader(columns: readonly string[]): RowReader {
  return (cells, line) => ({ line, value: recordOf(cells, columns) });
}

/** The places of each name that more than one column has. */
function repeatedOf(columns: readonly string[]): number[][] {
  const places = new Map<string, number[]>();
  for (const [i, name] of columns.entries()) {
    if (name === '') continue;
    const known = places.get(name);
    if (known) known.push(i);
    else places.set(name, [i]);
  }
  return [...places.values()].filter((all) => all.length > 1);
}

function widthBy(first: readonly string[], columns: readonly string[], hasHeader: boolean): number {
  if (first.length > columns.length) return isEmptyBeyond(columns.length, first) ? first.length : columns.length;
  // If only the header ends with a delimiter, its last column has no name.
  const areNamed = columns.slice(first.length).some((name) => name !== '');
  return hasHeader && areNamed ? columns.length : first.length;
}

function isEmptyBeyond(width: number, cells: readonly string[]): boolean {
  return cells.slice(width).every((cell) => cell.trim() === '');
}

function recordOf(cells: readonly string[], columns: readonly string[]): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [i, name] of columns.entries()) if (name !== '') value[name] = cells[i] ?? '';
  return value;
}
