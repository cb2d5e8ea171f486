/**
 * Codes by mail and by text message as a second factor of a person: switched on for a confirmed address or number, and
 * off.
 *
 * Guarantee: nobody who signs in by such codes alone makes the same codes their only second factor: what proves a person
 * first proves them no second time, and they could not sign in any more.
 */
import { factorsOf } from '../../directory/users/second-factors.ts';
import { findUser } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { text } from '../../platform/html/forms.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { canGet, switchSentFactor } from '../credentials/sent-factors.ts';
import { isSent, type SentKind } from '../factors/sent-codes.ts';
import { EMAIL } from './email.ts';
import { accountUrl } from './person.ts';
import { PHONE } from './phone.ts';
import { buttonForm, type Content, FormProblem, type Section, stillThere, type Visit } from './section.ts';

export const SENT_CODES: Section = {
  path: 'sent-codes',
  title: 'factor.sentCodes',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { on, off },
  said: {
    on: 'factor.sentSwitchedOn',
    off: 'factor.sentSwitchedOff',
  },
  problems: {
    'OTP-UNAVAILABLE': { message: 'factor.sentUnavailable', fields: [] },
    'LAST-WAY-IN': { message: 'factor.sentIsLastWay', fields: [] },
    'OTP-EXISTS': { message: 'factor.sentOnAlready', fields: [] },
    'OTP-NOT-FOUND': { message: 'factor.sentOffAlready', fields: [] },
  },
};

const KINDS = ['otpEmail', 'otpSms'] as const satisfies readonly SentKind[];
const NAMES = { otpEmail: 'factor.codesByEmail', otpSms: 'factor.codesByText' } as const;
const NEEDED = {
  otpEmail: { section: EMAIL, sentence: 'factor.needsEmail' },
  otpSms: { section: PHONE, sentence: 'factor.needsPhone' },
} as const;

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const has = await factorsOf(deps.pool, person.user.id);
  const body = html`<p>${say('factor.sentCodesWhat')}</p>
<ul class="rows">${KINDS.map((kind) => rowOf(visit, kind, has[kind]))}</ul>`;
  return { body };
}

function rowOf(visit: Visit, kind: SentKind, isOn: boolean): Html {
  const { user } = visit.person;
  const to = kind === 'otpEmail' ? user.email : user.phone;
  const button = (step: string, label: string) =>
    buttonForm(visit, SENT_CODES.path, { step, kind }, { label, about: say(NAMES[kind]) });
  const isPossible = canGet(user, visit.deps.config)[kind];
  const state =
    to && (isOn || isPossible)
      ? say(isOn ? 'factor.sentOnTo' : 'factor.sentOffTo', { address: to })
      : say(isOn ? 'factor.sentOn' : 'factor.sentOff');
  return html`<li>
<p><strong>${say(NAMES[kind])}</strong><br><span class="small">${state}</span></p>
${isPossible ? undefined : missing(visit, kind)}
${isOn ? button('off', say('factor.switchOff')) : isPossible ? button('on', say('factor.switchOn')) : undefined}
</li>
`;
}

/** Why codes of this kind cannot be sent. */
function missing({ deps }: Visit, kind: SentKind): Html {
  if (kind === 'otpSms' && deps.config.SMS_URL === undefined) {
    return html`<p class="small">${say('factor.noTexts')}</p>`;
  }
  const { section, sentence } = NEEDED[kind];
  const link = (inside: Html) => html`<a href="${accountUrl(deps.config, section.path)}">${inside}</a>`;
  return html`<p class="small">${sayHtml(sentence, { link })}</p>`;
}

function kindOf({ req }: Visit): SentKind {
  const kind = text(req.body, 'kind');
  if (isSent(kind)) return kind;
  throw new FormProblem({ message: say('factor.chooseCodes'), fields: [] });
}

async function on(visit: Visit): Promise<string> {
  await change(visit, true);
  return 'on';
}

async function off(visit: Visit): Promise<string> {
  await change(visit, false);
  return 'off';
}

async function change(visit: Visit, isOn: boolean): Promise<void> {
  const { deps, person } = visit;
  const kind = kindOf(visit);
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await switchSentFactor({ ...deps, db }, user, { kind, isOn, editor: user.id });
  });
}
