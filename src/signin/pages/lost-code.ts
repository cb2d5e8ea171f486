/**
 * The step of a sign-in in which somebody whose second factor an import lost enters a code from their mailbox, before
 * they set up another factor or choose another password (../factors/lost.ts).
 *
 * Guarantee: it needs the password too: who signed in with a code by mail or text message, or at a provider, signs in
 * with the password first.
 */

import { ApiError } from '../../platform/errors.ts';
import { alert, field, type Problem, text, titled } from '../../platform/html/forms.ts';
import { type HtmlPage, problemPage } from '../../platform/html/layout.ts';
import { type MessageKey, say, sayHtml } from '../../platform/messages/catalogue.ts';
import { html } from '../../platform/text/html.ts';
import { hasUsedLostCode, isFactorLost, mailLostCode, useLostCode } from '../factors/lost.ts';
import { findLogin } from '../login/store.ts';
import { back, type LoginFrame, type ProofStep, type Proven, step } from './forms.ts';
import { isRefusal, type LoginProof, type LoginRequest, proofOf, prove, show, startAgain } from './interaction.ts';

/** Whether the code is still missing. */
export async function needsLostCode({ deps, interaction }: LoginRequest, { id }: LoginProof): Promise<boolean> {
  return (await isFactorLost(deps.pool, id)) && !(await hasUsedLostCode(deps.pool, id, holderOf(interaction.frame)));
}

/** The sign-in, as what the code counts for. */
function holderOf({ uid }: LoginFrame): string {
  return `sign-in ${uid}`;
}

/** Mails a code, and asks for it. */
export async function askForLostCode(loginRequest: LoginRequest, proof: LoginProof, problem?: Problem): Promise<void> {
  const { deps, interaction } = loginRequest;
  const { frame } = interaction;
  if (await lacksPassword(loginRequest, proof)) return show(loginRequest, 403, passwordFirst(frame));
  try {
    if (!problem) await mailLostCode(deps, proof.id);
  } catch (error) {
    if (!isRefusal(error, 'FACTOR-LOST') && !isRefusal(error, 'RATE-LIMIT')) throw error;
    return show(loginRequest, 403, noCode(frame));
  }
  show(loginRequest, problem ? 400 : 200, lostCodeForm(frame, prove(loginRequest, proof), problem));
}

async function lacksPassword({ deps }: LoginRequest, proof: LoginProof): Promise<boolean> {
  const byOther = Boolean(proof.byMail || proof.byText || proof.byProvider);
  return byOther && (await findLogin(deps.pool, { userId: proof.id }))?.passwordHash !== null;
}

const STEPS: readonly ProofStep[] = ['setup', 'required', 'expired', 'expiring'];

const LOST_CODE_PROBLEMS: Readonly<Record<string, MessageKey>> = {
  'CODE-INVALID': 'error.wrongLostCode',
  'RATE-LIMIT': 'error.tooManyCodes',
};

/** Checks the code. @param next the form that it was needed for */
export async function checkLostCode(
  loginRequest: LoginRequest,
  next: (loginRequest: LoginRequest, proof: LoginProof) => Promise<void>,
): Promise<void> {
  const { deps, interaction, req } = loginRequest;
  const proof = proofOf(loginRequest, text(req.body, 'proof'), STEPS);
  if (!proof || (await lacksPassword(loginRequest, proof))) return startAgain(loginRequest);
  try {
    const entered = text(req.body, 'code');
    await useLostCode(deps, { userId: proof.id, entered, browser: holderOf(interaction.frame) });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const key = LOST_CODE_PROBLEMS[error.id];
    if (key === undefined) throw error;
    const message = say(key);
    return askForLostCode(loginRequest, proof, { message, fields: ['code'] });
  }
  await next(loginRequest, proof);
}

/** The form for the code. */
export function lostCodeForm(frame: LoginFrame, { proof, loginName }: Proven, problem?: Problem): HtmlPage {
  const title = say('factor.lost');
  const body = html`<h1>${title}</h1>
<p>${sayHtml('factor.lostWhy', { loginName })}</p>
${alert(problem)}
${step(frame, 'lost-code', proof)}
${field({ name: 'code', label: say('factor.lostCode'), isCode: true, problem, autofocus: true })}
<button type="submit">${say('common.continue')}</button>
</form>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

function passwordFirst(frame: LoginFrame): HtmlPage {
  return problemPage(say('factor.lostPasswordFirst'), say('factor.lostPasswordFirstWhy'), back(frame));
}

function noCode(frame: LoginFrame): HtmlPage {
  return problemPage(say('factor.lostNoCode'), say('factor.lostNoCodeWhy'), back(frame));
}
