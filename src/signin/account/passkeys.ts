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
import { type Html, html } from '../../platform/html/html.ts';
import { newId } from '../../platform/ids.ts';
import { relyingParty } from '../../platform/relying-party.ts';
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
  timeOf,
  utc,
  type Visit,
} from './section.ts';

/** Why no passkey can be added now, by the id of the error. */
const IMPOSSIBLE: Readonly<Record<string, string>> = {
  'PASSKEY-UNAVAILABLE': 'Browsers have no passkeys at the address of this service.',
  'PASSKEY-MOST': 'You have as many passkeys as are possible. Remove one first.',
};

const problem = (message: string): Problem => ({ message, fields: [] });

export const PASSKEYS: Section = {
  path: 'passkeys',
  title: 'Passkeys and security keys',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { add, name, remove },
  said: {
    added: 'The passkey is added. You can sign in with it, without name and password.',
    named: 'The name is saved.',
    removed: 'It is removed, and does not work here any more.',
  },
  problems: {
    'PASSKEY-NOT-ACCEPTED': problem('No passkey was added, or that took too long. Please try again.'),
    'PASSKEY-TAKEN': problem('This passkey is added already. Please choose another device.'),
    'PASSKEY-NOT-FOUND': problem('This passkey is removed already.'),
    'LAST-WAY-IN': problem('You sign in with this passkey only. Choose a password first, or add another passkey.'),
    ...Object.fromEntries(Object.entries(IMPOSSIBLE).map(([id, message]) => [id, problem(message)])),
  },
};

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { deps, person } = visit;
  const keys = await passkeysOf(deps.pool, person.user.id);
  const isAllowed = await mayUsePasskey(deps.pool, person.user.id);
  const body = html`<p>With a passkey you sign in with your fingerprint, your face or the lock of your device, without a password.</p>
${keys.length === 0 ? html`<p>You have none yet.</p>` : html`<ul class="rows">${keys.map((key) => rowOf(visit, key, isAllowed, problem))}</ul>`}
${isAllowed ? await addForm(visit, problem) : html`<p>Your organization does not let you sign in with a passkey.</p>`}`;
  return { body, scripts: isAllowed ? [passkeyScript(deps.config.baseUrl)] : [] };
}

function rowOf(visit: Visit, key: Passkey, isAllowed: boolean, problem: Problem | undefined): Html {
  const kind = key.passwordless ? 'Passkey' : 'Security key';
  const shown = key.name === '' ? kind : key.name;
  const use = key.lastUsedAt ? `last used ${utc(key.lastUsedAt)}` : 'never used';
  const how = key.passwordless ? 'Signs in alone' : 'Asked for after the password';
  const about = `${how}, added ${utc(key.createdAt)}, ${use}`;
  const used = key.lastUsedAt ? html`last used ${timeOf(key.lastUsedAt)}` : 'never used';
  const state = stateOf(visit, key, isAllowed);
  const input = nameField(key);
  return html`<li>
<p><strong>${shown}</strong><br><span class="small">${how}, added ${timeOf(key.createdAt)}, ${used}</span></p>
${state && html`<p class="small">${state}</p>`}
<details${problem?.fields?.includes(input) ? html` open` : undefined}><summary aria-label="${`Change the name of ${shown}, ${about}`}">Change the name</summary>
${opening(visit, PASSKEYS.path, { step: 'name', keyId: key.id })}
${field({ problem, name: input, label: 'Name', value: key.name, isOptional: true, more: LONGEST_NAME })}
<button type="submit" class="quiet">Save the name</button>
</form>
</details>
${buttonForm(visit, PASSKEYS.path, { step: 'remove', keyId: key.id }, { label: 'Remove', about: `${shown}, ${about}` })}
</li>
`;
}

/** Why it does not sign in now; undefined if it does. */
function stateOf({ deps }: Visit, { rpId, passwordless }: Passkey, isAllowed: boolean): string | undefined {
  if (rpId !== relyingParty(deps.config)?.rpId) return `It was made for ${rpId}, so it does not work here.`;
  return passwordless && !isAllowed ? 'It cannot be used now.' : undefined;
}

/** The name of the input for the name of a passkey: there are several on the page. */
function nameField({ id }: Pick<Passkey, 'id'>): string {
  return `name-${id}`;
}

async function addForm(visit: Visit, problem: Problem | undefined): Promise<Html> {
  const options = await creationOptions(visit.deps, visit.person.user, ceremonyOf(visit)).catch((error: unknown) => {
    const message = error instanceof ApiError ? IMPOSSIBLE[error.id] : undefined;
    if (message === undefined) throw error;
    return html`<p>${message}</p>`;
  });
  if ('markup' in options) return options;
  const data = html` data-passkey="${JSON.stringify(options)}" data-new hidden`;
  return html`<h2>Add a passkey</h2>
${opening(visit, PASSKEYS.path, { step: 'add' }, data)}
${hidden({ answer: '' })}
${field({ problem, name: 'name', label: 'Name of the passkey', value: text(visit.req.body, 'name'), isOptional: true, hint: 'By which you know it again, such as Phone.', more: LONGEST_NAME })}
<button type="submit" aria-describedby="passkey-failed">Add a passkey</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>No passkey was added. Please try again.</p>
</form>
<p class="small" data-without>This browser cannot add a passkey, or runs no scripts. Use another browser for that.</p>`;
}

function ceremonyOf({ person }: Visit): CeremonyOf {
  return { purpose: 'add', holder: `account ${person.user.id} ${person.uid}` };
}

async function add(visit: Visit): Promise<string> {
  const { deps, req, person } = visit;
  const { id } = person.user;
  if (!(await mayUsePasskey(deps.pool, id))) {
    throw new FormProblem({ message: 'Your organization does not let you sign in with a passkey.', fields: [] });
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
