/**
 * The passkeys and security keys of a person: their list, another passkey, names, and the end of one.
 *
 * Guarantee: a passkey is added only by the answer to the question of this page in this session of the browser, which
 * only a script can ask; all else works without. The last way in cannot be removed.
 */
import { findUser } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { field, hidden, type Problem, text } from '../../platform/html/forms.ts';
import { newId } from '../../platform/ids.ts';
import { type MessageKey, say, sayHtml } from '../../platform/messages/catalogue.ts';
import { timeOf, utc } from '../../platform/messages/times.ts';
import { relyingParty } from '../../platform/relying-party.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { passkeyScript } from '../pages/passkey-offer.ts';
import { addPasskey, creationOptions, dropPasskey, namePasskey, verifyRegistration } from '../passkeys/registration.ts';
import { type CeremonyOf, parseAnswer } from '../webauthn/ceremony.ts';
import { mayUsePasskey, type Passkey, passkeysOf } from '../webauthn/store.ts';
import {
  buttonForm,
  type Content,
  FormProblem,
  givenName,
  LONGEST_NAME,
  opening,
  type Section,
  stillThere,
  type Visit,
} from './section.ts';

/** Why no passkey can be added now, by the id of the error. */
const IMPOSSIBLE: Readonly<Record<string, MessageKey>> = {
  'PASSKEY-UNAVAILABLE': 'factor.passkeysNowhere',
  'PASSKEY-MOST': 'factor.passkeysFull',
};

const problem = (message: MessageKey) => ({ message, fields: [] });

export const PASSKEYS: Section = {
  path: 'passkeys',
  title: 'factor.passkeys',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { add, name, remove },
  said: {
    added: 'factor.passkeyAdded',
    named: 'factor.passkeyNamed',
    removed: 'factor.passkeyRemoved',
  },
  problems: {
    'PASSKEY-NOT-ACCEPTED': problem('factor.passkeyNotAccepted'),
    'PASSKEY-TAKEN': problem('factor.passkeyTaken'),
    'PASSKEY-NOT-FOUND': problem('factor.passkeyGone'),
    'LAST-WAY-IN': problem('factor.passkeyIsLastWay'),
    ...Object.fromEntries(Object.entries(IMPOSSIBLE).map(([id, message]) => [id, problem(message)])),
  },
};

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { deps, person } = visit;
  const keys = await passkeysOf(deps.pool, person.user.id);
  const isAllowed = await mayUsePasskey(deps.pool, person.user.id);
  const body = html`<p>${say('factor.passkeysWhat')}</p>
${keys.length === 0 ? html`<p>${say('factor.noPasskeys')}</p>` : html`<ul class="rows">${keys.map((key) => rowOf(visit, key, isAllowed, problem))}</ul>`}
${isAllowed ? await addForm(visit, problem) : html`<p>${say('factor.passkeysNotAllowed')}</p>`}`;
  return { body, scripts: isAllowed ? [passkeyScript(deps.config.baseUrl)] : [] };
}

function rowOf(visit: Visit, key: Passkey, isAllowed: boolean, problem: Problem | undefined): Html {
  const shown = key.name || say(key.passwordless ? 'factor.passkey' : 'factor.securityKey');
  const { createdAt: added, lastUsedAt: used } = key;
  const what = ABOUT[key.passwordless ? 'alone' : 'second'][used ? 'used' : 'unused'];
  const about = say(what, { added: utc(added), used: used ? utc(used) : '' });
  const seen = sayHtml(what, { added: timeOf(added), used: used ? timeOf(used) : '' });
  const state = stateOf(visit, key, isAllowed);
  const input = nameField(key);
  return html`<li>
<p><strong>${shown}</strong><br><span class="small">${seen}</span></p>
${state && html`<p class="small">${state}</p>`}
<details${problem?.fields?.includes(input) ? html` open` : undefined}><summary aria-label="${say('factor.changeNameOf', { name: shown, about })}">${say('factor.changeName')}</summary>
${opening(visit, PASSKEYS.path, { step: 'name', keyId: key.id })}
${field({ problem, name: input, label: say('factor.name'), value: key.name, isOptional: true, more: LONGEST_NAME })}
<button type="submit" class="quiet">${say('factor.saveName')}</button>
</form>
</details>
${buttonForm(visit, PASSKEYS.path, { step: 'remove', keyId: key.id }, { label: say('common.remove'), about: `${shown}, ${about}` })}
</li>
`;
}

/** How a key signs in, and when it was used. */
const ABOUT = {
  alone: { used: 'factor.passkeyUsed', unused: 'factor.passkeyUnused' },
  second: { used: 'factor.keyUsed', unused: 'factor.keyUnused' },
} as const;

/** Why it does not sign in now; undefined if it does. */
function stateOf({ deps }: Visit, { rpId, passwordless }: Passkey, isAllowed: boolean): string | undefined {
  if (rpId !== relyingParty(deps.config)?.rpId) return say('factor.passkeyElsewhere', { host: rpId });
  return passwordless && !isAllowed ? say('factor.passkeyUseless') : undefined;
}

/** The name of the input for the name of a passkey: there are several on the page. */
function nameField({ id }: Pick<Passkey, 'id'>): string {
  return `name-${id}`;
}

async function addForm(visit: Visit, problem: Problem | undefined): Promise<Html> {
  const options = await creationOptions(visit.deps, visit.person.user, ceremonyOf(visit)).catch((error: unknown) => {
    const message = error instanceof ApiError ? IMPOSSIBLE[error.id] : undefined;
    if (message === undefined) throw error;
    return html`<p>${say(message)}</p>`;
  });
  if ('markup' in options) return options;
  const data = html` data-passkey="${JSON.stringify(options)}" data-new hidden`;
  return html`<h2>${say('factor.addPasskey')}</h2>
${opening(visit, PASSKEYS.path, { step: 'add' }, data)}
${hidden({ answer: '' })}
${field({ problem, name: 'name', label: say('factor.passkeyName'), value: text(visit.req.body, 'name'), isOptional: true, hint: say('factor.passkeyNameHint'), more: LONGEST_NAME })}
<button type="submit" aria-describedby="passkey-failed">${say('factor.addPasskey')}</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>${say('factor.passkeyFailed')}</p>
</form>
<p class="small" data-without>${say('factor.passkeyWithout')}</p>`;
}

function ceremonyOf({ person }: Visit): CeremonyOf {
  return { purpose: 'add', holder: `account ${person.user.id} ${person.uid}` };
}

async function add(visit: Visit): Promise<string> {
  const { deps, req, person } = visit;
  const { id } = person.user;
  if (!(await mayUsePasskey(deps.pool, id))) {
    throw new FormProblem({ message: say('factor.passkeysNotAllowed'), fields: [] });
  }
  const name = givenName(req.body, 'name');
  const answer = parseAnswer(text(req.body, 'answer'));
  const made = await verifyRegistration(deps, { answer, of: ceremonyOf(visit), userId: id });
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, id, 'for update'));
    await addPasskey(db, user, { id: newId(), name, made });
  });
  return 'added';
}

async function name({ deps, req, person }: Visit): Promise<string> {
  const id = text(req.body, 'keyId');
  const given = givenName(req.body, nameField({ id }));
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await namePasskey(db, user, id, given);
  });
  return 'named';
}

async function remove({ deps, req, person }: Visit): Promise<string> {
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await dropPasskey({ ...deps, db }, user, { id: text(req.body, 'keyId'), editor: user.id });
  });
  return 'removed';
}
