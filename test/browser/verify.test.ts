import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { startMailer } from '../../workers/mailer.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { findProgram, requireOrSkip } from '../support/programs.ts';
import { type SmtpCatcher, startSmtp, urlsIn } from '../support/smtp.ts';
import { waitFor } from '../support/wait.ts';
import { addHuman, humanRow, mailCode } from '../users/people.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

describe('a mail link in a browser', () => {
  let api: TestApi;
  let smtp: SmtpCatcher;
  let orgId: string;
  let browser: Browser | undefined;

  before(async () => {
    smtp = await startSmtp();
    api = await startApi({ env: { SMTP_URL: smtp.url } });
    ({ orgId } = await api.setupOrg());
    const executablePath = findProgram('chromium');
    if (executablePath) browser = await chromium.launch({ executablePath, args: ARGS });
  });
  after(async () => {
    await browser?.close();
    await api.stop();
    await smtp.stop();
  });

  /** A page that fails the test when the browser complains: of the policy, a script, a missing file. */
  async function openPage(t: TestContext, options: { javaScriptEnabled: boolean }): Promise<Page> {
    const context = await (browser as Browser).newContext({ viewport: { width: 900, height: 700 }, ...options });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (m) => {
      // The browser's own note of a 400 answer, which is what a refused form gets.
      if (m.type() === 'error' && !m.text().includes('400 (Bad Request)')) complaints.push(m.text());
    });
    page.on('requestfailed', (r) => complaints.push(`${r.url()} ${r.failure()?.errorText}`));
    t.after(async () => {
      await context.close();
      assert.deepEqual(complaints, []);
    });
    return page;
  }

  /** Follows a mail from the outbox to the link in its text. */
  async function mailedLink(t: TestContext): Promise<string> {
    const before = smtp.mails.length;
    const mailer = startMailer(api.deps);
    t.after(() => mailer.stop());
    await waitFor(() => smtp.mails.length > before, { what: 'the mail' });
    const [link] = urlsIn(smtp.mails.at(-1)?.parsed.text ?? '');
    return String(link);
  }

  it('leads from the initialisation mail to a password that logs in, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await addHuman(api, orgId);
    await mailCode(api, userId, 'initialise');
    const page = await openPage(t, { javaScriptEnabled: false });
    await page.goto(await mailedLink(t));
    await screenshot(page, 'init');

    await page.getByLabel('New password', { exact: true }).fill('first try');
    await page.getByLabel('New password again').fill('another');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('alert').filter({ hasText: 'The two passwords differ' }).waitFor();
    await screenshot(page, 'init-problem');

    await page.getByLabel('New password', { exact: true }).fill('correct horse');
    await page.getByLabel('New password again').fill('correct horse');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your password is set' }).waitFor();
    await screenshot(page, 'init-done');

    assert.equal((await humanRow(api, userId)).state, 'active');
    const checks = { user: { userId }, password: { password: 'correct horse' } };
    assert.equal((await api.call('POST', '/v2beta/sessions', { checks })).status, 201);
  });

  it('confirms an address with one key, and says so when the link was used', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await addHuman(api, orgId, 'old');
    await mailCode(api, userId, 'verify_email');
    const page = await openPage(t, { javaScriptEnabled: true });
    const link = await mailedLink(t);
    await page.goto(link);
    await screenshot(page, 'verify');
    const focused = page.locator(':focus');
    assert.equal(await focused.textContent(), 'Confirm email address');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Email address confirmed' }).waitFor();
    assert.equal((await humanRow(api, userId)).email_verified, true);

    await page.goto(link);
    await page.getByRole('button', { name: 'Confirm email address' }).click();
    await page.getByRole('alert').filter({ hasText: 'not valid any more' }).waitFor();
    assert.equal(await page.title(), 'Problem: Confirm your email address');
  });

  it('shows the labels and buttons of its form to assistive programs', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await openPage(t, { javaScriptEnabled: true });
    await page.goto(`${api.url}/ui/init?userId=u&code=c`);
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    assert.equal(await page.title(), 'Choose your password');
    for (const name of ['New password', 'New password again']) {
      const field = page.getByLabel(name, { exact: true });
      assert.deepEqual(
        [await field.getAttribute('type'), await field.getAttribute('autocomplete')],
        ['password', 'new-password'],
      );
    }
    assert.equal(await page.locator(':focus').getAttribute('id'), 'password');
    // Styles got through the policy: an unstyled button is not as wide as its form.
    const [button, form] = [await page.locator('button').boundingBox(), await page.locator('form').boundingBox()];
    assert.equal(Math.round(button?.width ?? 0), Math.round(form?.width ?? 1));
  });
});

/** Pictures to look at, when SCREENSHOTS names a folder. */
async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
}
