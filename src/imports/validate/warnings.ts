/** Counts the unknown fields of an import: each distinct path with its number of occurrences, at most 100 paths. */

const MAX_PATHS = 100;
const MAX_PATH_LENGTH = 300;

/** Receives the path of each unknown field, without indices: `user.hashedPassword.algorithm`. */
export interface Warnings {
  unknown(path: string): void;
}

export interface WarningCounts extends Warnings {
  list(): { path: string; count: number; message: string }[];
}

export function createWarningCounter(): WarningCounts {
  const counts = new Map<string, number>();
  return {
    unknown(path) {
      const shown = storable(path);
      const count = counts.get(shown);
      if (count !== undefined) counts.set(shown, count + 1);
      else if (counts.size < MAX_PATHS) counts.set(shown, 1);
    },
    list: () =>
      [...counts].map(([path, count]) => ({ path, count, message: `"${path}" is not a known field and was ignored.` })),
  };
}

/** A caller's path in a form that PostgreSQL's jsonb can store. */
export function storable(path: string): string {
  return path.slice(0, MAX_PATH_LENGTH).replaceAll('\0', '\ufffd').toWellFormed();
}
