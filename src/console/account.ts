/**
 * Where a person is signed in, and the applications that hold tokens for them: `/console/account`, for everybody who can
 * sign in, with or without a role.
 *
 * Guarantee: to end a sign-in, the person must have signed in within the last minutes, as for every change of what
 * protects an account; the API decides. A person whose sign-in is older signs in again, and then chooses.
 */

import { type Request, type Response, Router } from 'express';
import type { Answer } from '../contract/client.ts';
import { ApiError } from '../platform/errors.ts';
import { hidden, text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/html/html.ts';
import { ownValue } from '../platform/text/names.ts';
import type { ScreenDeps } from './deps.ts';
import { sessionOf } from './session.ts';
import { headline, notice, state, table, time } from './shell/blocks.ts';
import { saidOnce } from './shell/errors.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { ACCOUNT } from './texts/account.ts';

const SAID: Readonly<Record<string, string>> = {
  ended: ACCOUNT.ended,
  others: ACCOUNT.endedOthers,
  again: ACCOUNT.again,
};

/** Mount it behind the session, but before roles are required. */
export function accountScreens({ show, consoleUrl, config }: ScreenDeps): Router {
  const router = Router();
  router.get('/console/account', async (req, res) => {
    const { result } = await sessionOf(res).api.call('listLogins', ownUser(res));
    show(req, res, {
      title: ACCOUNT.title,
      body: accountBody({ consoleUrl, baseUrl: config.baseUrl }, result, ownValue(SAID, saidOnce(res))),
    });
  });
  // Where a form leads to that was sent before.
  router.get(['/console/account/end', '/console/account/end-others'], (_req, res) =>
    res.redirect(303, consoleUrl('/account')),
  );
  router.post('/console/account/end', async (req, res) => {
    const params = { ...ownUser(res), loginId: loginId(req) };
    await after(res, () => sessionOf(res).api.call('endLogin', params), 'ended');
  });
  router.post('/console/account/end-others', async (_req, res) => {
    const end = () => sessionOf(res).api.call('endLogins', ownUser(res), { body: { keepCurrent: true } });
    await after(res, end, 'others');
  });
  return router;

  async function after(res: Response, end: () => Promise<unknown>, done: string): Promise<void> {
    try {
      await end();
    } catch (error) {
      const id = error instanceof ApiError ? error.id : '';
      if (id === 'AUTH-SIGN-IN-AGAIN') return res.redirect(303, consoleUrl(`/sign-in?${AGAIN}`));
      // Somebody else was faster.
      if (id !== 'LOGIN-NOT-FOUND') throw error;
    }
    res.redirect(303, consoleUrl(`/account?done=${done}`));
  }
}

const AGAIN = new URLSearchParams({ again: 'yes', to: '/console/account?done=again' });

function ownUser(res: Response): { userId: string } {
  return { userId: sessionOf(res).caller.userId };
}

/** Never empty: without an id, the call would end all logins. */
function loginId(req: Request): string {
  const id = text(req.body, 'loginId');
  if (id === '') throw new ApiError('INVALID_ARGUMENT', 'CONSOLE-LOGIN', 'The form names no sign-in.');
  return id;
}

/** A sign-in or an application. */
type Login = Answer<'listLogins'>['result'][number];

/** The API lists at most this many. */
const MOST_LISTED = 100;

/** @param said what has just happened */
function accountBody(
  { consoleUrl, baseUrl }: { consoleUrl: ConsoleUrl; baseUrl: string },
  logins: readonly Login[],
  flashMessage: string | undefined,
): Html {
  const isApplication = ({ type }: Login) => type === 'LOGIN_TYPE_APPLICATION';
  const [places, applications] = [logins.filter((login) => !isApplication(login)), logins.filter(isApplication)];
  return html`${headline(ACCOUNT.title)}
${notice(flashMessage)}
<p class="soft">${ACCOUNT.intro} <a href="${baseUrl}/ui/forgot">${ACCOUNT.password}</a></p>
${section(consoleUrl, ACCOUNT.browsers, places, ACCOUNT.noBrowsers)}
${section(consoleUrl, ACCOUNT.applications, applications, ACCOUNT.noApplications, ACCOUNT.applicationsHint)}
${logins.some(({ isCurrent }) => !isCurrent) ? endOthers(consoleUrl, logins.length === MOST_LISTED) : undefined}`;
}

function section(consoleUrl: ConsoleUrl, title: string, logins: readonly Login[], none: string, hint?: string): Html {
  const content = logins.length > 0 ? loginTable(consoleUrl, title, logins) : html`<p class="inset soft">${none}</p>`;
  return html`<h2>${title}</h2>
${hint && html`<p class="soft">${hint}</p>`}
<section class="card flush">${content}</section>`;
}

function loginTable(consoleUrl: ConsoleUrl, title: string, logins: readonly Login[]): Html {
  const columns = [ACCOUNT.name, ACCOUNT.signedIn, ACCOUNT.lastUsed, ACCOUNT.address, ACCOUNT.ends, ACCOUNT.action];
  const rows = logins.map((login) => row(consoleUrl, login));
  return table(title, columns, rows);
}

function row(consoleUrl: ConsoleUrl, login: Login): Html {
  return html`<tr><th scope="row">${nameOf(login)}</th>
<td data-label="${ACCOUNT.signedIn}">${time(login.creationDate)}</td>
<td data-label="${ACCOUNT.lastUsed}">${time(login.lastUseDate) ?? ACCOUNT.unknown}</td>
<td data-label="${ACCOUNT.address}">${login.address ?? ACCOUNT.unknown}</td>
<td data-label="${ACCOUNT.ends}">${time(login.expirationDate)}</td>
<td data-label="${ACCOUNT.action}">${login.isCurrent ? state({ name: ACCOUNT.current, look: 'good' }) : end(consoleUrl, login)}</td></tr>
`;
}

function end(consoleUrl: ConsoleUrl, login: Login): Html {
  return html`<form method="post" action="${consoleUrl('/account/end')}">${hidden({ loginId: login.id })}<button type="submit" class="quiet small">${ACCOUNT.end}<span class="sr"> ${nameOf(login)}, ${login.address}</span></button></form>`;
}

function endOthers(consoleUrl: ConsoleUrl, isMore: boolean): Html {
  return html`<form class="card confirm" method="post" action="${consoleUrl('/account/end-others')}">
<p id="others">${ACCOUNT.endOthersHint}${isMore ? ` ${ACCOUNT.most}` : ''}</p>
<div class="buttons"><button type="submit" class="danger" aria-describedby="others">${ACCOUNT.endOthers}</button></div></form>`;
}

function nameOf({ type, clientId = '', clientName, userAgent }: Login): string {
  if (type === 'LOGIN_TYPE_BROWSER') return deviceName(userAgent);
  return clientName ?? ACCOUNT.builtIn[clientId] ?? (clientId || ACCOUNT.program);
}

/** The first match counts. */
type Names = readonly (readonly [pattern: RegExp, name: string])[];

/** Most browsers also name the browsers that they are derived from. */
const BROWSERS: Names = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: Names = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/**
 * The name of a browser and its system, from the `User-Agent` header: enough to recognize a device of one's own.
 * `Firefox on Linux`; `Browser` for one that is not known.
 */
export function deviceName(userAgent: string | undefined): string {
  const browser = nameIn(BROWSERS, userAgent) ?? ACCOUNT.browser;
  const system = nameIn(SYSTEMS, userAgent);
  return system === undefined ? browser : ACCOUNT.on(browser, system);
}

function nameIn(names: Names, userAgent = ''): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1];
}
