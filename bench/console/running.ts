/**
 * `console-running`: how long the pages of the console take while a large import runs in which some users fail: the
 * page of the import, its causes, a search for a user; and how old what a live page shows is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, percentile, type Result, rounded, timed } from '../bench.ts';
import { user, userId } from '../testbed/load.ts';
import { DEFAULT_USERS, type Running, tooFew, whileRunning } from '../testbed/running.ts';
import { openSession, resultOf, type Session } from './session.ts';

const FAILED = 100;
const CALLS = 150;
/** Users of the running import for each call, so that a short import gets few calls. */
const USERS_PER_CALL = 1000;
const LEAST_CALLS = 3;
const PAUSE_MS = 20;
const P = 0.95;
const TARGETS_MS = { page: 500, causes: 300, search: 300, lag: 1000 };
const WHAT = {
  page: 'the page of the import',
  causes: 'why users failed',
  search: 'a search for an address',
  lag: 'the age of what a live page shows',
};

type Name = keyof typeof TARGETS_MS;
type Times = Record<Name, number[]>;

export async function consoleRunning(context: Context): Promise<Result[]> {
  const { users = DEFAULT_USERS, say, scope } = context;
  const failEach = Math.max(2, Math.floor(users / FAILED));
  const options = { entry: (n: number) => entry(n, failEach) };
  const measured = await whileRunning(
    context,
    users,
    (running) => {
      say(`console: up to ${CALLS} calls of each kind meanwhile`);
      return scope.within(async (inner) => {
        const session = await openSession(inner, running, running.stores);
        const lag = await watchLag(running, session);
        const times = await timedCalls(running, session.page, users).finally(lag);
        return { ...times, lag: await lag() };
      });
    },
    {},
    options,
  );
  const { figures, loadPerSecond } = measured;
  return (Object.keys(TARGETS_MS) as Name[]).map((name) => figureOf(name, figures, { users, loadPerSecond }));
}

/** One user in `failEach` has an address that is none. */
function entry(n: number, failEach: number): object {
  const one = user(n);
  return n % failEach === 1
    ? { userId: userId(n), user: { ...one, email: { email: 'none' } } }
    : { userId: userId(n), user: one };
}

/** Milliseconds of each call; stops when only a quarter of the import is left. */
async function timedCalls(
  { client, importId }: Running,
  page: (path: string) => Promise<string>,
  users: number,
): Promise<Omit<Times, 'lag'>> {
  const times = { page: [] as number[], causes: [] as number[], search: [] as number[] };
  const path = `/admin/v1/imports/${importId}`;
  const most = Math.min(CALLS, Math.ceil(users / USERS_PER_CALL));
  for (let n = 0, pending = users; n < most && pending > users / 4; n++) {
    times.page.push(await timed(() => page(`/console/imports/${importId}`)));
    await sleep(PAUSE_MS);
    times.causes.push(await timed(() => client.call('GET', `${path}/causes`)));
    await sleep(PAUSE_MS);
    const wanted = user(Math.floor((users * n) / most)).email.email;
    times.search.push(await timed(() => client.call('GET', `${path}/items?query=${encodeURIComponent(wanted)}`)));
    await sleep(PAUSE_MS);
    ({ pending } = (await client.call('GET', path)).counts);
  }
  if (times.page.length < LEAST_CALLS) throw tooFew(users);
  return times;
}

function figureOf(name: Name, times: Times, load: { users: number; loadPerSecond: number }): Result {
  const of = times[name];
  const [p50, longest] = [percentile(of, 0.5), Math.max(...of)].map((ms) => rounded(ms, 1));
  const target = TARGETS_MS[name];
  const { users, loadPerSecond } = load;
  return resultOf({
    name: `console-${name}`,
    value: percentile(of, P),
    unit: 'ms',
    target,
    notes: [
      `p95 of ${WHAT[name]} while ${users} users are imported, ${of.length} times; p50 ${p50}, longest ${longest} ms`,
      `target: at most ${target} ms; meanwhile ${loadPerSecond} users/s of the import`,
    ],
    extras: { calls: of.length, p50, longest, ...load },
  });
}

const READ_EVERY_MS = 25;

interface Step {
  at: number;
  succeeded: number;
}

/**
 * Opens the page of the running import, and watches how old what it shows is: the time since the database had more users
 * written than the page says. Every reading of the database counts, so also the time between two updates of the page.
 * @returns a function that ends that, and returns the ages in ms
 */
async function watchLag({ stores, importId }: Running, session: Session): Promise<() => Promise<number[]>> {
  /** What the database said since the page was right. */
  let newer: Step[] = [];
  let shown = -1;
  const ages: number[] = [];
  let rest = '';
  await session.stream(`/console/imports/${importId}/live`, (text) => {
    const messages = (rest + text).split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) shown = shownIn(message) ?? shown;
    newer = newer.filter(({ succeeded }) => succeeded > shown);
  });
  let isOver = false;
  const read = async () => {
    while (!isOver) {
      const { rows } = await stores.pool.query<Step>('select succeeded from imports where id = $1', [importId]);
      const at = performance.now();
      const { succeeded = 0 } = rows[0] ?? {};
      if (shown >= 0 && succeeded > shown) newer.push({ at, succeeded });
      if (shown >= 0) ages.push(at - (newer[0]?.at ?? at));
      await sleep(READ_EVERY_MS);
    }
  };
  const reading = read();
  return async () => {
    isOver = true;
    await reading;
    return ages;
  };
}

/** How many users have been written, as a message of the stream says. */
function shownIn(message: string): number | undefined {
  const data = /^data: (\{.*\})$/m.exec(message)?.[1];
  const { text } = data ? (JSON.parse(data) as { text?: Record<string, string> }) : {};
  return text?.succeeded === undefined ? undefined : Number(text.succeeded.replace(/\D/g, ''));
}
