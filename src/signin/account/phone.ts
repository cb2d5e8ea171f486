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
import { html } from '../../platform/html/html.ts';
import { changePhone, removePhone, resendPhoneCode } from '../credentials/contacts.ts';
import { verifyPhone } from '../credentials/verification.ts';
import { originOfForm } from '../login/origin.ts';
import { buttonForm, type Content, FormProblem, opening, type Section, stillThere, type Visit } from './section.ts';

export const PHONE: Section = {
  path: 'phone',
  title: 'Phone number',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { change, resend, confirm, remove },
  said: {
    sent: 'We have sent a code to the number. Enter it below.',
    resent: 'We have sent a new code.',
    confirmed: 'Your phone number is confirmed.',
    removed: 'Your phone number is removed.',
  },
  problems: {
    'CODE-INVALID': { message: 'The code is wrong, already used or expired.', fields: ['code'] },
    'PHONE-VERIFIED': { message: 'The number is confirmed already.', fields: [] },
    'PHONE-NOT-FOUND': { message: 'You have no phone number.', fields: [] },
    'LAST-WAY-IN': { message: 'You sign in with this number only. Choose a password first.', fields: [] },
  },
};

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { deps, req, person } = visit;
  const { user } = person;
  const pending = await pendingAddress(deps.pool, user.id, 'verify_phone');
  const waits = pending ?? (user.phoneVerified ? undefined : (user.phone ?? undefined));
  const body = html`<p>Your phone number is <strong>${user.phone ?? 'not known'}</strong>.</p>
${waits === undefined ? undefined : confirmForms(visit, waits, problem)}
${opening(visit, PHONE.path, { step: 'change' })}
${field({ problem, name: 'phone', label: 'New phone number', type: 'tel', autocomplete: 'tel', value: text(req.body, 'phone'), hint: 'With the code of the country, such as +41 79 123 45 67.' })}
<button type="submit">Change number</button>
</form>
${user.phone === null ? undefined : html`<div class="aside">${buttonForm(visit, PHONE.path, { step: 'remove' }, { label: 'Remove the number' })}</div>`}`;
  return { body };
}

function confirmForms(visit: Visit, number: string, problem: Problem | undefined) {
  return html`<p><strong>${number}</strong> is not confirmed yet. Enter the code from our text message.</p>
${opening(visit, PHONE.path, { step: 'confirm' })}
${field({ problem, name: 'code', label: 'Code', isCode: true })}
<button type="submit">Confirm</button>
</form>
${buttonForm(visit, PHONE.path, { step: 'resend' }, { label: 'Send a new code' })}
<hr>`;
}

async function change({ deps, req, person }: Visit): Promise<string> {
  const read = phoneInput.safeParse({ phone: text(req.body, 'phone').trim() });
  if (!read.success || read.data.phone === '') {
    const message = 'Enter a phone number with the code of its country, such as +41 79 123 45 67.';
    throw new FormProblem({ message, fields: ['phone'] });
  }
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    if (user.phone === read.data.phone && user.phoneVerified) {
      throw new FormProblem({ message: 'This is your number already.', fields: ['phone'] });
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
