/** Wrong counts, continued: what the API says of an import must be what the database has. */
import type { Calls } from '../client/calls.ts';
import { fetchReport } from '../client/report.ts';
import { type Problem, problem, type SentImport } from '../client/sent.ts';
import { differences, tally } from './counts.ts';
import type { ItemRow, Rows } from './rows.ts';

export async function findWrongAnswers(calls: Calls, sent: SentImport, rows: Rows): Promise<(Problem | undefined)[]> {
  const path = `/admin/v1/imports/${rows.import.id}`;
  const { body } = await calls.call({ method: 'GET', path });
  const users = sent.users.length;
  const ndjson = await fetchReport(calls, path, 'ndjson', users);
  const csv = await fetchReport(calls, path, 'csv', users);
  const dataorgs = await fetchReport(calls, path, 'dataorgs', users);
  const wanted = rows.items.map((item) => `${item.ordinal} ${item.orgId} ${shown(item, rows)}`);
  const wrong = (what: string, found: string[]) => problem(sent, 'wrongCounts', what, found);
  return [
    wrong('the state that the API answers', body.state === stateOf(rows) ? [] : [body.state]),
    wrong('the counts that the API answers', differences(body.counts, tally(rows.items))),
    wrong('the sum of the counts that the API answers', sumFits(body.counts) ? [] : [JSON.stringify(body.counts)]),
    wrong('the report as ndjson', missing(linesOf(ndjson.text), wanted)),
    wrong('the report as csv', missing(cellsOf(csv.text), wanted)),
    wrong('the report as dataorgs', missing(entriesOf(dataorgs.body), toSendAgain(sent, rows))),
  ];
}

function stateOf({ import: { state } }: Rows): string {
  return `IMPORT_STATE_${state.toUpperCase()}`;
}

/** The state of an item as the API shows it. */
function shown({ state }: ItemRow, { import: of }: Rows): string {
  if (state !== 'pending') return `ITEM_STATE_${state.toUpperCase()}`;
  if (of.state === 'timed_out') return 'ITEM_STATE_TIMED_OUT';
  return ['cancelled', 'undone'].includes(of.state) ? 'ITEM_STATE_CANCELLED' : 'ITEM_STATE_PENDING';
}

function sumFits({ total, ...states }: Record<string, number>): boolean {
  return Object.values(states).reduce((sum, count) => sum + count, 0) === total;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line)).map(({ index, orgId, state }) => `${index} ${orgId} ${state}`);
}

/** No cell of these columns is quoted. */
function cellsOf(text: string): string[] {
  const lines = text.split('\r\n').filter((line) => /^\d+,/.test(line));
  return lines.map((line) => line.split(',')).map(([index, orgId, , , state]) => `${index} ${orgId} ${state}`);
}

interface DataOrgs {
  dataOrgs: { orgs: { orgId: string; humanUsers: { user: { userName: string } }[] }[] };
}

function entriesOf({ dataOrgs: { orgs } }: DataOrgs): string[] {
  return orgs.flatMap(({ orgId, humanUsers }) => humanUsers.map(({ user }) => `${orgId} ${user.userName}`));
}

/** A dry run keeps the entries that it has not judged. */
function toSendAgain(sent: SentImport, { items }: Rows): string[] {
  const states = sent.dryRun ? ['pending'] : ['failed', 'pending'];
  const open = sent.users.filter((_, i) => states.includes(items[i]?.state ?? ''));
  return open.map(({ orgId, userName }) => `${orgId} ${userName}`);
}

/** What one list has and the other lacks. */
function missing(found: string[], wanted: string[]): string[] {
  const [has, wants] = [new Set(found), new Set(wanted)];
  const differ = [...wanted.filter((one) => !has.has(one)), ...found.filter((one) => !wants.has(one))];
  return differ.length === 0 && found.length !== wanted.length ? [`${found.length}, not ${wanted.length}`] : differ;
}
