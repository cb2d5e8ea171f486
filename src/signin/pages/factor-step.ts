/**
 * The steps of a login for the second factor: its code, the choice of another kind, and the set-up of an app.
 *
 * Guarantee: which kinds a user has is shown only after the right first factor. What was the first factor is not offered
 * as the second one.
 */
import { holderOf } from '../../messages/mail/sign-in-codes.ts';
import { text } from '../../platform/html/forms.ts';
import { type MessageKey, say } from '../../platform/messages/catalogue.ts';
import type { FactorGiven, FactorKind } from '../factors/second-factor.ts';
import { checkAfterPassword, checkWithNewFactor } from '../login/check.ts';
import { originOfForm } from '../login/origin.ts';
import { requireStillProvided } from '../providers/sign-in.ts';
import { again, isRefusal, type LoginRequest, proofOf, refuse, startAgain } from './interaction.ts';
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

const WRONG: Partial<Record<FactorKind, MessageKey>> = {
  webAuthN: 'factor.keyRefused',
  recoveryCode: 'factor.wrongRecoveryCode',
};

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
      return askForFactor(loginRequest, proof, kind, say('error.enterCode'));
    }
    if (isRefusal(error, 'SESSION-TOTP')) {
      return askForFactor(loginRequest, proof, kind, say(WRONG[kind] ?? 'factor.wrongCode'));
    }
    refuse(loginRequest, error, proof.loginName);
  }
}

/** Forms of the version before name no kind. */
function kindIn(body: unknown): FactorKind {
  return KINDS.find((kind) => kind === text(body, 'factor')) ?? 'totp';
}

const KINDS: readonly FactorKind[] = ['totp', 'recoveryCode', 'otpEmail', 'otpSms', 'webAuthN'];

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
    if (isRefusal(error, 'TOTP-CODE')) {
      return showSetUp(loginRequest, proof, { message: say('factor.wrongFirstCode'), fields: ['code'] });
    }
    // Another tab was faster.
    if (isRefusal(error, 'TOTP-ACTIVE')) return askForFactor(loginRequest, rest);
    refuse(loginRequest, error, proof.loginName, again());
  }
}
