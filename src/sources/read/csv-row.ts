/**
 * Rows of cells as records by column name.
 *
 * Guarantee: a row whose cells are not as many as those of all others is a broken record: its cells may stand under the
 * wrong names.
 */
import type { FileRecord } from './records.ts';

export type RowReader = (cells: string[], line: number) => FileRecord | undefined;

/**
 * Reads rows one after the other. The first one may settle how many cells a row has: in some files every row ends with a
 * delimiter, which the header does not, and files without a header may end before the last columns.
 * @param columns names, from the header or from the caller
 * @param hasHeader whether they stand in the file
 */
export function rowReader(columns: readonly string[], hasHeader: boolean): RowReader {
  let width: number | undefined;
  return (cells, line) => {
    // Spaces alone on a line are no row.
    if (cells.length === 1 && columns.length > 1 && cells[0]?.trim() === '') return undefined;
    width ??= widthBy(cells, columns, hasHeader);
    if (cells.length === width) return { line, value: recordOf(cells, columns) };
    const where = width !== columns.length ? 'the first row' : hasHeader ? 'the header' : 'this export';
    const counted = `${cells.length} cell${cells.length === 1 ? '' : 's'}`;
    return { line, value: undefined, problem: `has ${counted} where ${where} has ${width}` };
  };
}

/** As `rowReader`, but taking rows of any length: to tell what a file is, not to import it. */
export function looseRowReader(columns: readonly string[]): RowReader {
  return (cells, line) => ({ line, value: recordOf(cells, columns) });
}

function widthBy(first: readonly string[], columns: readonly string[], hasHeader: boolean): number {
  const isEmpty = first.slice(columns.length).every((cell) => cell === '');
  if (first.length > columns.length) return isEmpty ? first.length : columns.length;
  // A delimiter at the end of the header alone makes a last column without a name.
  const areNamed = columns.slice(first.length).some((name) => name !== '');
  return hasHeader && areNamed ? columns.length : first.length;
}

function recordOf(cells: readonly string[], columns: readonly string[]): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [i, name] of columns.entries()) if (name !== '') value[name] = cells[i] ?? '';
  return value;
}
