/**
 * Where a check of a login leads: to the second factor, to the form for a new password, or to the application; and the
 * end of every login.
 *
 * Guarantee: an account at a provider is linked only when its person has signed in completely, with the second factor.
 */
import { recordSignIn } from '../../directory/sign-in-events.ts';
import { holderOf } from '../../messages/mail/sign-in-codes.ts';
import { newTotpSecret } from '../../passwords/totp-secret.ts';
import type { Problem } from '../../platform/html/forms.ts';
import { nameCaller } from '../../platform/request-context.ts';
import { publish } from '../../platform/telemetry.ts';
import { showBrandingOf } from '../branding.ts';
import { isFactorLost } from '../factors/lost.ts';
import { offeredFactors } from '../factors/second-factor.ts';
import { isSent, sendFactorCode } from '../factors/sent-codes.ts';
import { type CheckedLogin, firstOf, MFA_SETUP_REQUIRED, type PasswordProof } from '../login/check.ts';
import { PROVIDED } from '../oauth/interactions.ts';
import { voiceOf } from '../providers/settings.ts';
import { linkConfirmed } from '../providers/sign-in.ts';
import { findIdp } from '../providers/store.ts';
import { keyOptions } from '../webauthn/security-key.ts';
import { codeForm, codesLeftPage, factorForm, keyForm, noFactorPage } from './factor-forms.ts';
import { type ChangeReason, changeForm, expiringPage, unlinkedPage } from './forms.ts';
import {
  type ConnectedAccount,
  isRefusal,
  type LoginProof,
  type LoginRequest,
  prove,
  refuse,
  show,
  speakTo,
} from './interaction.ts';
import { askForLostCode, needsLostCode } from './lost-code.ts';
import { factorKey, ownPasswordRules } from './own-credentials.ts';
import { passkeyScript } from './passkey-offer.ts';

/**
 * The first factor, and where it leads.
 * @param on.wrongCode shows the page again for a wrong code by mail or text message @param on.wrong what the page says otherwise
 */
export async function checkFirst(
  loginRequest: LoginRequest,
  loginName: string,
  check: (proven: (by: PasswordProof) => void) => Promise<CheckedLogin>,
  { wrongCode, wrong }: { wrongCode?: () => void; wrong?: Problem } = {},
): Promise<void> {
  const seen: { user?: PasswordProof } = {};
  try {
    const login = await check((right) => {
      seen.user = right;
    });
    await proceed(loginRequest, login, seen.user as PasswordProof);
  } catch (error) {
    if (seen.user) await speakTo(loginRequest.deps, seen.user.id);
    if (wrongCode && isRefusal(error, 'SESSION-OTP-EMAIL')) return wrongCode();
    if (!seen.user) return refuse(loginRequest, error, loginName, wrong);
    const proof = { ...pick(seen.user), amr: [], loginName };
    await showBrandingOf(loginRequest.deps, { orgId: loginRequest.interaction.frame.orgId, userId: proof.id });
    if (isRefusal(error, 'SESSION-TOTP-REQUIRED')) return askForFactor(loginRequest, proof);
    if (isRefusal(error, MFA_SETUP_REQUIRED)) return showSetUp(loginRequest, { ...proof, step: 'setup' });
    refuse(loginRequest, error, loginName, wrong);
  }
}

/**
 * Shows the form for a second factor, and sends the code of one that is sent.
 * @param asked the kind that the user chose; absent, or not theirs: their first one
 * @param message what was wrong with what they entered
 */
export async function askForFactor(
  loginRequest: LoginRequest,
  proof: Omit<LoginProof, 'step'>,
  asked?: string,
  message?: string,
): Promise<void> {
  const { frame } = loginRequest.interaction;
  const offered = await offeredFactors(loginRequest.deps, proof.id, firstOf(proof));
  const key = offered.includes('webAuthN')
    ? await keyOptions(loginRequest.deps, proof.id, holderOf('login', frame.uid))
    : undefined;
  const kinds = offered.filter((one) => one !== 'webAuthN' || key !== undefined);
  const kind = kinds.find((one) => one === asked) ?? kinds[0];
  if (kind === undefined) return show(loginRequest, 400, noFactorPage(frame));
  if (message === undefined && isSent(kind)) {
    await sendFactorCode(loginRequest.deps, { userId: proof.id, kind, holder: holderOf('login', frame.uid) });
  }
  const proven = prove(loginRequest, { ...proof, step: 'code' });
  const choice = { kind, others: kinds.filter((one) => one !== kind || isSent(one)) };
  const problem = message ? { message } : undefined;
  const page =
    kind === 'webAuthN' && key !== undefined
      ? keyForm(
          frame,
          proven,
          { ...choice, options: key, script: passkeyScript(loginRequest.deps.config.baseUrl) },
          problem,
        )
      : codeForm(frame, proven, choice, problem);
  show(loginRequest, message ? 400 : 200, page);
}

/** The form to set up a second factor, with its secret: a new one, or that of the proof. */
export async function showSetUp(loginRequest: LoginRequest, proof: LoginProof, problem?: Problem): Promise<void> {
  if (await needsLostCode(loginRequest, proof)) return askForLostCode(loginRequest, proof);
  const { secret = newTotpSecret() } = proof;
  const key = await factorKey(loginRequest.deps, proof, secret);
  const proven = prove(loginRequest, { ...proof, secret });
  show(loginRequest, problem ? 400 : 200, factorForm(loginRequest.interaction.frame, proven, key, problem));
}

/** After all checks: leads to the form for a new password, to a warning, or to the application. */
export async function proceed(loginRequest: LoginRequest, login: CheckedLogin, shown: PasswordProof): Promise<void> {
  const { mustChange, expiresInDays, loginName, amr } = login;
  const { frame } = loginRequest.interaction;
  const left = login.factor?.left;
  if (!mustChange && left === undefined && expiresInDays === undefined) return finish(loginRequest, login);
  await speakTo(loginRequest.deps, shown.id);
  await showBrandingOf(loginRequest.deps, { orgId: frame.orgId, userId: shown.id });
  if (!mustChange && left !== undefined) {
    const proven = prove(loginRequest, { ...pick(shown), step: 'codes-left', amr, loginName });
    return show(loginRequest, 200, codesLeftPage(frame, proven, left));
  }
  const step = mustChange ?? 'expiring';
  const proof = { ...pick(shown), step, amr, loginName } as const;
  if (mustChange) return showChange(loginRequest, proof);
  show(loginRequest, 200, expiringPage(frame, prove(loginRequest, proof), expiresInDays ?? 0));
}

/** The form for a new password, with the rules for it. */
export async function showChange(loginRequest: LoginRequest, proof: LoginProof, problem?: Problem): Promise<void> {
  if (await needsLostCode(loginRequest, proof)) return askForLostCode(loginRequest, proof);
  const about = { reason: proof.step as ChangeReason, rules: await ownPasswordRules(loginRequest.deps, proof.id) };
  show(
    loginRequest,
    problem ? 400 : 200,
    changeForm(loginRequest.interaction.frame, prove(loginRequest, proof), about, problem),
  );
}

/** Ends the login: records it, and leads back to the application. */
export async function finish(
  loginRequest: LoginRequest,
  login: Pick<CheckedLogin, 'id' | 'amr' | 'loginName' | 'passwordSetAt' | 'provided'>,
): Promise<void> {
  const { deps, req, res, interaction } = loginRequest;
  const { connect } = interaction;
  if (connect && !(await isLinked(deps, connect, login.id))) return showUnlinked(loginRequest, login);
  const { id: accountId, amr, provided } = login;
  nameCaller({ userId: accountId });
  await recordSignIn(deps.pool, { id: accountId }, amr, provided?.idpId);
  if (provided) publish('provider', { idpId: provided.idpId, outcome: 'succeeded' });
  // Signing in also is the choice that `prompt=select_account` asks for.
  const result = { login: { accountId, amr, ...(provided ? ofProvider(provided) : {}) }, select_account: {} };
  await deps.oauth.current().interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}

/** A sign-in at a provider counts as at most this old: the session here would soon end with an older one. */
const OLDEST_S = 24 * 60 * 60;

/** What is kept of a sign-in by a provider; its time is that of the sign-in there, unless a code was entered here. */
function ofProvider({ authTime, hasCode }: NonNullable<CheckedLogin['provided']>): { ts?: number; acr?: string } {
  if (hasCode) return {};
  const now = Math.floor(Date.now() / 1000);
  const ts = authTime === undefined ? now : Math.min(now, Math.max(authTime, now - OLDEST_S));
  return { ts, acr: PROVIDED };
}

async function isLinked(deps: LoginRequest['deps'], account: ConnectedAccount, userId: string): Promise<boolean> {
  const idp = await findIdp(deps.pool, account.idpId);
  return (
    idp !== undefined &&
    // Another way in would keep the account for whoever has only the password.
    !(await isFactorLost(deps.pool, userId)) &&
    account.voice === voiceOf(idp) &&
    linkConfirmed(deps, userId, { idp, identity: account.identity })
  );
}

/** Says that the account is not linked; the sign-in itself is complete, and stays that of a provider if it is one. */
async function showUnlinked(
  loginRequest: LoginRequest,
  {
    id,
    passwordSetAt,
    loginName,
    amr,
    provided,
  }: Pick<LoginProof, 'id' | 'passwordSetAt' | 'loginName' | 'amr' | 'provided'>,
): Promise<void> {
  await speakTo(loginRequest.deps, id);
  const { frame } = loginRequest.interaction;
  const by = provided ? { byProvider: provided, provided } : {};
  const proven = prove(loginRequest, { id, passwordSetAt, amr, loginName, ...by, step: 'unlinked' });
  show(loginRequest, 200, unlinkedPage({ ...frame, connect: undefined }, proven, frame.connect?.name ?? ''));
}

/** The proof without what belongs to one step. */
export function pick({ id, passwordSetAt, byMail, byText, byLink, byProvider }: PasswordProof): PasswordProof {
  const by = {
    ...(byMail ? { byMail } : {}),
    ...(byText ? { byText } : {}),
    ...(byLink ? { byLink } : {}),
    ...(byProvider ? { byProvider } : {}),
  };
  return { id, passwordSetAt, ...by };
}
