/**
 * The recovery codes of a person: how many are left, and ten new ones, which are shown once and replace those before.
 *
 * Guarantee: codes are shown only in the answer to the form that made them.
 */
import { factorsOf, hasSecondFactor } from '../../directory/users/second-factors.ts';
import { findUser } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { timeOf } from '../../platform/messages/times.ts';
import { html } from '../../platform/text/html.ts';
import { makeRecoveryCodes } from '../factors/recovery.ts';
import { AUTHENTICATORS } from './authenticators.ts';
import { accountUrl } from './person.ts';
import { buttonForm, type Content, type Section, showSection, stillThere, type Visit } from './section.ts';

export const RECOVERY_CODES: Section = {
  path: 'recovery-codes',
  title: 'factor.recoveryCodes',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { make },
  problems: {
    'RECOVERY-CODES-NO-FACTOR': { message: 'factor.recoveryWithoutFactor', fields: [] },
  },
};

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const { recoveryLeft: left, recoveryMadeAt } = await factorsOf(deps.pool, person.user.id);
  const hasFactor = await hasSecondFactor(deps.pool, person.user.id);
  const has = recoveryMadeAt
    ? sayHtml('factor.recoveryLeftMade', { left, made: timeOf(recoveryMadeAt) })
    : sayHtml('factor.recoveryLeft', { left });
  const body = html`<p>${say('factor.recoveryWhat')}</p>
<p>${left === 0 ? say('factor.noRecovery') : has}</p>
${
  hasFactor
    ? html`${left === 0 ? undefined : html`<p id="replaced">${say('factor.recoveryReplaced')}</p>`}
${buttonForm(visit, RECOVERY_CODES.path, { step: 'make' }, { label: say(left === 0 ? 'factor.makeRecovery' : 'factor.makeNewRecovery'), look: 'main' })}`
    : html`<p>${sayHtml('factor.recoveryNeedsFactor', { link: (inside) => html`<a href="${accountUrl(deps.config, AUTHENTICATORS.path)}">${inside}</a>` })}</p>`
}`;
  return { body };
}

async function make(visit: Visit): Promise<undefined> {
  const { deps, person } = visit;
  const { codes } = await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    return makeRecoveryCodes({ db, secrets: deps.secrets }, user, user.id);
  });
  await showSection(visit, { ...RECOVERY_CODES, title: 'factor.newRecoveryCodes', show: () => made(visit, codes) });
}

async function made({ deps }: Visit, codes: readonly string[]): Promise<Content> {
  const body = html`<p>${say('factor.recoveryMade')}</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>
<p class="links"><a href="${accountUrl(deps.config, RECOVERY_CODES.path)}">${say('factor.recoveryKept')}</a></p>`;
  return { body };
}
