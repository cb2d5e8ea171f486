/** Checks every page with axe-core, on phone and wide screens, in light and dark. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { passwordRules } from '../../src/contract/password-rules.ts';
import { PAGES as ERROR_PAGES } from '../../src/platform/html/errors.ts';
import { type HtmlPage, renderPage } from '../../src/platform/html/layout.ts';
import {
  deviceCodeForm,
  deviceConfirmPage,
  deviceDonePage,
  deviceFormGonePage,
  deviceStoppedPage,
  loginGonePage,
  logoutPage,
  oauthErrorPage,
  signedOutPage,
} from '../../src/signin/oauth/pages.ts';
import { codeForm, codesLeftPage, factorForm, noFactorPage } from '../../src/signin/pages/factor-forms.ts';
import {
  changeForm,
  continuePage,
  expiringPage,
  loginForm,
  mailCodeForm,
  nameForm,
  pausedPage,
  stopPage,
  textCodeForm,
  unlinkedPage,
} from '../../src/signin/pages/forms.ts';
import {
  expiredPage,
  forgotDonePage,
  forgotForm,
  newLinkPage,
  passkeyForm,
  passkeyLinkGonePage,
  passwordForm,
  verifyForm,
} from '../../src/signin/pages/link-forms.ts';
import { organizationsPage } from '../../src/signin/pages/providers.ts';
import { axeProblems } from '../support/axe.ts';
import { launchBrowser, screenshot, type TestBrowser } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

const LONG = 'Vereinigte Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft & Co';
const frame = {
  uid: 'x',
  token: 't',
  clientName: LONG,
  nameLabel: 'Login name or email',
  offersCodes: true,
  sealName: () => 's',
};
const providers = [
  { id: '1', name: 'Google' },
  { id: '2', name: LONG },
];
const connect = { name: 'Google', account: `${'ann.'.repeat(20)}arbor@example.com`, sealed: 's' };
const proven = { proof: 'p', loginName: `${'ann.'.repeat(20)}arbor@example.com` };
const key = { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', address: 'otpauth://totp/Acme:ann?secret=JBSWY3DPEHPK3PXP' };
const link = { userId: 'u', code: 'c' };
const SCRIPT = '/passkey.js';
const device = { action: 'x', xsrf: 's' };
const rules = passwordRules({ minLength: 8, maxLength: 200 });
const problem = { message: 'The passwords do not match. Please enter the same one twice.' };
const form = '<form id="op.logoutForm" method="post" action="x"><input type="hidden" name="xsrf" value="s"/></form>';

const pages: Record<string, HtmlPage | undefined> = {
  'log-in': nameForm({ ...frame, clientName: 'Acme' }),
  'log-in-password': loginForm({ ...frame, clientName: 'Acme' }, 'ann@example.com'),
  'log-in-without-codes': loginForm({ ...frame, offersCodes: false }, proven.loginName),
  'add-passkey': passkeyForm(link, { options: '{}', setsPassword: false }, SCRIPT),
  'add-passkey-invited': passkeyForm(link, { options: '{}', setsPassword: true }, SCRIPT, problem),
  'add-passkey-gone': passkeyLinkGonePage(),
  'mail-code': mailCodeForm({ ...frame, clientName: 'Acme' }, 'ann@example.com'),
  'mail-code-problem': mailCodeForm(frame, proven.loginName, { ...problem, fields: ['code'] }),
  'log-in-texts': loginForm({ ...frame, offersTexts: true }, '+41 79 123 45 67'),
  'text-code': textCodeForm({ ...frame, clientName: 'Acme' }, '+41 79 123 45 67'),
  'text-code-problem': textCodeForm(frame, '+41 79 123 45 67', { ...problem, fields: ['code'] }),
  'log-in-problem': loginForm(frame, proven.loginName, { ...problem, fields: ['loginName', 'password'] }),
  'log-in-providers': nameForm({ ...frame, clientName: 'Acme', providers }),
  'log-in-password-providers': loginForm({ ...frame, providers }, proven.loginName),
  'provider-problem': nameForm({ ...frame, providers }, { message: 'We cannot reach Google right now.', fields: [] }),
  connect: nameForm({ ...frame, providers, connect }),
  'connect-password': loginForm({ ...frame, providers, connect }, proven.loginName),
  organizations: organizationsPage(frame, 'Google', [...providers], 's'),
  unlinked: unlinkedPage(frame, proven, 'Google'),
  continue: continuePage(frame, proven.loginName),
  code: codeForm(frame, proven, { kind: 'totp', others: [] }),
  'code-problem': codeForm(frame, proven, { kind: 'recoveryCode', others: ['totp', 'otpSms'] }, problem),
  'no-factor': noFactorPage(frame),
  'codes-left': codesLeftPage(frame, proven, 3),
  factor: factorForm(frame, proven, key),
  'factor-problem': factorForm(frame, proven, key, { ...problem, fields: ['code'] }),
  required: changeForm(frame, proven, { reason: 'required', rules }),
  'expired-problem': changeForm(frame, proven, { reason: 'expired', rules }, problem),
  expiring: expiringPage(frame, proven, 5),
  locked: stopPage(frame, 'SESSION-USER-LOCKED'),
  paused: pausedPage(frame, 2),
  inactive: stopPage(frame, 'SESSION-USER-INACTIVE'),
  initial: stopPage(frame, 'SESSION-USER-INITIAL'),
  gone: loginGonePage(),
  verify: verifyForm(link),
  'link-expired': expiredPage('verify', link),
  'link-sent': newLinkPage(),
  init: passwordForm('init', link, rules),
  'reset-problem': passwordForm('reset', link, rules, problem),
  forgot: forgotForm({ login: 'x', organization: '' }, { label: 'Login name or email', loginName: '' }),
  'forgot-problem': forgotForm(
    { login: '', organization: '' },
    { label: 'Login name or email', loginName: '' },
    problem,
  ),
  'forgot-done': forgotDonePage('x'),
  'log-out': logoutPage(form),
  'logged-out': signedOutPage(),
  'still-logged-in': signedOutPage({ isStill: true }),
  'oauth-error': oauthErrorPage({ error: 'invalid_redirect_uri', error_description: `it is ${'x'.repeat(150)}` }),
  device: deviceCodeForm(device, ''),
  'device-problem': deviceCodeForm(device, 'BBBB-BBBB', { message: 'This code is not correct.' }),
  'device-confirm': deviceConfirmPage(device, LONG, 'WDJB-MJHT'),
  'device-done': deviceDonePage(LONG),
  'device-stopped': deviceStoppedPage('x'),
  'device-form-gone': deviceFormGonePage('x'),
  ...Object.fromEntries(Object.entries(ERROR_PAGES).map(([status, page]) => [`error-${status}`, page])),
};

const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };
/** Rules whose outcome depends on screen size and color scheme. */
const OF_LOOKS = ['color-contrast', 'target-size'];
const LOOKS: { look: string; viewport: typeof PHONE; colorScheme: 'light' | 'dark'; rules?: string[] }[] = [
  { look: 'phone-light', viewport: PHONE, colorScheme: 'light' },
  { look: 'phone-dark', viewport: PHONE, colorScheme: 'dark', rules: OF_LOOKS },
  { look: 'wide-light', viewport: WIDE, colorScheme: 'light', rules: OF_LOOKS },
  { look: 'wide-dark', viewport: WIDE, colorScheme: 'dark', rules: OF_LOOKS },
];

describe('the pages', () => {
  let browser: TestBrowser | undefined;
  let server: Server;
  let url: string;
  before(async () => {
    browser = await launchBrowser();
    server = createServer((req, res) => {
      if (req.url === SCRIPT) return void res.writeHead(200, { 'content-type': 'text/javascript' }).end();
      const page = pages[(req.url ?? '').slice(1)];
      if (!page) return void res.writeHead(204).end();
      const { headers, markup } = renderPage(page);
      res.writeHead(200, headers).end(markup);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    await browser?.close();
    server.close();
  });

  it('have no axe-core findings in any look, and fit a narrow screen', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !browser) return;
    const tab = await browser.openPage(t, { reducedMotion: 'reduce' });
    const found: string[] = [];
    for (const [name, page] of Object.entries(pages)) {
      await tab.goto(`${url}/${name}`);
      assert.equal(await tab.title(), page?.title);
      for (const { look, viewport, colorScheme, rules } of LOOKS) {
        await tab.setViewportSize(viewport);
        await tab.emulateMedia({ colorScheme });
        await screenshot(tab, `${name}-${look}`);
        for (const finding of await axeProblems(tab, rules ? { runOnly: rules } : {}))
          found.push(`${name}, ${look}: ${finding}`);
      }
      await tab.setViewportSize({ width: 320, height: 600 });
      const width = await tab.evaluate('document.documentElement.scrollWidth');
      if (width !== 320) found.push(`${name} is ${width} wide`);
    }
    assert.deepEqual(found, []);
    assert.ok(Object.keys(pages).length >= 34);
  });
});
