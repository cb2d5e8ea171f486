/** Unknown fields of an import: each distinct path once, with how often it was met, at most 100 of them. */

const MAX_PATHS = 100;
const MAX_PATH_LENGTH = 300;

/** Is told of each unknown field, by its path inside the entry without indices: `user.hashedPassword.algorithm`. */
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
      [...counts].map(([path, count]) => ({ path, count, message: `"${path}" is not known and was ignored` })),
  };
}

/** A caller's path as PostgreSQL's jsonb can hold it. */
export function storable(path: string): string {
  return path.slice(0, MAX_PATH_LENGTH).replaceAll('\0', '\ufffd').toWellFormed();
}
