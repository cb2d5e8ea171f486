/** The setup of the browser tests: an API that sends mail, an organization, an application, Chromium. */
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { startMailer } from '../../workers/mailer.ts';
import { addVerified } from '../directory/users/people.ts';
import { type ApiOptions, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { launchBrowser, type TestBrowser } from '../support/browser.ts';
import { type SmtpCatcher, startSmtp, urlsIn } from '../support/smtp.ts';
import { waitFor } from '../support/wait.ts';
import { type Application, startApplication } from './application.ts';

export interface Stage {
  api: TestApi;
  org: SetUp;
  app: Application;
  /** Undefined on a machine without Chromium, where `requireOrSkip` ends the test first. */
  browser: TestBrowser | undefined;
  /** Adds an active human with a verified address; returns their login name. */
  person(password: string): Promise<{ userId: string; loginName: string }>;
  /** Sends the next mail by SMTP, and returns its text. */
  mailedText(t: TestContext): Promise<string>;
  /** Sends the next mail, and returns the link in its text. */
  mailedLink(t: TestContext): Promise<string>;
  stop(): Promise<void>;
}

/** @param more of the API */
export async function openStage(env: Record<string, string> = {}, more: Pick<ApiOptions, 'host'> = {}): Promise<Stage> {
  const smtp = await startSmtp();
  const api = await startApi({ env: { SMTP_URL: smtp.url, LOGIN_DELAY_MS: '0', ...env }, ...more });
  const org = await api.setupOrg();
  const app = await startApplication(api, 'Acme & Sons');
  const browser = await launchBrowser();
  return {
    api,
    org,
    app,
    browser,
    async person(password) {
      const userId = await addVerified(api, org.orgId, password);
      return { userId, loginName: userId };
    },
    mailedText: (t) => mailedText(t, api, smtp),
    mailedLink: async (t) => String(urlsIn(await mailedText(t, api, smtp))[0]),
    async stop() {
      await browser?.close();
      await app.stop();
      await api.stop();
      await smtp.stop();
    },
  };
}

async function mailedText(t: TestContext, api: TestApi, smtp: SmtpCatcher): Promise<string> {
  const before = smtp.mails.length;
  const mailer = startMailer(api.deps);
  t.after(() => mailer.stop());
  await waitFor(() => smtp.mails.length > before, { what: 'the mail' });
  return (await smtp.mails.at(-1)?.parsed())?.text ?? '';
}

/** Fills in the name and goes on, if the page asks only for that. */
export async function nameThem(page: Page, loginName: string): Promise<void> {
  await page.getByLabel('Login name').fill(loginName);
  if ((await page.getByLabel('Password').count()) > 0) return;
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByLabel('Password').waitFor();
}

/** Fills in the forms of the login and submits them. */
export async function logIn(page: Page, loginName: string, password: string): Promise<void> {
  await nameThem(page, loginName);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Fills in both fields of a new password and submits them. */
export async function chooseNew(page: Page, password: string, repeated = password): Promise<void> {
  await page.getByLabel('New password', { exact: true }).fill(password);
  await page.getByLabel('Repeat new password').fill(repeated);
  await page.keyboard.press('Enter');
}

/** Waits for the application's greeting. */
export async function welcomed(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Welcome Ann Example' }).waitFor();
}

/** Waits for the page with this heading. */
export async function headed(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name, exact: true }).waitFor();
}
