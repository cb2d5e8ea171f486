/** The pages of /docs: nothing of the document is missing, everybody can read them, and they need no script. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { KEYWORDS, pathText } from '../../src/contract/docs/schema.ts';
import { ERRORS } from '../../src/contract/errors.ts';
import { findingsOf } from '../console/world.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { axeProblems } from '../support/axe.ts';
import { launchBrowser, screenshot, type TestBrowser } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

/** The largest page, as a browser receives it. */
const MOST_BYTES = 60 * 1024;

interface OperationObject {
  operationId: string;
  summary: string;
  tags: string[];
}

describe('the documentation', () => {
  let api: TestApi;
  let browser: TestBrowser | undefined;
  let shown: {
    servers: { url: string }[];
    tags: { name: string }[];
    paths: Record<string, Record<string, OperationObject>>;
    components: { schemas: Record<string, unknown> };
  };
  /** The pages of the navigation, by path. */
  const pages = new Map<string, string>();

  const get = async (path: string) => {
    const { status, body } = await api.call('GET', path, undefined, { token: null });
    assert.equal(status, 200, path);
    return String(body);
  };
  const openPage = async (t: Parameters<TestBrowser['openPage']>[0], path: string): Promise<Page> => {
    const page = await (browser as TestBrowser).openPage(t, { viewport: { width: 1440, height: 900 } });
    await page.goto(api.url + path);
    return page;
  };

  before(async () => {
    api = await startApi();
    browser = await launchBrowser();
    shown = (await api.call('GET', '/openapi.json')).body;
    for (const [, path] of (await get('/docs')).matchAll(/<li><a href="(\/docs[^"#]*)"/g)) {
      pages.set(String(path), await get(String(path)));
    }
  });
  after(async () => {
    await browser?.close();
    await api.stop();
  });

  const operations = () =>
    Object.entries(shown.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
    );

  it('has a page for each group, and every operation on the page of its group and on the first page', () => {
    assert.equal(pages.size, shown.tags.length + 3);
    for (const { method, path, operation } of operations()) {
      const { operationId } = operation;
      const link = new RegExp(`<a href="(/docs/[a-z-]+)#${operationId}">`).exec(pages.get('/docs') ?? '')?.[1];
      const section = new RegExp(`<section [^>]*id="${operationId}".*?</section>`, 's').exec(
        pages.get(link ?? '') ?? '',
      )?.[0];
      assert.ok(section, `${operationId} is on ${link}`);
      assert.ok(section.includes(`${method.toUpperCase()}</span> <code>${pathText(path).markup}</code>`), operationId);
      assert.match(section, /<h3>Answer (200|201|202|302|303)|<h3>Any other/, operationId);
      assert.match(section, /curl /, operationId);
    }
  });

  it('has every schema and every error, and no link that leads nowhere', () => {
    for (const name of Object.keys(shown.components.schemas)) {
      assert.match(pages.get('/docs/schemas') ?? '', new RegExp(`<section [^>]*id="${name}"`));
    }
    for (const id of Object.keys(ERRORS)) {
      assert.match(pages.get('/docs/errors') ?? '', new RegExp(`<section [^>]*id="${id}"`));
    }
    let links = 0;
    for (const [path, page] of pages) {
      for (const [, link = ''] of page.matchAll(/href="([^"]+)"/g)) {
        const [to = '', id] = link.split('#');
        if (/^\/docs\/assets\/|^\/openapi\.json$/.test(to)) continue;
        const target = pages.get(to || path);
        assert.ok(target && (id === undefined || target.includes(` id="${id}"`)), `${path} links to ${link}`);
        links++;
      }
    }
    assert.ok(links > 2000, `${links} links`);
  });

  it('leaves nothing out that a schema says', () => {
    const unknown = new Set<string>();
    const visit = (value: unknown, isSchema: boolean): void => {
      if (typeof value !== 'object' || value === null) return;
      if (Array.isArray(value)) {
        for (const one of value) visit(one, isSchema);
        return;
      }
      for (const [key, inner] of Object.entries(value)) {
        if (isSchema && !KEYWORDS.includes(key)) unknown.add(key);
        if (isSchema && key === 'properties') for (const field of Object.values(inner)) visit(field, true);
        else if (!['example', 'examples', 'default', 'enum', 'const', 'required', 'type'].includes(key)) {
          visit(inner, isSchema || key === 'schema');
        }
      }
    };
    visit(shown.paths, false);
    for (const schema of Object.values(shown.components.schemas)) visit(schema, true);
    assert.deepEqual([...unknown], []);
  });

  it('sends pages of a bounded weight, compressed, to be asked for again after an upgrade', async () => {
    for (const [path, page] of pages) {
      if (path === '/openapi.json') continue;
      const response = await fetch(api.url + path, { headers: { 'accept-encoding': 'br' } });
      const bytes = Buffer.from(await response.arrayBuffer());
      assert.equal(response.headers.get('cache-control'), 'no-cache');
      assert.equal(response.headers.get('content-encoding'), 'br');
      assert.equal(bytes.toString(), page, 'fetch decompresses');
      const sent = Number(response.headers.get('content-length'));
      assert.ok(sent > 1000 && sent < MOST_BYTES, `${path} has ${sent} bytes`);
    }
  });

  it('can be used by everybody: axe finds nothing, narrow and wide, light and dark', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const found: string[] = [];
    // These have every kind of markup, and few rows.
    for (const path of ['/docs/sessions', '/docs?q=trim-email']) {
      const page = await openPage(t, path);
      found.push(...(await findingsOf(page, path.replace(/\W+/g, '-').slice(1))));
      await page.close();
    }
    for (const path of pages.keys()) {
      if (path === '/openapi.json' || path === '/docs/sessions') continue;
      const page = await openPage(t, path);
      const isOfItsOwn = ['/docs', '/docs/schemas', '/docs/errors'].includes(path);
      if (isOfItsOwn) found.push(...(await axeProblems(page)).map((problem) => `${path}: ${problem}`));
      await page.setViewportSize({ width: 320, height: 600 });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, path);
      await page.close();
    }
    assert.deepEqual(found, []);
  });

  it('loads its style sheet only, from this service', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await (browser as TestBrowser).openPage(t, { colorScheme: 'dark' });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url().replace(api.url, '')));
    await page.goto(`${api.url}/docs/imports#importUsers`);
    assert.match(asked.join(' '), /^\/docs\/imports\S* \/docs\/assets\/[0-9a-f]+\/docs\.css$/);
    await page.locator('#importUsers:target').getByText('Acceptance is all or nothing').waitFor();
    await screenshot(page, 'docs-import');
    assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(15, 18, 24)');
    const { headers } = await api.call('GET', '/docs', undefined, { token: null });
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /script-src|https?:|unsafe/);
  });

  it('finds operations, schemas and errors, in the page that the search form leads to', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await openPage(t, '/docs');
    await page.getByRole('searchbox').fill('import <causes>');
    await page.getByRole('searchbox').press('Enter');
    await page.getByText('Nothing found for "import <causes>".').waitFor();
    await page.getByRole('searchbox').fill('import causes');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('link', { name: 'ImportCauses' }).waitFor();
    await page.locator('a[href$="#listImportCauses"]').first().click();
    await page.locator('#listImportCauses:target').waitFor();
    await page.getByRole('searchbox').fill('USER-NOT-FOUND');
    await page.getByRole('searchbox').press('Enter');
    await page.locator('main').getByRole('link', { name: 'USER-NOT-FOUND' }).click();
    await page.locator('#USER-NOT-FOUND:target').waitFor();
  });

  it('shows commands that call the service', async (t) => {
    if (!requireOrSkip(t, 'bash')) return;
    const section = /<section [^>]*id="createHumanUser".*?<\/section>/s.exec(await get('/docs/users'))?.[0] ?? '';
    const command = (/<pre><code>(curl .*?)<\/code><\/pre>/s.exec(section)?.[1] ?? '')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&');
    const server = shown.servers[0]?.url ?? '';
    assert.ok(server && command.includes(`"${server}/v2beta/`), command);
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', command.replace('curl ', 'curl -s ').replace(server, api.url)],
      {
        env: { ...process.env, TOKEN: api.token },
      },
    );
    assert.ok(JSON.parse(stdout).userId, stdout);
  });

  it('works below the path of the public address', async () => {
    const below = await startApi({ env: { BASE_URL: 'https://id.example.com/muster/' } });
    const { body } = await below.call('GET', '/docs/users', undefined, { token: null });
    await below.stop();
    const links = [...String(body).matchAll(/(?:src|href|action)="([^"#][^"]*)"/g)].map(([, link]) => link);
    assert.ok(links.length > 100 && links.every((link) => /^\/muster\/(docs|openapi\.json)/.test(link ?? '')));
    assert.match(String(body), /curl [^&]*&quot;https:\/\/id\.example\.com\/muster\/v2beta\/users/);
  });

  it('lets browsers keep the style sheet, and answers 404 for any other page', async () => {
    const [, style = ''] = /href="([^"]+docs\.css)"/.exec(pages.get('/docs') ?? '') ?? [];
    const { headers } = await api.call('GET', style, undefined, { token: null });
    assert.match(headers.get('cache-control') ?? '', /immutable/);
    for (const page of ['index.html', '..%2fpackage.json', 'constructor', 'assets/0/publish.ts']) {
      assert.equal((await api.call('GET', `/docs/${page}`, undefined, { token: null })).status, 404, page);
    }
  });
});
