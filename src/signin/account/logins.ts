/**
 * Where a person is signed in, and the applications that hold tokens for them.
 *
 * Guarantee: the list is shown after a sign-in of any age; a sign-in is ended only after a recent one.
 */
import { BUILT_IN_NAMES } from '../../contract/own-clients.ts';
import { findUser, type User } from '../../directory/users/store.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { text } from '../../platform/html/forms.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { timeOf } from '../../platform/messages/times.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import { endLogin, endOtherLogins, isCurrent, type Login, listLogins, MOST_LISTED } from '../sessions.ts';
import { loginOf } from './person.ts';
import { buttonForm, type Content, FormProblem, type Section, stillThere, type Visit } from './section.ts';

export const LOGINS: Section = {
  path: 'logins',
  title: 'account.logins',
  needsRecent: false,
  show,
  steps: { end, 'end-others': endOthers },
  said: { ended: 'account.loginEnded', others: 'account.othersEnded' },
};

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const logins = await listLogins(deps.pool, person.user.id, deps.config.SESSION_TTL_DAYS);
  const [places, applications] = [logins.filter((login) => !isApplication(login)), logins.filter(isApplication)];
  const others = logins.some((login) => !isCurrent(login, loginOf(person)));
  const body = html`<p>${say('account.loginsWhat')}</p>
<h2>${say('account.browsersAndPrograms')}</h2>
${listOf(visit, places)}
<h2>${say('account.applicationsWithAccess')}</h2>
<p class="small">${say('account.applicationsWhat')}</p>
${listOf(visit, applications)}
${others ? endOthersForm(visit, logins.length === MOST_LISTED) : undefined}`;
  return { body };
}

function isApplication({ type }: Login): boolean {
  return type === 'application';
}

function listOf(visit: Visit, logins: readonly Login[]): Html {
  if (logins.length === 0) return html`<p>${say('account.noLogins')}</p>`;
  return html`<ul class="rows">${logins.map((login) => rowOf(visit, login))}</ul>`;
}

function rowOf(visit: Visit, login: Login): Html {
  const name = nameOf(login);
  const isHere = isCurrent(login, loginOf(visit.person));
  const about = sayHtml('account.loginAbout', {
    created: timeOf(login.createdAt),
    isUsed: login.lastUsedAt ? 'yes' : 'no',
    used: login.lastUsedAt ? timeOf(login.lastUsedAt) : '',
    hasAddress: login.address === null ? 'no' : 'yes',
    address: login.address ?? '',
    expires: timeOf(login.expiresAt),
  });
  return html`<li>
<p>${isHere ? sayHtml('account.thisBrowser', { name }) : html`<strong>${name}</strong>`}<br><span class="small">${about}</span></p>
${isHere ? undefined : buttonForm(visit, LOGINS.path, { step: 'end', loginId: login.id }, { label: say('account.endLogin'), about: `${name} ${login.address ?? ''}`.trim() })}
</li>
`;
}

function endOthersForm(visit: Visit, isMore: boolean): Html {
  const what = isMore ? say('account.endOthersMore', { most: MOST_LISTED }) : say('account.endOthersWhat');
  return html`<p id="others">${what}</p>
${buttonForm(visit, LOGINS.path, { step: 'end-others' }, { label: say('account.endOthers') })}`;
}

async function end({ deps, req, person }: Visit): Promise<string> {
  const id = text(req.body, 'loginId');
  // Without an id, nothing is meant.
  if (id === '') throw new FormProblem({ message: say('account.chooseLogin'), fields: [] });
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    const ended = await endLogin(db, user.id, id);
    // Somebody else was faster.
    if (ended !== undefined) await record(db, user, ended);
  });
  return 'ended';
}

async function endOthers({ deps, person }: Visit): Promise<string> {
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await endOtherLogins(db, user.id, loginOf(person));
    await record(db, user, 'others');
  });
  return 'others';
}

function record(db: Db, user: User, login: string) {
  return appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    type: 'user.login.ended',
    editor: user.id,
    payload: { login },
  });
}

function nameOf({ type, clientId, clientName, userAgent }: Login): string {
  if (type === 'browser') return deviceName(userAgent ?? undefined);
  return clientName ?? ownValue(BUILT_IN_NAMES, clientId ?? '') ?? (clientId || say('account.program'));
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
  const browser = nameIn(BROWSERS, userAgent) ?? say('account.unknownBrowser');
  const system = nameIn(SYSTEMS, userAgent);
  return system === undefined ? browser : say('account.browserOn', { browser, system });
}

function nameIn(names: Names, userAgent = ''): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1];
}
