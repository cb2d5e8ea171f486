/**
 * The phone number of a person. A new number replaces a confirmed one only when the code that is sent to it is entered.
 * A number that is the last way to sign in cannot be removed.
 */
import { phoneInput } from '../../contract/credentials.ts';
import { findUser } from '../../directory/users/store.ts';
import { requireWayIn } from '../../directory/ways-in.ts';
import { pendingAddress } from '../../messages/mail/codes.ts';
import { transaction } from '../../platform/db/pool.ts';
import { field, type Problem, text } from '../../platform/html/forms.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { html } from '../../platform/text/html.ts';
import { changePhone, removePhone, resendPhoneCode } from '../credentials/contacts.ts';
import { verifyPhone } from '../credentials/verification.ts';
import { originOfForm } from '../login/origin.ts';
import { buttonForm, type Content, FormProblem, opening, type Section, stillThere, type Visit } from './section.ts';

export const PHONE: Section = {
  path: 'phone',
  title: 'account.phoneNumber',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { change, resend, confirm, remove },
  said: {
    sent: 'account.phoneCodeSent',
    resent: 'account.phoneCodeResent',
    confirmed: 'account.phoneConfirmed',
    removed: 'account.phoneRemoved',
  },
  problems: {
    'CODE-INVALID': { message: 'account.codeInvalid', fields: ['code'] },
    'PHONE-VERIFIED': { message: 'account.phoneConfirmedAlready', fields: [] },
    'PHONE-NOT-FOUND': { message: 'account.phoneMissing', fields: [] },
    'LAST-WAY-IN': { message: 'account.phoneIsLastWay', fields: [] },
  },
};

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { deps, req, person } = visit;
  const { user } = person;
  const pending = await pendingAddress(deps.pool, user.id, 'verify_phone');
  const waits = pending ?? (user.phoneVerified ? undefined : (user.phone ?? undefined));
  const body = html`<p>${user.phone === null ? sayHtml('account.phoneIsUnknown') : sayHtml('account.phoneIs', { phone: user.phone })}</p>
${waits === undefined ? undefined : confirmForms(visit, waits, problem)}
${opening(visit, PHONE.path, { step: 'change' })}
${field({ problem, name: 'phone', label: say('account.newPhone'), type: 'tel', autocomplete: 'tel', value: text(req.body, 'phone'), hint: say('account.phoneHint') })}
<button type="submit">${say('account.changePhone')}</button>
</form>
${user.phone === null ? undefined : html`<div class="aside">${buttonForm(visit, PHONE.path, { step: 'remove' }, { label: say('account.removePhone') })}</div>`}`;
  return { body };
}

function confirmForms(visit: Visit, number: string, problem: Problem | undefined) {
  return html`<p>${sayHtml('account.phoneWaits', { phone: number })}</p>
${opening(visit, PHONE.path, { step: 'confirm' })}
${field({ problem, name: 'code', label: say('common.code'), isCode: true })}
<button type="submit">${say('common.confirm')}</button>
</form>
${buttonForm(visit, PHONE.path, { step: 'resend' }, { label: say('account.sendNewCode') })}
<hr>`;
}

async function change({ deps, req, person }: Visit): Promise<string> {
  const read = phoneInput.safeParse({ phone: text(req.body, 'phone').trim() });
  if (!read.success || read.data.phone === '') {
    throw new FormProblem({ message: say('account.phoneInvalid'), fields: ['phone'] });
  }
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    if (user.phone === read.data.phone && user.phoneVerified) {
      throw new FormProblem({ message: say('account.phoneIsYours'), fields: ['phone'] });
    }
    await changePhone({ ...deps, db }, user, read.data, user.id);
  });
  return 'sent';
}

async function resend({ deps, person }: Visit): Promise<string> {
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await resendPhoneCode({ ...deps, db }, user, {}, user.id);
  });
  return 'resent';
}

async function confirm({ deps, req, res, person }: Visit): Promise<string> {
  const { id } = person.user;
  await verifyPhone(deps, { userId: id, code: text(req.body, 'code'), editor: id, origin: originOfForm(req, res) });
  return 'confirmed';
}

async function remove({ deps, person }: Visit): Promise<string> {
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await removePhone({ ...deps, db }, user, {}, user.id);
    await requireWayIn(db, user, deps.config);
  });
  return 'removed';
}
