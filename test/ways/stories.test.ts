/**
 * People whom other programs leave behind, in a browser without JavaScript: each is imported from the export of their
 * system, types what they always typed, gets one mail and arrives at the application, as the user that it knows.
 */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { type Application, startApplication } from '../browser/application.ts';
import { headed } from '../browser/stage.ts';
import { launchBrowser, type TestBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { runMuster } from '../support/processes/muster.ts';
import { type Service, startService } from '../support/processes/service.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { type CaughtMail, urlsIn } from '../support/smtp.ts';
import { waitFor } from '../support/wait.ts';
import { waysCase } from './cases.ts';
import { setLoginPolicy } from './stage.ts';

/** How somebody gets from the sign-in page to the application. */
interface Story {
  source: string;
  who: string;
  /** What the user types. */
  loginName: string;
  /** The id in the old system, by which applications know the user. */
  id: string;
  signIn: (page: Page, story: Story, mail: () => Promise<string>) => Promise<void>;
}

const STORIES: Story[] = [
  {
    source: 'auth0',
    who: 'an Auth0 user who came by codes in mails',
    loginName: 'emil@auth0.example.com',
    id: 'email|64f0c0de0000000000001005',
    signIn: withCode,
  },
  {
    source: 'kratos',
    who: 'a Kratos user who came by codes in mails',
    loginName: 'emil@kratos.example.com',
    id: '9f425a8d-7efc-4768-8f23-000000010005',
    signIn: withCode,
  },
  {
    source: 'supabase',
    who: 'a Supabase user with a password that Supabase made up',
    loginName: 'emil@supabase.example.com',
    id: '5a9e0000-0000-4000-8000-000000010005',
    signIn: withCode,
  },
  {
    source: 'clerk',
    who: 'a Clerk user who came by Google only',
    loginName: 'dora@clerk.example.com',
    id: 'user_2wAys000000000000000004',
    signIn: withCode,
  },
  {
    source: 'wordpress',
    who: 'a WordPress user who types an address that is not verified',
    loginName: 'ann@wordpress.example.com',
    id: '90101',
    signIn: withForgotten,
  },
];

async function withCode(page: Page, { loginName }: Story, mail: () => Promise<string>): Promise<void> {
  await page.getByLabel('Login name').fill(loginName);
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByRole('button', { name: 'Email me a code', exact: true }).click();
  await headed(page, 'Check your email');
  const code = /^(\d{4}) ?(\d{4})$/m.exec(await mail());
  assert.ok(code, 'the mail has a code');
  await page.getByLabel('Code').fill(`${code[1]}${code[2]}`);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function withForgotten(page: Page, { loginName }: Story, mail: () => Promise<string>): Promise<void> {
  await page.getByLabel('Login name').fill(loginName);
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByLabel('Password').fill('correct horse');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('alert').waitFor();
  await page.getByRole('link', { name: 'Forgot password?' }).click();
  await page.getByRole('button', { name: 'Send link' }).click();
  await headed(page, 'Check your email');
  await page.goto(String(urlsIn(await mail())[0]));
  await page.getByRole('button', { name: 'Confirm email address' }).click();
  await headed(page, 'Email address confirmed');
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByLabel('Password').fill('correct horse');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

test('imported users, in a browser without JavaScript', async (t) => {
  if (!requireOrSkip(t, 'chromium')) return;
  const browser = (await launchBrowser()) as TestBrowser;
  t.after(() => browser.close());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { PORT: String(port), BASE_URL: url, LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0' };
  const service = await startService(t, { backend: 'postgres', env });
  const app = await startApplication(service, 'Acme', url);
  t.after(() => app.stop());
  for (const story of STORIES) {
    await t.test(`${story.who} gets in with one mail`, (own) => tell(own, { service, browser, app }, story));
  }
});

interface Stage {
  service: Service;
  browser: TestBrowser;
  app: Application;
}

async function tell(t: TestContext, { service, browser, app }: Stage, story: Story): Promise<void> {
  const orgId = await imported(service, story.source);
  const page = await browser.openPage(t, { javaScriptEnabled: false });
  await page.goto(app.start({ organization: orgId }));
  await story.signIn(page, story, () => mailTo(service, story.loginName));
  await page.getByRole('heading', { name: /^Welcome / }).waitFor();
  assert.ok(page.url().startsWith(app.redirectUri));
  assert.equal(app.subjects.at(-1), story.id);
  assert.equal(mailsTo(service, story.loginName).length, 1);
}

/** Imports the export into an organization that sends mails only to users who need one. */
async function imported(service: Service, source: string): Promise<string> {
  const { files, args } = waysCase(source);
  const { orgId, ownerToken } = await service.newOrg();
  await setLoginPolicy(service, orgId, { mailCode: 'withoutPassword', initMail: 'unlessWayIn' });
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: ownerToken };
  const words = ['import', ...files, '--from', source, '--org', orgId, ...args, '--mails', 'auto', '--watch'];
  const { code, stdout, stderr } = await runMuster(words, { env });
  assert.equal(code, 0, stdout + stderr);
  return orgId;
}

const mailsTo = ({ smtp }: Service, address: string): CaughtMail[] =>
  smtp.mails.filter(({ to }) => to.includes(address));

async function mailTo(service: Service, address: string): Promise<string> {
  const mail = await waitFor(() => mailsTo(service, address)[0], { what: `the mail to ${address}` });
  return (await mail.parsed()).text ?? '';
}
