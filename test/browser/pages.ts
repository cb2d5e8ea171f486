/** Every page of a sign-in with names as long as they may be, for tests of how pages look. */
import { errorPage, STATUSES } from '../../src/platform/html/errors.ts';
import type { HtmlPage } from '../../src/platform/html/layout.ts';
import { say } from '../../src/platform/messages/catalogue.ts';
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

const LONG = 'Vereinigte Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft & Co';
const frame = {
  uid: 'x',
  token: 't',
  clientName: LONG,
  names: 'loginName_email',
  offersCodes: true,
  sealName: () => 's',
} as const;
const providers = [
  { id: '1', name: 'Google' },
  { id: '2', name: LONG },
];
const connect = { name: 'Google', account: `${'ann.'.repeat(20)}arbor@example.com`, sealed: 's' };
const proven = { proof: 'p', loginName: `${'ann.'.repeat(20)}arbor@example.com` };
const key = { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', address: 'otpauth://totp/Acme:ann?secret=JBSWY3DPEHPK3PXP' };
const link = { userId: 'u', code: 'c' };
/** The address of the script that the pages name. */
export const SCRIPT = '/passkey.js';
const device = { action: 'x', xsrf: 's' };
const rules = { minLength: 8, maxLength: 200 };
const form = '<form id="op.logoutForm" method="post" action="x"><input type="hidden" name="xsrf" value="s"/></form>';

/** The pages in the language of the work that calls this. */
export function allPages(): Record<string, HtmlPage | undefined> {
  const problem = { message: say('error.passwordsDiffer') };
  return {
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
    'provider-problem': nameForm(
      { ...frame, providers },
      {
        message: say('login.providerUnavailable', { provider: 'Google', codes: 'yes' }),
        fields: [],
      },
    ),
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
    forgot: forgotForm({ login: 'x', organization: '' }, { names: 'loginName_email', loginName: '' }),
    'forgot-problem': forgotForm({ login: '', organization: '' }, { names: 'loginName_email', loginName: '' }, problem),
    'forgot-done': forgotDonePage({ login: 'x', organization: '' }),
    'log-out': logoutPage(form),
    'logged-out': signedOutPage(),
    'still-logged-in': signedOutPage({ isStill: true }),
    'oauth-error': oauthErrorPage({ error: 'invalid_redirect_uri', error_description: `it is ${'x'.repeat(150)}` }),
    device: deviceCodeForm(device, ''),
    'device-problem': deviceCodeForm(device, 'BBBB-BBBB', { message: say('oauth.wrongDeviceCode') }),
    'device-confirm': deviceConfirmPage(device, LONG, 'WDJB-MJHT'),
    'device-done': deviceDonePage(LONG),
    'device-stopped': deviceStoppedPage('x'),
    'device-form-gone': deviceFormGonePage('x'),
    ...Object.fromEntries(STATUSES.map((status) => [`error-${status}`, errorPage(status)])),
  };
}
