/**
 * The password of a person: changed with the current one, or chosen by somebody who signs in without one.
 *
 * Guarantee: a new password obeys the rules of the organization, and replaces exactly the password that was proved.
 * People stay signed in; sign-ins elsewhere end if they ask for it.
 */
import { passwordRulesOf, RefusedPassword, requireGoodPassword } from '../../directory/policies.ts';
import { findUser } from '../../directory/users/store.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { field, type Problem, text } from '../../platform/html/forms.ts';
import { say } from '../../platform/messages/catalogue.ts';
import { html } from '../../platform/text/html.ts';
import { storePassword } from '../credentials/password.ts';
import { verifyOwnPassword } from '../login/check.ts';
import { originOfForm } from '../login/origin.ts';
import { wrongPassword } from '../login/owner-proof.ts';
import { findLogin } from '../login/store.ts';
import { newPasswordFields, passwordProblem, repetitionProblem } from '../pages/forms.ts';
import { endOtherLogins } from '../sessions.ts';
import { loginOf } from './person.ts';
import { type Content, FormProblem, opening, type Section, stillThere, type Visit } from './section.ts';

export const PASSWORD: Section = {
  path: 'password',
  title: 'common.password',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { change },
  said: {
    changed: 'account.passwordChanged',
    ended: 'account.passwordChangedEverywhere',
  },
  problems: {
    'PASSWORD-CURRENT': { message: 'account.currentPasswordWrong', fields: ['currentPassword'] },
  },
};

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { deps, person } = visit;
  const { user } = person;
  const rules = await passwordRulesOf(deps.pool, user.orgId);
  const body = html`<p>${say(user.hasPassword ? 'account.chooseNewPassword' : 'account.havePassword')}</p>
${opening(visit, PASSWORD.path, { step: 'change' })}
<input type="text" name="username" autocomplete="username" value="${user.userName}" readonly hidden>
${user.hasPassword ? field({ problem, name: 'currentPassword', label: say('account.currentPassword'), type: 'password', autocomplete: 'current-password' }) : undefined}
${newPasswordFields(rules, problem)}
<p class="check"><input type="checkbox" id="others" name="others" value="yes"><label for="others">${say('account.signOutElsewhere')}</label></p>
<button type="submit">${say('account.setPassword')}</button>
</form>`;
  return { body };
}

async function change(visit: Visit): Promise<string> {
  const { deps, req, person } = visit;
  const { user } = person;
  const password = text(req.body, 'password');
  const repetition = repetitionProblem(password, text(req.body, 'repeated'));
  if (repetition) throw new FormProblem({ ...repetition, fields: ['password', 'repeated'] });
  await requireGood(visit, password);
  const before = await proven(visit);
  const hash = await deps.hasher.hash(password);
  const endsOthers = text(req.body, 'others') === 'yes';
  await transaction(deps.pool, async (db) => {
    const now = stillThere(await findUser(db, user.id, 'for update'));
    if ((await passwordSetAt(db, user.id)) !== before) throw wrongPassword();
    await storePassword(
      db,
      now,
      { hash, changeRequired: false },
      { type: 'user.human.password.changed', editor: user.id },
    );
    if (endsOthers) await endOtherLogins(db, user.id, loginOf(person));
  });
  return endsOthers ? 'ended' : 'changed';
}

/** Which password it was that the person proved; those who have none prove nothing more than their sign-in. */
async function proven({ deps, req, res, person }: Visit): Promise<string | null> {
  const { id, hasPassword } = person.user;
  const before = await passwordSetAt(deps.pool, id);
  const current = text(req.body, 'currentPassword');
  if (hasPassword && !(await verifyOwnPassword(deps, id, current, originOfForm(req, res)))) throw wrongPassword();
  return before;
}

async function passwordSetAt(db: Db, userId: string): Promise<string | null> {
  return (await findLogin(db, { userId }))?.passwordSetAt ?? null;
}

async function requireGood({ deps, person }: Visit, password: string): Promise<void> {
  try {
    await requireGoodPassword(deps.pool, person.user, password, 'password');
  } catch (error) {
    if (!(error instanceof RefusedPassword)) throw error;
    throw new FormProblem({ ...passwordProblem(error.broken), fields: ['password'] });
  }
}
