/** Calls of one statement that are made at the same moment, so that they can share a statement. */

/** A call of a pool's `query` that waits for its answer. */
export interface Call {
  text: string;
  values: readonly unknown[];
  resolve(result: { rows: unknown[] }): void;
  reject(error: unknown): void;
}

export type Row = Record<string, unknown>;
export type RunQuery = (query: unknown, values?: readonly unknown[]) => Promise<{ rows: Row[] }>;

export interface Gathering {
  /** Calls in one statement. */
  mostAtOnce: number;
  /** Statements in progress; further calls wait, and then share the next one. */
  mostStatements: number;
  /** Settles each call; never rejects. */
  send(calls: Call[]): Promise<void>;
}

/**
 * Returns a function that takes a call and sends it with those of the same turn of the event loop: a batch of users ends
 * in one turn, and so do their jobs.
 */
export function gather({ mostAtOnce, mostStatements, send }: Gathering): (call: Call) => void {
  const waiting: Call[] = [];
  let underWay = 0;
  let isDue = false;

  function next(): void {
    isDue = false;
    while (underWay < mostStatements && waiting.length > 0) {
      underWay++;
      void send(waiting.splice(0, mostAtOnce)).finally(() => {
        underWay--;
        next();
      });
    }
  }

  return (call) => {
    waiting.push(call);
    if (isDue) return;
    isDue = true;
    setImmediate(next);
  };
}

/** Sends a call as it is. */
export async function alone(run: RunQuery, { text, values, resolve, reject }: Call): Promise<void> {
  await run(text, values).then(resolve, reject);
}

/**
 * Gives each call its job from the rows of a shared statement, whose `ord` is the number of the call; none if it has no row.
 * Returns false, and settles none, if the statement did not apply: its first row says so.
 */
export function answer(calls: Call[], rows: Row[]): boolean {
  if (!rows[0]?.holds) return false;
  const jobs = new Map(rows.map(({ holds, ord, ...job }) => [Number(ord), job]));
  for (const [i, { resolve }] of calls.entries()) {
    const job = jobs.get(i + 1);
    resolve({ rows: job ? [job] : [] });
  }
  return true;
}
