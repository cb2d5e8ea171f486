/**
 * The authenticator apps of a person: their list, another one with a QR code, and the end of one.
 *
 * Guarantee: an app is stored when a code has proved that it has the key. The key travels sealed with the form, for this
 * session of the browser alone, so nobody is shown a key that somebody else began with.
 */
import { requireOrg } from '../../directory/organizations.ts';
import { appsOf, type StoredApp } from '../../directory/users/second-factors.ts';
import { findUser, loginNames } from '../../directory/users/store.ts';
import { keyOfText, MOST_APPS, newTotpSecret, totpAddress } from '../../passwords/totp-secret.ts';
import { transaction } from '../../platform/db/pool.ts';
import { field, type Problem, text } from '../../platform/html/forms.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { timeOf, utc } from '../../platform/messages/times.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { addTotp, removeApps, verifyTotp } from '../factors/totp.ts';
import { appSteps } from '../pages/factor-forms.ts';
import { accountUrl } from './person.ts';
import {
  buttonForm,
  type Content,
  FormProblem,
  givenName,
  LONGEST_NAME,
  opening,
  type Section,
  showSection,
  stillThere,
  type Visit,
} from './section.ts';

export const AUTHENTICATORS: Section = {
  path: 'authenticators',
  title: 'factor.apps',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { begin, confirm, remove },
  said: {
    added: 'factor.appAdded',
    removed: 'factor.appRemoved',
  },
  problems: {
    'TOTP-CODE': { message: 'factor.appCodeWrong', fields: ['code'] },
    'LAST-WAY-IN': { message: 'factor.appIsLastWay', fields: [] },
    'TOTP-LIMIT': { message: 'factor.appsFull', values: { most: MOST_APPS }, fields: [] },
    'TOTP-NOT-FOUND': { message: 'factor.appGone', fields: [] },
  },
};

/** Shows the list, or the app that is being added. */
async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const secret = keyOf(visit);
  if (secret !== undefined) return { body: await setUp(visit, secret, problem) };
  const { deps, person } = visit;
  const apps = (await appsOf(deps.pool, person.user.id)).flatMap(({ confirmedAt, ...app }) =>
    confirmedAt === null ? [] : [{ ...app, addedAt: confirmedAt }],
  );
  const body = html`<p>${say('factor.appsWhat')}</p>
${apps.length === 0 ? html`<p>${say('factor.noApps')}</p>` : html`<ul class="rows">${apps.map((app) => rowOf(visit, app))}</ul>`}
${
  apps.length < MOST_APPS
    ? buttonForm(visit, AUTHENTICATORS.path, { step: 'begin' }, { label: say('factor.addApp'), look: 'main' })
    : html`<p>${say('factor.mostApps', { most: MOST_APPS })}</p>`
}`;
  return { body };
}

function rowOf(
  visit: Visit,
  { id, name, addedAt, lastUsedAt }: Pick<StoredApp, 'id' | 'name' | 'lastUsedAt'> & { addedAt: Date },
): Html {
  const shown = name === '' ? say('factor.app') : name;
  const about = lastUsedAt
    ? say('factor.appUsed', { added: utc(addedAt), used: utc(lastUsedAt) })
    : say('factor.appUnused', { added: utc(addedAt) });
  const seen = lastUsedAt
    ? sayHtml('factor.appUsed', { added: timeOf(addedAt), used: timeOf(lastUsedAt) })
    : sayHtml('factor.appUnused', { added: timeOf(addedAt) });
  return html`<li>
<p><strong>${shown}</strong><br><span class="small">${seen}</span></p>
${buttonForm(visit, AUTHENTICATORS.path, { step: 'remove', appId: id }, { label: say('common.remove'), about: `${shown}, ${about}` })}
</li>
`;
}

async function setUp(visit: Visit, secret: string, problem: Problem | undefined): Promise<Html> {
  const { deps, req, person } = visit;
  const issuer = (await requireOrg(deps.pool, person.user.orgId)).name;
  const [account = person.user.userName] = loginNames(person.user);
  const key = deps.secrets.seal(secret, sealOf(visit));
  return html`${appSteps({ secret, address: totpAddress(keyOfText(secret), { issuer, account }) })}
${opening(visit, AUTHENTICATORS.path, { step: 'confirm', key })}
${field({ problem, name: 'code', label: say('common.code'), autocomplete: 'one-time-code' })}
${field({ problem, name: 'name', label: say('factor.appName'), value: text(req.body, 'name'), isOptional: true, hint: say('factor.appNameHint'), more: LONGEST_NAME })}
<button type="submit">${say('factor.addThisApp')}</button>
</form>
<p class="links"><a href="${accountUrl(deps.config, AUTHENTICATORS.path)}">${say('common.cancel')}</a></p>`;
}

/** The key of the app that is being added, in base32; undefined where the list is shown. */
function keyOf(visit: Visit): string | undefined {
  const step = text(visit.req.body, 'step');
  if (step === 'begin') return newTotpSecret();
  return step === 'confirm' ? sentKey(visit) : undefined;
}

function sentKey(visit: Visit): string | undefined {
  try {
    return visit.deps.secrets.unseal(text(visit.req.body, 'key'), sealOf(visit));
  } catch {
    return undefined; // of another session, or not ours
  }
}

function sealOf({ person }: Visit): string {
  return `account authenticator ${person.user.id} ${person.uid}`;
}

/** Stores nothing. */
async function begin(visit: Visit): Promise<undefined> {
  await showSection(visit, AUTHENTICATORS);
}

async function confirm(visit: Visit): Promise<string> {
  const { deps, req, person } = visit;
  const secret = sentKey(visit);
  if (secret === undefined) throw new FormProblem({ message: say('factor.beginAgain'), fields: [] });
  const name = givenName(req.body, 'name');
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await addTotp({ db, secrets: deps.secrets }, user, user.id, { secret, name });
    await verifyTotp({ ...deps, db }, user, text(req.body, 'code'), user.id);
  });
  return 'added';
}

async function remove({ deps, req, person }: Visit): Promise<string> {
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await removeApps({ ...deps, db }, user, { editor: user.id, id: text(req.body, 'appId') });
  });
  return 'removed';
}
