/**
 * The email address of a person. A new address replaces a confirmed one only when the link that is mailed to it is
 * opened; the old address is told.
 */
import { emailInput } from '../../contract/credentials.ts';
import { findUser } from '../../directory/users/store.ts';
import { pendingAddress } from '../../messages/mail/codes.ts';
import { transaction } from '../../platform/db/pool.ts';
import { field, type Problem, text } from '../../platform/html/forms.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { html } from '../../platform/text/html.ts';
import { changeEmail, resendEmailCode } from '../credentials/contacts.ts';
import { buttonForm, type Content, FormProblem, opening, type Section, stillThere, type Visit } from './section.ts';

export const EMAIL: Section = {
  path: 'email',
  title: 'account.emailAddress',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { change, resend },
  said: {
    sent: 'account.emailSent',
    resent: 'account.emailResent',
  },
  problems: {
    'EMAIL-VERIFIED': { message: 'account.emailConfirmedAlready', fields: [] },
    'EMAIL-NONE': { message: 'account.emailMissing', fields: ['email'] },
  },
};

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { deps, req, person } = visit;
  const { user } = person;
  const pending = await pendingAddress(deps.pool, user.id, 'verify_email');
  const waits = pending ?? (user.emailVerified ? undefined : (user.email ?? undefined));
  const current =
    user.email === null ? sayHtml('account.emailIsNone') : sayHtml('account.emailIs', { email: user.email });
  const body = html`<p>${current}</p>
${
  waits === undefined
    ? undefined
    : html`<p>${sayHtml('account.emailWaits', { email: waits })}</p>
${buttonForm(visit, EMAIL.path, { step: 'resend' }, { label: say('account.sendEmailAgain') })}
<hr>`
}
${opening(visit, EMAIL.path, { step: 'change' })}
${field({ problem, name: 'email', label: say('account.newEmail'), type: 'email', autocomplete: 'email', value: text(req.body, 'email') })}
<button type="submit">${say('account.changeEmail')}</button>
</form>`;
  return { body };
}

async function change({ deps, req, person }: Visit): Promise<string> {
  const read = emailInput.safeParse({ email: text(req.body, 'email').trim() });
  if (!read.success) {
    throw new FormProblem({ message: say('account.emailInvalid'), fields: ['email'] });
  }
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    if (user.email === read.data.email && user.emailVerified) {
      throw new FormProblem({ message: say('account.emailIsYours'), fields: ['email'] });
    }
    await changeEmail({ ...deps, db }, user, read.data, user.id);
  });
  return 'sent';
}

async function resend({ deps, person }: Visit): Promise<string> {
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await resendEmailCode({ ...deps, db }, user, {}, user.id);
  });
  return 'resent';
}
