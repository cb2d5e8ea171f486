/** For what belongs to a store that may be away: the look at all the others is worth an answer without it. */

const PATIENCE_MS = 4000;

/** The value, or undefined when there is none within some seconds. */
export async function orNothing<T>(read: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, undefined);
  });
  const value = read.catch(() => undefined);
  return Promise.race([value, late]).finally(() => clearTimeout(timer));
}
