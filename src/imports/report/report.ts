/**
 * The report: all users of an import, as NDJSON, as CSV, or as a `dataOrgs` body to correct and send again.
 *
 * Guarantee: pages are read as fast as the client takes them, memory does not grow with the import, and no transaction
 * stays open. Each user of a running import appears once, in the state they have when their page is read.
 * On crash: the connection breaks, so the client can tell that the report is incomplete.
 */
import type { FieldViolation } from '../../errors.ts';
import { csvRecord } from '../../streaming/csv-record.ts';
import type { ImportResult, ItemView } from '../answers.ts';
import { storedState } from '../item-states.ts';
import type { HashDeps } from '../run/hash-item.ts';
import { orgsOf, scanItems, toView } from '../status/items-page.ts';
import { entryOf } from './payload-entry.ts';
import { payloadRows } from './payload-pages.ts';
import { allowsNone, withoutEmail } from './without-email.ts';

export const FORMATS = ['ndjson', 'csv', 'dataorgs'] as const;
export type ReportFormat = (typeof FORMATS)[number];

const PAGE = 500;
/** @param state one of ITEM_STATES; absent: all items, or for `dataorgs` all that can be sent again */
export function reportText(
  deps: HashDeps,
  of: ImportResult,
  format: ReportFormat,
  state: string | undefined,
): AsyncIterable<string> {
  if (format === 'dataorgs') return dataOrgs(deps, of, state);
  return format === 'csv' ? csv(deps, of, state) : ndjson(deps, of, state);
}

async function* items({ pool }: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<ItemView> {
  const stored = storedState(of, state);
  if (stored === null) return;
  const orgs = await orgsOf(pool, of.importId);
  const mayHaveNone = await allowsNone(pool, of.importId);
  for (let from = 0; ; ) {
    const rows = await scanItems(pool, of, PAGE, { from, state: stored });
    const written = rows.filter(({ state }) => state === 'succeeded').map((row) => row.user_id);
    const none = mayHaveNone ? await withoutEmail(pool, written) : undefined;
    for (const row of rows) {
      const view = toView(row, of, orgs);
      yield none?.has(view.userId) ? { ...view, withoutEmail: true } : view;
    }
    if (rows.length < PAGE) return;
    from = (rows.at(-1)?.ordinal ?? 0) + 1;
  }
}

async function* ndjson(deps: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<string> {
  for await (const item of items(deps, of, state)) yield `${JSON.stringify(item)}\n`;
}

const HEADER = ['index', 'orgId', 'userId', 'userName', 'state', 'kept', 'code', 'id', 'message', 'fields'];

async function* csv(deps: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<string> {
  const mayHaveNone = await allowsNone(deps.pool, of.importId);
  yield csvRecord([...HEADER, ...(mayHaveNone ? ['withoutEmail'] : [])]);
  for await (const item of items(deps, of, state)) {
    const { index, orgId, userId, userName, state: is, kept, error } = item;
    const fields = error?.details.flatMap((d) => (d.fieldViolations as FieldViolation[] | undefined) ?? []) ?? [];
    yield csvRecord([
      ...[index, orgId, userId, userName, is, kept ?? ''],
      ...[error?.code ?? '', String(error?.details[0]?.id ?? ''), error?.message ?? ''],
      fields.map((f) => `${f.field}: ${f.description}`).join('; '),
      ...(mayHaveNone ? [item.withoutEmail ? 'true' : ''] : []),
    ]);
  }
}

/** Organizations appear in the order of their users. */
async function* dataOrgs(deps: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<string> {
  const stored = storedState(of, state);
  const orgs = await orgsOf(deps.pool, of.importId);
  let org: number | undefined;
  yield '{"dataOrgs":{"orgs":[';
  const rows = stored === null ? [] : payloadRows(deps, { importId: of.importId, total: of.counts.total }, stored);
  for await (const row of rows) {
    const text = JSON.stringify(await entryOf(deps, of.importId, row));
    if (row.org_index === org) yield `,${text}`;
    else
      yield `${org === undefined ? '' : ']},'}{"orgId":${JSON.stringify(orgs.get(row.org_index))},"humanUsers":[${text}`;
    org = row.org_index;
  }
  yield `${org === undefined ? '' : ']}'}]},"timeout":${JSON.stringify(of.timeout)}}\n`;
}
