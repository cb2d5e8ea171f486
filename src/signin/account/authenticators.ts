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
import { type Html, html } from '../../platform/html/html.ts';
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
  timeOf,
  utc,
  type Visit,
} from './section.ts';

export const AUTHENTICATORS: Section = {
  path: 'authenticators',
  title: 'Authenticator apps',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { begin, confirm, remove },
  said: {
    added: 'The app is added. You are asked for its code when you sign in.',
    removed: 'The app is removed. Its codes do not work any more.',
  },
  problems: {
    'TOTP-CODE': { message: 'The code is wrong. Enter the one that the app shows now.', fields: ['code'] },
    'LAST-WAY-IN': {
      message: 'You could not sign in without this app. Choose a password first, or add another second factor.',
      fields: [],
    },
    'TOTP-LIMIT': { message: `You have ${MOST_APPS} apps, the most that are possible. Remove one first.`, fields: [] },
    'TOTP-NOT-FOUND': { message: 'This app is removed already.', fields: [] },
  },
};

/** Shows the list, or the app that is being added. */
async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const secret = keyOf(visit);
  if (secret !== undefined) return { body: await setUp(visit, secret, problem) };
  const { deps, person } = visit;
  const apps = (await appsOf(deps.pool, person.user.id)).filter((app) => app.confirmedAt !== null);
  const body = html`<p>An authenticator app on your phone shows a code that you enter after your password.</p>
${apps.length === 0 ? html`<p>You have no authenticator app.</p>` : html`<ul class="rows">${apps.map((app) => rowOf(visit, app))}</ul>`}
${
  apps.length < MOST_APPS
    ? buttonForm(visit, AUTHENTICATORS.path, { step: 'begin' }, { label: 'Add an authenticator app', look: 'main' })
    : html`<p>You have ${MOST_APPS} apps, the most that are possible.</p>`
}`;
  return { body };
}

function rowOf(visit: Visit, { id, name, confirmedAt, lastUsedAt }: StoredApp): Html {
  const shown = name === '' ? 'Authenticator app' : name;
  const about = [
    ...(confirmedAt ? [`Added ${utc(confirmedAt)}`] : []),
    lastUsedAt ? `last used ${utc(lastUsedAt)}` : 'never used',
  ].join(', ');
  const added = confirmedAt ? html`Added ${timeOf(confirmedAt)}, ` : undefined;
  return html`<li>
<p><strong>${shown}</strong><br><span class="small">${added}${lastUsedAt ? html`last used ${timeOf(lastUsedAt)}` : 'never used'}</span></p>
${buttonForm(visit, AUTHENTICATORS.path, { step: 'remove', appId: id }, { label: 'Remove', about: `${shown}, ${about}` })}
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
${field({ problem, name: 'code', label: 'Code', autocomplete: 'one-time-code' })}
${field({ problem, name: 'name', label: 'Name of the app', value: text(req.body, 'name'), isOptional: true, hint: 'By which you know it again, such as Phone.', more: LONGEST_NAME })}
<button type="submit">Add the app</button>
</form>
<p class="links"><a href="${accountUrl(deps.config, AUTHENTICATORS.path)}">Cancel</a></p>`;
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
  if (secret === undefined) throw new FormProblem({ message: 'That did not work. Please begin again.', fields: [] });
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
