/** The users of an import, fetched page by page as they are printed, so that any number of them takes little memory. */
import type { Answer, Query } from '../../contract/client.ts';
import { type Api, detailsOf, type ServiceError } from '../service/api.ts';
import { jsonText, tableLines } from '../terminal/output.ts';
import { signInText } from './sign-in.ts';

export type Item = Answer<'listImportItems'>['items'][number];

export interface ItemPage {
  items: Item[];
  /** Undefined on the last page, where the service's is empty. */
  nextPageToken: string | undefined;
}

export type ItemFilter = Omit<Query<'listImportItems'>, 'pageSize' | 'pageToken'>;

/** The largest page of the service. */
const PAGE = 1000;
const COLUMNS = ['INDEX', 'ORGANIZATION', 'USER ID', 'USER NAME', 'STATE', 'SIGNS IN', 'DETAILS'];

/** Yields at most `most` items in all; the last page's token says where to continue. @throws Failure */
export async function* itemPages(
  api: Api,
  importId: string,
  filter: ItemFilter,
  most: number,
  from?: string,
): AsyncGenerator<ItemPage> {
  let pageToken = from;
  for (let left = most; left > 0; ) {
    const query = { ...filter, pageSize: Math.min(left, PAGE), pageToken };
    const page = await api.call('listImportItems', { importId }, { query });
    pageToken = page.nextPageToken || undefined;
    yield { items: page.items, nextPageToken: pageToken };
    left -= page.items.length;
    if (pageToken === undefined) return;
  }
}

/** One JSON text, in the form of a single page with all items. */
export async function* pagesAsJson(pages: AsyncIterable<ItemPage>): AsyncGenerator<string> {
  let next: string | undefined;
  let separator = '{"items":[';
  for await (const { items, nextPageToken } of pages) {
    next = nextPageToken;
    if (items.length === 0) continue;
    yield separator + items.map(jsonText).join(',');
    separator = ',';
  }
  const open = separator === ',' ? '' : separator;
  yield `${open}]${next === undefined ? '' : `,"nextPageToken":${jsonText(next)}`}}\n`;
}

/** Columns are as wide as each page needs. @param onMore called when there are more, with where to continue */
export async function* pagesAsTable(
  pages: AsyncIterable<ItemPage>,
  onMore: (pageToken: string) => void,
): AsyncGenerator<string> {
  let next: string | undefined;
  let hasItems = false;
  for await (const { items, nextPageToken } of pages) {
    next = nextPageToken;
    hasItems ||= items.length > 0;
    // A page of a search may be empty before the last one.
    if (items.length > 0) yield `${tableLines(COLUMNS, items.map(row)).join('\n')}\n`;
  }
  if (!hasItems) yield 'None.\n';
  if (next !== undefined) onMore(next);
}

function row(item: Item): string[] {
  const state = item.state.replace('ITEM_STATE_', '').toLowerCase().replaceAll('_', '-');
  const signIn = item.signIn ? signInText(item.signIn) : '';
  return [String(item.index), item.orgId, item.userId, item.userName, state, signIn, what(item)];
}

function what({ error, kept, changed }: Item): string {
  if (error) return errorText(error);
  if (kept) return `kept: ${kept}`;
  return changed ? `changed: ${changed.join(', ')}` : '';
}

/** Every invalid field, otherwise the message; then the stable id, which the documentation explains. */
function errorText(error: ServiceError): string {
  const { id, fields } = detailsOf(error);
  const text = fields.join('; ') || (error.message ?? '');
  return id ? `${text} (${id})` : text;
}
