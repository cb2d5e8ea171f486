/**
 * The page on which a person whose second factor was lost in the import proves with the password and a code from the
 * mailbox that the account is theirs, before they change how they sign in (../factors/lost.ts).
 *
 * Guarantee: it counts for ten minutes, in the browser that entered the code.
 */
import type { Response } from 'express';
import { field, type Problem, text } from '../../platform/html/forms.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { html } from '../../platform/text/html.ts';
import { hasUsedLostCode, isFactorLost, mailLostCode, useLostCode } from '../factors/lost.ts';
import { verifyOwnPassword } from '../login/check.ts';
import { originOfForm } from '../login/origin.ts';
import { wrongPassword } from '../login/owner-proof.ts';
import { type AccountDeps, accountUrl, type Person } from './person.ts';
import { buttonForm, type Content, opening, type Section, type Visit } from './section.ts';

export const CONFIRMATION: Section = {
  path: 'confirm',
  title: 'account.confirmIdentity',
  needsRecent: true,
  show,
  steps: { send, confirm },
  said: { sent: 'account.confirmSent' },
  problems: {
    'PASSWORD-CURRENT': { message: 'account.passwordWrong', fields: ['currentPassword'] },
    'CODE-INVALID': { message: 'account.codeInvalid', fields: ['code'] },
    'FACTOR-LOST': { message: 'account.confirmImpossible', fields: [] },
  },
};

/** Whether the person has to confirm first that the account is theirs. */
export async function isClosed({ pool }: AccountDeps, { isDoor }: Section, person: Person): Promise<boolean> {
  const { id } = person.user;
  return isDoor === true && (await isFactorLost(pool, id)) && !(await hasUsedLostCode(pool, id, person.uid));
}

export function askToConfirm({ config }: AccountDeps, res: Response, { path }: Section): void {
  res.redirect(303, `${accountUrl(config, CONFIRMATION.path)}?to=${path}`);
}

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { req, person } = visit;
  const to = targetOf(text(req.method === 'POST' ? req.body : req.query, 'to'));
  const body = html`<p>${sayHtml('account.confirmWhy', { email: person.user.email ?? '' })}</p>
${buttonForm(visit, CONFIRMATION.path, { step: 'send', to }, { label: say('account.sendMeCode') })}
<hr>
${opening(visit, CONFIRMATION.path, { step: 'confirm', to })}
${person.user.hasPassword ? field({ problem, name: 'currentPassword', label: say('common.password'), type: 'password', autocomplete: 'current-password' }) : undefined}
${field({ problem, name: 'code', label: say('account.codeFromEmail'), isCode: true })}
<button type="submit">${say('common.continue')}</button>
</form>`;
  return { body };
}

const TARGETS: ReadonlySet<string> = new Set([
  ...['email', 'phone', 'password', 'links'],
  ...['authenticators', 'recovery-codes', 'sent-codes', 'passkeys'],
]);

function targetOf(name: string): string {
  return TARGETS.has(name) ? name : '';
}

async function send({ deps, req, res, person }: Visit): Promise<undefined> {
  await mailLostCode(deps, person.user.id);
  const to = targetOf(text(req.body, 'to'));
  res.redirect(303, `${accountUrl(deps.config, CONFIRMATION.path)}?done=sent&to=${to}`);
}

async function confirm({ deps, req, res, person }: Visit): Promise<undefined> {
  const { id, hasPassword } = person.user;
  const password = text(req.body, 'currentPassword');
  if (hasPassword && !(await verifyOwnPassword(deps, id, password, originOfForm(req, res)))) throw wrongPassword();
  await useLostCode(deps, { userId: id, entered: text(req.body, 'code'), browser: person.uid });
  res.redirect(303, accountUrl(deps.config, targetOf(text(req.body, 'to'))));
}
