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
import { type Html, html } from '../../platform/html/html.ts';
import { canGet, switchSentFactor } from '../credentials/sent-factors.ts';
import { isSent, type SentKind } from '../factors/sent-codes.ts';
import { EMAIL } from './email.ts';
import { accountUrl } from './person.ts';
import { PHONE } from './phone.ts';
import { buttonForm, type Content, FormProblem, type Section, stillThere, type Visit } from './section.ts';

export const SENT_CODES: Section = {
  path: 'sent-codes',
  title: 'Codes by email and text message',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { on, off },
  said: {
    on: 'The codes are switched on. You are asked for one when you sign in.',
    off: 'The codes are switched off.',
  },
  problems: {
    'OTP-UNAVAILABLE': { message: 'Codes need a confirmed email address or phone number of yours.', fields: [] },
    'LAST-WAY-IN': {
      message: 'You sign in with such codes only. Choose a password first, or add another second factor.',
      fields: [],
    },
    'OTP-EXISTS': { message: 'These codes are switched on already.', fields: [] },
    'OTP-NOT-FOUND': { message: 'These codes are switched off already.', fields: [] },
  },
};

const KINDS = ['otpEmail', 'otpSms'] as const satisfies readonly SentKind[];
const NAMES = { otpEmail: 'Codes by email', otpSms: 'Codes by text message' } as const;
const NEEDED = {
  otpEmail: { section: EMAIL, what: 'email address' },
  otpSms: { section: PHONE, what: 'phone number' },
} as const;

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const has = await factorsOf(deps.pool, person.user.id);
  const body = html`<p>After your password we send you a code, which you enter. An authenticator app or a passkey is safer.</p>
<ul class="rows">${KINDS.map((kind) => rowOf(visit, kind, has[kind]))}</ul>`;
  return { body };
}

function rowOf(visit: Visit, kind: SentKind, isOn: boolean): Html {
  const { user } = visit.person;
  const to = kind === 'otpEmail' ? user.email : user.phone;
  const button = (step: string, label: string) =>
    buttonForm(visit, SENT_CODES.path, { step, kind }, { label, about: NAMES[kind] });
  const isPossible = canGet(user, visit.deps.config)[kind];
  const state = `${isOn ? 'On' : 'Off'}${to && (isOn || isPossible) ? `, to ${to}` : ''}`;
  return html`<li>
<p><strong>${NAMES[kind]}</strong><br><span class="small">${state}</span></p>
${isPossible ? undefined : missing(visit, kind)}
${isOn ? button('off', 'Switch off') : isPossible ? button('on', 'Switch on') : undefined}
</li>
`;
}

/** Why codes of this kind cannot be sent. */
function missing({ deps }: Visit, kind: SentKind): Html {
  if (kind === 'otpSms' && deps.config.SMS_URL === undefined) {
    return html`<p class="small">This service sends no text messages.</p>`;
  }
  const { section, what } = NEEDED[kind];
  return html`<p class="small">They need a confirmed <a href="${accountUrl(deps.config, section.path)}">${what}</a>.</p>`;
}

function kindOf({ req }: Visit): SentKind {
  const kind = text(req.body, 'kind');
  if (isSent(kind)) return kind;
  throw new FormProblem({ message: 'Choose the codes from the list.', fields: [] });
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
