/**
 * The recovery codes of a person: how many are left, and ten new ones, which are shown once and replace those before.
 *
 * Guarantee: codes are shown only in the answer to the form that made them.
 */
import { factorsOf, hasSecondFactor } from '../../directory/users/second-factors.ts';
import { findUser } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { html } from '../../platform/html/html.ts';
import { makeRecoveryCodes } from '../factors/recovery.ts';
import { AUTHENTICATORS } from './authenticators.ts';
import { accountUrl } from './person.ts';
import { buttonForm, type Content, type Section, showSection, stillThere, timeOf, type Visit } from './section.ts';

export const RECOVERY_CODES: Section = {
  path: 'recovery-codes',
  title: 'Recovery codes',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { make },
  problems: {
    'RECOVERY-CODES-NO-FACTOR': {
      message: 'Recovery codes stand in for a second factor, and you have none. Add one first.',
      fields: [],
    },
  },
};

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const { recoveryLeft: left, recoveryMadeAt } = await factorsOf(deps.pool, person.user.id);
  const hasFactor = await hasSecondFactor(deps.pool, person.user.id);
  const made = left > 0 && recoveryMadeAt ? html` They were made ${timeOf(recoveryMadeAt)}.` : undefined;
  const body = html`<p>With a recovery code you sign in when you do not have your second factor at hand. Each code works once.</p>
<p>${left === 0 ? 'You have no recovery codes.' : html`You have <strong>${left === 1 ? '1 code' : `${left} codes`}</strong> left.`}${made}</p>
${
  hasFactor
    ? html`${left === 0 ? undefined : html`<p id="replaced">New codes replace those that you have: these do not work any more.</p>`}
${buttonForm(visit, RECOVERY_CODES.path, { step: 'make' }, { label: left === 0 ? 'Make recovery codes' : 'Make new recovery codes', look: 'main' })}`
    : html`<p>You need a second factor first, such as an <a href="${accountUrl(deps.config, AUTHENTICATORS.path)}">authenticator app</a>.</p>`
}`;
  return { body };
}

async function make(visit: Visit): Promise<undefined> {
  const { deps, person } = visit;
  const { codes } = await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    return makeRecoveryCodes({ db, secrets: deps.secrets }, user, user.id);
  });
  await showSection(visit, { ...RECOVERY_CODES, title: 'Your new recovery codes', show: () => made(visit, codes) });
}

async function made({ deps }: Visit, codes: readonly string[]): Promise<Content> {
  const body = html`<p>Print these codes, or keep them where you keep your passwords: they are shown only now. Codes that you had before do not work any more.</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>
<p class="links"><a href="${accountUrl(deps.config, RECOVERY_CODES.path)}">I have kept them</a></p>`;
  return { body };
}
