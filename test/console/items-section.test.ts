/** The users on the page of an import: what it says when a search of a large import has not come to its end. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { itemsSection } from '../../src/console/imports/import.ts';
import type { Item, Progress } from '../../src/console/shapes.ts';

const OF = { importId: '7', orgs: [] } as unknown as Progress;
const at = (path: string) => `/console${path}`;
const filter = { state: '', orgId: '', query: 'zoe@', signIn: '', signedIn: '', from: '' };

test('a search that has found nothing yet says how far it is, and leads on', () => {
  const { markup: shown } = itemsSection(at, OF, { items: [], next: '123456', filter });
  assert.match(shown, /None of the first 123,456 users matches the filter\./);
  assert.match(shown, /<a href="\/console\/imports\/7\?query=zoe%40&amp;from=123456#items">Search the next users<\/a>/);
  const { markup: ended } = itemsSection(at, OF, { items: [], next: '', filter: { ...filter, from: '123456' } });
  assert.match(ended, /No user matches the filter\./);
  assert.match(ended, />First users<\/a>/);
});

test('a user who was imported leads to their page', () => {
  const item = (index: number, state: string) =>
    ({ index, state: `ITEM_STATE_${state}`, userId: `a|${index}`, userName: `zoe${index}`, orgId: 'acme' }) as Item;
  const items = [item(0, 'SUCCEEDED'), item(1, 'FAILED')];
  const shown = (of: Partial<Progress>) => itemsSection(at, { ...OF, ...of }, { items, next: '', filter }).markup;
  assert.match(shown({}), /<a href="\/console\/users\/a%7C0">zoe0<\/a>/);
  assert.match(shown({}), /<div>zoe1<div/);
  assert.match(shown({ dryRun: true }), /<div>zoe0<div/);
});
