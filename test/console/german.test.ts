/** The console in German, in Chromium: from the files of an export to the list of imports, on a phone too. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { auth0Export } from '../support/imports/auth0-export.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { openWorking, step } from './new-import.ts';
import { dropFiles } from './story/page.ts';
import { findingsOf, makeIamOwner, type World } from './world.ts';

const FILES = auth0Export({
  seed: 1,
  counts: {
    ...{ good: 1200, bracketed: 5, variant: 4, repeated: 1, noAddress: 0, longName: 0, taken: 0 },
    ...{ noPassword: 3, unverified: 2 },
  },
  takenNames: [],
});

const TEXTS = new URL('../../src/console/texts/', import.meta.url);

/** The texts of one language that are no function, by themselves. */
function textsIn(of: unknown, found: string[] = []): string[] {
  if (typeof of === 'string') found.push(of);
  else if (of !== null && typeof of === 'object') for (const one of Object.values(of)) textsIn(one, found);
  return found;
}

/** English texts that German does not have. */
async function englishTexts(): Promise<Set<string>> {
  const names = readdirSync(TEXTS).filter((name) => name.endsWith('.ts') && name !== 'language.ts');
  const all = await Promise.all(
    names.map(async (name) => {
      // Outside of a request, texts are English.
      const english = textsIn({ ...(await import(new URL(name, TEXTS).href)) });
      const german = textsIn({ ...(await import(new URL(`de/${name}`, TEXTS).href)) });
      return { english, german };
    }),
  );
  const german = new Set(all.flatMap((one) => one.german));
  return new Set(all.flatMap((one) => one.english).filter((text) => !german.has(text) && /[a-z]{3}/.test(text)));
}

/** In the browser: the texts of a page, and its title. */
const SHOWN = `(() => {
  const texts = [document.title.split(' – ')[0]];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    // A language calls itself what it is called in that language.
    const isName = walker.currentNode.parentElement.closest('.languages') !== null;
    if (!isName) texts.push(walker.currentNode.textContent.trim());
  }
  return texts;
})()`;

describe('the console in German', () => {
  let world: World;
  let english: Set<string>;
  before(async () => {
    world = await openWorking();
    english = await englishTexts();
    assert(english.size > 500, `${english.size} texts`);
  });
  after(() => world.stop());

  /** What the page says in English, and what is wider than a phone. */
  async function wrongIn(page: Page): Promise<string[]> {
    const shown = await page.evaluate<string[]>(SHOWN);
    const found = shown.filter((text) => english.has(text)).map((text) => `${page.url()}: ${text}`);
    await page.setViewportSize({ width: 360, height: 740 });
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (width !== 360) found.push(`${page.url()} is ${width} wide at 360`);
    await page.setViewportSize({ width: 1440, height: 900 });
    assert.equal(await page.locator('html').getAttribute('lang'), 'de', page.url());
    return found;
  }

  async function enterGerman(t: Parameters<World['enter']>[0], path: string, who = world.org): Promise<Page> {
    const page = await world.enter(t, path, who);
    await page.goto(`${world.api.url}${path}?ui_locales=de`);
    await page.goto(world.api.url + path);
    return page;
  }

  const next = (page: Page, name: string) =>
    page
      .locator('main a.button, main button')
      .filter({ hasText: `Weiter: ${name}` })
      .click();

  it('leads from the files to the list of imports', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await enterGerman(t, '/console/imports');
    await page.getByText('Noch nichts importiert').waitFor();
    const found = await wrongIn(page);
    await dropFiles(page, { 'users.ndjson': FILES.users, 'passwords.ndjson': FILES.hashes });
    await step(page, 'files');
    await page.locator('.upload.done').nth(1).waitFor();
    await page.locator('.upload.done', { hasText: 'Hochgeladen' }).nth(1).waitFor();
    found.push(...(await wrongIn(page)), ...(await findingsOf(page, 'german-files')));
    await next(page, 'Quelle');
    await page.getByRole('heading', { name: 'Das sieht aus wie Auth0' }).waitFor();
    found.push(...(await wrongIn(page)), ...(await findingsOf(page, 'german-source')));
    await page.getByRole('link', { name: 'Spalten' }).click();
    await page.getByText('Die Felder von Auth0 sind bekannt').waitFor();
    found.push(...(await wrongIn(page)));
    await next(page, 'Optionen');
    await step(page, 'options');
    found.push(...(await wrongIn(page)), ...(await findingsOf(page, 'german-options')));
    await next(page, 'Prüfung');
    await page.getByText('Die Prüfung ist fertig.').waitFor();
    found.push(...(await wrongIn(page)));
    await next(page, 'Ergebnis');
    await page.getByRole('button', { name: 'Import starten: 1.205 von 1.215 Benutzern' }).waitFor();
    await page.locator('summary', { hasText: 'Vorschau' }).filter({ hasText: 'Englisch' }).first().waitFor();
    found.push(...(await wrongIn(page)), ...(await findingsOf(page, 'german-decide')));
    await page.getByRole('button', { name: 'Import starten' }).click();
    await page.getByText('Mit Fehlern beendet').waitFor();
    assert.equal(await page.locator('[data-text="succeeded"]').textContent(), '1.205');
    await page.getByRole('heading', { name: 'Wer was getan hat' }).waitFor();
    found.push(...(await wrongIn(page)), ...(await findingsOf(page, 'german-import')));
    await page.getByRole('link', { name: 'Fehlgeschlagene Benutzer korrigieren' }).click();
    await page.getByRole('heading', { name: 'Warum Benutzer fehlschlugen' }).waitFor();
    found.push(...(await wrongIn(page)), ...(await findingsOf(page, 'german-fix')));
    await page.goto(`${world.api.url}/console/imports`);
    await page.getByRole('row').filter({ hasText: 'users.ndjson' }).getByText('Mit Fehlern beendet').waitFor();
    found.push(...(await wrongIn(page)), ...(await findingsOf(page, 'german-imports')));
    assert.deepEqual(found, []);
  });

  it('names the states of users that a column decides', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await enterGerman(t, '/console/imports/new');
    const people = 'Mail;Vorname;Gesperrt\nann@acme.example;Ann;nein\nbob@acme.example;Bob;ja\n';
    await dropFiles(page, { 'kunden.csv': people });
    await page.locator('.upload.done').waitFor();
    await next(page, 'Quelle');
    await next(page, 'Spalten');
    await page.getByText('nein → aktiv, ja → inaktiv').waitFor();
    await page.getByText('ann@acme.example · aktiv').waitFor();
    assert.deepEqual(await wrongIn(page), []);
  });

  it('is chosen at the foot of a page, and kept', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/users?state=ACTIVE');
    await page.locator('footer summary', { hasText: 'English' }).click();
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { name: 'Benutzer', exact: true }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('state'), 'ACTIVE');
    await page.goto(`${world.api.url}/console/imports`);
    await page.getByRole('heading', { name: 'Importe', exact: true }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'de');
  });

  it('has every other screen, with dates in the order of the language', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const admin = await world.api.setupOrg();
    await makeIamOwner(world.api, admin);
    const page = await enterGerman(t, '/console/users', admin);
    const found: string[] = [];
    for (const path of [
      ...['users', 'organizations', 'organizations/new', 'clients', 'clients/new', 'system', 'system/administrators'],
      ...['system/login', 'system/providers', 'mailbox', 'nothing-here'],
      ...[`users/${world.org.userId}`, `users/${world.org.userId}/edit`, `users/${world.org.userId}/lock`],
      ...['', '/limits', '/login', '/providers', '/deactivate'].map((part) => `organizations/${admin.orgId}${part}`),
    ]) {
      await page.goto(`${world.api.url}/console/${path}`);
      found.push(...(await wrongIn(page)));
      found.push(...(await findingsOf(page, `german-${path.replaceAll('/', '-')}`)));
    }
    assert.deepEqual(found, []);
    await page.goto(`${world.api.url}/console/system`);
    await page.getByText(/^\d+ von 20\.000\.000$/).waitFor();
    await page.goto(`${world.api.url}/console/users/${world.org.userId}`);
    const time = page.locator('time').first();
    assert.match((await time.getAttribute('title')) ?? '', /^\d\d\.\d\d\.\d{4}, \d\d:\d\d UTC$/);
  });
});
