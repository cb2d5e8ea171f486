/** What the list of imports calls an import, where it puts its checks, and what an empty list offers. */
import assert from 'node:assert/strict';
import { after, before, describe, it, test } from 'node:test';
import { type ListView, listPage } from '../../src/console/imports/list.ts';
import type { Progress } from '../../src/console/shapes.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { type Visitor, visitor } from './visitor.ts';

const at = (path: string) => `/console${path}`;
const NONE = { pending: 0, succeeded: 2, skipped: 0, failed: 0, timedOut: 0, cancelled: 0, undone: 0, total: 2 };
const ONE = {
  ...{ importId: '7', state: 'IMPORT_STATE_SUCCEEDED', dryRun: false, counts: NONE, usersPerSecond: 1, eta: null },
  ...{ startDate: '2026-11-25T15:00:00.000Z', orgs: [{ orgId: 'acme', counts: NONE }], details: {} },
} as unknown as Progress;

function listOf(
  imports: Partial<Progress>[],
  { states = {}, drafts = 0, dryRuns = 0 }: Partial<NonNullable<ListView['counts']>> = {},
): string {
  const view: ListView = {
    imports: imports.map((one) => ({ ...ONE, ...one })),
    counts: { states, drafts, dryRuns, isCapped: false },
    filter: { state: '', orgId: '', from: '', drafts: '', dryRuns: '' },
    ...{ next: '', names: new Map([['acme', 'Acme Ltd']]), choices: undefined, mayCreate: true },
  };
  return listPage(at, view).markup;
}

const titles = (markup: string) =>
  [...markup.matchAll(/<th scope="row"><div><a [^>]*>([^<]+)</g)].map(([, title]) => title);

test('an import is known by its files or its organizations, and has its checks below it', () => {
  const files = ['people.csv', 'more.csv', 'rest.csv'];
  const check = { dryRun: true, checkOf: '7' };
  const markup = listOf([{ importId: '9', ...check }, { importId: '8', ...check }, { files }, { importId: '5' }]);
  assert.deepEqual(titles(markup), ['people.csv, more.csv + 1', 'Check', 'Check', 'Users of Acme Ltd']);
  assert.match(markup, /people\.csv.*<div class="soft small">7 · Acme Ltd<.*class="nested".*>9</s);
  assert.deepEqual(
    titles(listOf([{ importId: '9', ...check }])),
    ['Check of import 7'],
    'its import is on another page',
  );
});

test('states without imports are left out, and drafts and checks are filters of their own', () => {
  const markup = listOf([{}], { states: { IMPORT_STATE_SUCCEEDED: 1 }, drafts: 2, dryRuns: 4 });
  const chips = [...markup.matchAll(/href="([^"]+)"[^>]*>([\w ]+) <span class="small">(\d+)</g)];
  assert.deepEqual(
    chips.map(([, href, name, imports]) => [href, name, imports]),
    [
      ['/console/imports', 'All', '3'],
      ['/console/imports?drafts=true', 'Drafts', '2'],
      ['/console/imports?state=SUCCEEDED', 'Succeeded', '1'],
      ['/console/imports?dryRuns=true', 'Checks', '4'],
    ],
  );
});

test('an empty list has one place to drop files, and a picture with a guide for every system', () => {
  const markup = listOf([]);
  assert.equal(markup.split('<upload-files').length, 2);
  const guides = [
    ...markup.matchAll(/href="\/console\/guides\/([\w-]+)"><span class="picture" aria-hidden="true">(\w\S?)</g),
  ];
  assert.deepEqual(
    guides.map(([, name]) => name).sort(),
    SOURCES.map(({ name }) => name)
      .filter((name) => name !== 'ndjson')
      .sort(),
  );
});

describe('the list of imports', () => {
  let api: TestApi;
  let own: SetUp;
  let admin: Visitor;
  before(async () => {
    api = await startApi();
    own = await api.setupOrg();
    admin = await visitor(api, api.token);
  });
  after(() => api.stop());

  it('shows only drafts, only imports that have started, or only checks', async () => {
    const body = bulk(own.orgId, people('l', 1));
    const draft = (await api.call('POST', '/admin/v1/import?draft=true', body)).body.importId;
    const started = (await api.call('POST', '/admin/v1/import', body)).body.importId;
    const ids = async (query: string) =>
      (await api.call('GET', `/admin/v1/imports${query}`)).body.imports.map((one: Progress) => one.importId);
    assert.deepEqual(await ids(''), [started, draft]);
    assert.deepEqual(await ids('?drafts=true'), [draft]);
    assert.deepEqual(await ids('?drafts=false'), [started]);
    assert.equal((await api.call('GET', '/admin/v1/imports?drafts=maybe')).status, 400);
    const checked = (await api.call('POST', '/admin/v1/import?dryRun=true', body)).body.importId;
    assert.deepEqual(await ids('?dryRuns=true'), [checked]);
    assert.deepEqual(await ids('?dryRuns=false'), [started, draft]);
    assert.equal((await api.call('GET', '/admin/v1/imports?dryRuns=maybe')).status, 400);
    const running = await admin.get('/console/imports?state=RUNNING');
    assert.match(running.text, new RegExp(`href="/console/imports/${started}"`));
    assert.doesNotMatch(running.text, new RegExp(`href="/console/imports/${checked}"`), 'a check imports nobody');
    assert.match(running.text, /href="\/console\/imports\?state=RUNNING"[^>]*>\w+ <span class="small">1</);
    const { text } = await admin.get('/console/imports?drafts=true');
    assert.match(text, new RegExp(`href="/console/imports/new/${draft}"`));
    assert.doesNotMatch(text, new RegExp(`href="/console/imports/${started}"`));
  });

  it('is loaded with less than 60 KB', async () => {
    const { text } = await admin.get('/console/imports');
    const files = [...text.matchAll(/(?:src|href)="([^"]+\.(?:ts|css|svg))"/g)].map(([, path]) => path);
    assert(files.length >= 4, files.join());
    let bytes = Buffer.byteLength(text);
    for (const file of files) {
      const { headers } = await fetch(api.url + file, { headers: { 'accept-encoding': 'br' } });
      assert.equal(headers.get('content-encoding'), 'br', file);
      bytes += Number(headers.get('content-length'));
    }
    assert(bytes > 1000 && bytes <= 60 * 1024, `${bytes} bytes`);
  });

  it('has the guide of every system as a page, with everything that it links to', async () => {
    for (const { name } of SOURCES) {
      const { status, text } = await admin.get(`/console/guides/${name}`);
      assert.equal(status, 200, name);
      const title = ['csv', 'ndjson'].includes(name) ? /<h1>(?:CSV|NDJSON)/ : /<h1>Export from /;
      assert.match(text, title, name);
      assert.match(text, /<\/h1>.*<(?:p|h2 id="[\w-]+")>/s, name);
      assert.match(text, /href="\/console\/imports" aria-current="page">Imports</, name);
      assert.doesNotMatch(text, /\]\(|<p>\|/, `${name}: Markdown that is not read`);
      // On a phone, each cell names its column.
      assert.doesNotMatch(text, /<td>/, name);
      for (const [, link] of text.matchAll(/href="\/console\/guides\/([\w-]+)/g)) {
        assert(
          SOURCES.some((source) => source.name === link),
          `${name} leads to ${link}`,
        );
      }
    }
    assert.match((await admin.get('/console/guides/auth0')).text, /<pre tabindex="0"><code>auth0 api post jobs/);
    assert.equal((await admin.get('/console/guides/nothing')).status, 404);
  });
});
