/** The programs of a client's quick start sign people in, as the page shows them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { listen } from '../../src/platform/http/server.ts';
import { logIn } from '../browser/stage.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { type Visitor, visitor } from './visitor.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

describe('the quick start of a client', () => {
  let world: World;
  let admin: Visitor;
  before(async () => {
    world = await openWorld();
    await makeIamOwner(world.api, world.org);
    admin = await visitor(world.api, world.api.token);
  });
  after(() => world.stop());

  /** Adds a client, and reads the program of its page. */
  async function started(client: Record<string, unknown>): Promise<{ code: string; path: string; secret: string }> {
    const { body } = await world.api.call('POST', '/admin/v1/clients', { name: '</script> & "Sons"', ...client });
    const path = `/console/clients/${body.clientId}/start`;
    const { text } = await admin.get(path);
    const [, shown = ''] = /<pre[^>]*><code>([\s\S]*?)<\/code>/.exec(text) ?? [];
    const code = shown
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&');
    return { code, path, secret: body.clientSecret };
  }

  /** A port of this machine that is free now. */
  async function freePort(): Promise<number> {
    const server = await listen((_req, res) => res.end(), { host: '127.0.0.1', port: 0 });
    await server.stop(1000);
    return server.port;
  }

  const codeFlow = { grantTypes: ['authorization_code', 'refresh_token'] };

  it('signs a person in to a page without a server of its own', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !world.browser) return;
    let page = '';
    const app = createServer((_req, res) => res.setHeader('content-type', 'text/html; charset=utf-8').end(page));
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    t.after(() => app.close());
    const { port } = app.address() as { port: number };
    const redirectUris = [`http://127.0.0.1:${port}/index.html`, 'https://other.example/'];
    const { code, path } = await started({ ...codeFlow, authMethod: 'none', redirectUris });
    page = code;
    const browser = await world.browser.openPage(t);
    await browser.goto(`http://127.0.0.1:${port}/index.html`);
    await browser.getByRole('button', { name: 'Sign in' }).click();
    await logIn(browser, world.org.userName, world.org.password);
    await browser.getByText('Hello Ann Arbor').waitFor();
    assert.equal(new URL(browser.url()).search, '', 'no code stays in the address');

    const looks = await world.enter(t, path);
    await looks.getByText('The program uses the first redirect URI.').waitFor();
    assert.deepEqual(await findingsOf(looks, 'client-start'), []);
  });

  it('signs a person in to a program of Node.js', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !world.browser) return;
    const port = await freePort();
    const redirectUris = [`http://127.0.0.1:${port}/callback`];
    const { code, secret } = await started({ ...codeFlow, authMethod: 'client_secret_basic', redirectUris });
    // Below the packages of this repository, openid-client among them.
    const folder = await mkdtemp(new URL('../../node_modules/.cache/start-', import.meta.url).pathname);
    t.after(() => rm(folder, { recursive: true }));
    await writeFile(`${folder}/server.mjs`, code);
    const env = { ...process.env, CLIENT_SECRET: secret };
    const child = spawn(process.execPath, [`${folder}/server.mjs`], { env, stdio: ['ignore', 'inherit', 'inherit'] });
    t.after(() => child.kill());
    const answers = async () => (await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' })).status === 302;
    await waitFor(() => answers().catch(() => false), { what: 'the program' });
    const browser = await world.browser.openPage(t);
    await browser.goto(`http://127.0.0.1:${port}/`);
    await logIn(browser, world.org.userName, world.org.password);
    await browser.getByText('Hello Ann Arbor').waitFor();
  });

  it('gets a token for a program without people', async () => {
    for (const authMethod of ['client_secret_basic', 'client_secret_post']) {
      const { code, secret } = await started({ grantTypes: ['client_credentials'], authMethod });
      const child = spawn('sh', ['-c', code], { env: { ...process.env, CLIENT_SECRET: secret }, stdio: 'pipe' });
      let said = '';
      for await (const chunk of child.stdout) said += chunk;
      assert.equal(typeof JSON.parse(said).access_token, 'string', authMethod);
    }
  });
});
