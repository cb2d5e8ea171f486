/** Where each user of an import's body is in the files, by their index in the body: about four bytes for each user. */
import type { Place } from '../../sources/summary.ts';

const FIRST = 4096;

export interface Places {
  /** Adds the place of the next index. */
  push(file: string, line: number): void;
  at(index: number): Place | undefined;
  clear(): void;
}

export function openPlaces(): Places {
  let lines = new Uint32Array(FIRST);
  let length = 0;
  /** The files in the order they were read, each with the index of its first user. */
  let files: { file: string; from: number }[] = [];
  return {
    push(file, line) {
      if (length === lines.length) {
        const larger = new Uint32Array(2 * length);
        larger.set(lines);
        lines = larger;
      }
      if (files.at(-1)?.file !== file) files.push({ file, from: length });
      lines[length++] = line;
    },
    at(index) {
      if (index < 0 || index >= length) return undefined;
      const { file } = files.findLast(({ from }) => from <= index) as { file: string };
      return { file, line: lines[index] as number };
    },
    clear() {
      length = 0;
      files = [];
    },
  };
}
