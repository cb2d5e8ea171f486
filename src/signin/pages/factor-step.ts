/**
 * The steps of a login for the second factor: its code, the choice of another kind, and the set-up of an app.
 *
 * Guarantee: which kinds a user has is shown only after the right first factor. What was the first factor is not offered
 * as the second one.
 */
import { holderOf } from '../../messages/mail/sign-in-codes.ts';
import { type Problem, text } from '../../platform/html/forms.ts';
import type { FactorGiven, FactorKind } from '../factors/second-factor.ts';
import { checkAfterPassword, checkWithNewFactor } from '../login/check.ts';
import { originOfForm } from '../login/origin.ts';
import { requireStillProvided } from '../providers/sign-in.ts';
import { AGAIN, isRefusal, type LoginRequest, proofOf, refuse, startAgain } from './interaction.ts';
import { askForLostCode, needsLostCode } from './lost-code.ts';
import { setUpFactor } from './own-credentials.ts';
import { askForFactor, proceed, showSetUp } from './proceed.ts';

/** Shows the form of the kind that the user chose. */
export async function askForOther(loginRequest: LoginRequest): Promise<void> {
  const { body } = loginRequest.req;
  const proof = proofOf(loginRequest, text(body, 'proof'), ['code']);
  if (!proof) return startAgain(loginRequest);
  await askForFactor(loginRequest, proof, text(body, 'factor'));
}

const WRONG: Partial<Record<FactorKind, string>> = {
  webAuthN: 'Your security key was not accepted, or that took too long. Please try again.',
  recoveryCode: 'The recovery code is wrong or has already been used. Please enter another one.',
};
const WRONG_CODE = 'The code is wrong or has already been used. Please enter the next one.';

/** The code of the second factor. */
export async function checkCode(loginRequest: LoginRequest): Promise<void> {
  const { deps, req, res, interaction } = loginRequest;
  const proof = proofOf(loginRequest, text(req.body, 'proof'), ['code']);
  if (!proof) return startAgain(loginRequest);
  const kind = kindIn(req.body);
  try {
    await requireStillProvided(deps, proof);
    const factor = { [kind]: text(req.body, kind === 'webAuthN' ? 'answer' : 'code') } as FactorGiven;
    const second = { factor, holder: holderOf('login', interaction.frame.uid) };
    await proceed(loginRequest, await checkAfterPassword(deps, proof, originOfForm(req, res), second), proof);
  } catch (error) {
    if (isRefusal(error, 'SESSION-TOTP-REQUIRED')) {
      return askForFactor(loginRequest, proof, kind, 'Please enter the code.');
    }
    if (isRefusal(error, 'SESSION-TOTP')) {
      return askForFactor(loginRequest, proof, kind, WRONG[kind] ?? WRONG_CODE);
    }
    refuse(loginRequest, error, proof.loginName);
  }
}

/** Forms of the version before name no kind. */
function kindIn(body: unknown): FactorKind {
  return KINDS.find((kind) => kind === text(body, 'factor')) ?? 'totp';
}

const KINDS: readonly FactorKind[] = ['totp', 'recoveryCode', 'otpEmail', 'otpSms', 'webAuthN'];

const NOT_THIS_CODE: Problem = {
  message:
    'The code is wrong. Please enter the one that the app shows now, and check that the clock of your phone is right.',
  fields: ['code'],
};

/** The first code of the app that the organization requires. */
export async function checkSetUp(loginRequest: LoginRequest): Promise<void> {
  const { deps, req, res } = loginRequest;
  const proof = proofOf(loginRequest, text(req.body, 'proof'), ['setup']);
  if (proof?.secret === undefined) return startAgain(loginRequest);
  if (await needsLostCode(loginRequest, proof)) return askForLostCode(loginRequest, proof);
  const { secret, ...rest } = proof;
  const code = text(req.body, 'code');
  try {
    await requireStillProvided(deps, proof);
    const enrol = () => setUpFactor(deps, proof, secret, code);
    await proceed(loginRequest, await checkWithNewFactor(deps, proof, originOfForm(req, res), enrol), proof);
  } catch (error) {
    if (isRefusal(error, 'TOTP-CODE')) return showSetUp(loginRequest, proof, NOT_THIS_CODE);
    // Another tab was faster.
    if (isRefusal(error, 'TOTP-ACTIVE')) return askForFactor(loginRequest, rest);
    refuse(loginRequest, error, proof.loginName, AGAIN);
  }
}
