/** Imports the export of a case into an organization of its own: first as a dry run, then really. */
import type { SignIn, SignInCounts } from '../../src/contract/sign-in.ts';
import { must, type TestOrg } from '../support/calls.ts';
import { runMuster } from '../support/processes/muster.ts';
import { waitFor } from '../support/wait.ts';
import type { WaysCase } from './cases.ts';
import type { Stage } from './stage.ts';

export interface Imported {
  org: TestOrg;
  importId: string;
  given: WaysCase;
  /** The predictions of the dry run and of the import by user name. */
  predicted: Map<string, SignIn>;
  imported: Map<string, SignIn>;
  counts: SignInCounts;
  shown: string;
}

/** @param args further options of the command line @param start further fields of the start */
export async function importCase(
  stage: Stage,
  org: TestOrg,
  given: WaysCase,
  { args = [], start = {} }: { args?: readonly string[] | undefined; start?: object | undefined } = {},
): Promise<Imported> {
  const common = ['import', ...given.files, '--from', given.source, '--org', org.orgId, ...given.args, ...args];
  const env = { MUSTER_URL: stage.url, MUSTER_TOKEN: org.ownerToken };
  const held = 'mails' in start ? ['--mails', 'none'] : [];
  const { stdout, stderr } = await runMuster([...common, ...held, '--json', '--dry-run'], { env });
  const shown = stdout + stderr;
  if (!stdout.startsWith('{')) throw new Error(`${given.source}: ${shown}`);
  const { import: check, draft } = JSON.parse(stdout);
  const predicted = await predictionsOf(stage, check.importId);
  const body = { timeout: '10m', mails: 'auto', ...start };
  await must(stage.call('POST', `/admin/v1/imports/${draft}/_start`, body, { token: org.ownerToken }));
  await waitFor(() => hasEnded(stage, draft), { what: `the end of the import of ${given.source}` });
  const imported = await predictionsOf(stage, draft);
  return { org, importId: draft, given, predicted, imported, counts: check.signIn, shown };
}

export async function hasEnded({ pool }: Stage, importId: string): Promise<boolean> {
  return (await pool.query(`select from imports where id = $1 and state = 'running'`, [importId])).rowCount === 0;
}

/** The predictions of an import by user name. */
export async function predictionsOf({ call }: Stage, importId: string): Promise<Map<string, SignIn>> {
  const { items } = (await must(call('GET', `/admin/v1/imports/${importId}/items?pageSize=1000`))).body;
  const known = items.filter(({ signIn }: { signIn?: SignIn }) => signIn !== undefined);
  return new Map(known.map((item: { userName: string; signIn: SignIn }) => [item.userName, item.signIn]));
}

/** Some at once, and results in their order. */
export async function inTurns<T, R>(
  all: readonly T[],
  atOnce: number,
  work: (one: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const left = all.entries();
  const turn = async () => {
    for (const [index, one] of left) results[index] = await work(one, index);
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
  return results;
}
