/** A login in progress, as its pages need it. */
import type { Request, Response } from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { LoginDeps } from '../../identity/login/check.ts';
import { findLogin } from '../../identity/login/store.ts';
import { namedOrganization } from '../../identity/oauth/named-organization.ts';
import type { LiveProvider } from '../../identity/oauth/provider.ts';
import { signInNamesOf } from '../../orgs/sign-in-names.ts';
import { formTarget, type Page, sendPage } from '../../pages/layout.ts';
import type { LoginFrame, ProofStep } from '../../pages/login-forms.ts';
import { nameLabel } from '../../pages/name-label.ts';
import { nameCaller } from '../../request-context.ts';
import { formToken, type LoginProof, openProof, sealProof } from './login-proof.ts';

export interface LoginPageDeps extends LoginDeps {
  oauth: LiveProvider;
}

export interface Visit {
  frame: LoginFrame;
  /** The probable user: the application's `login_hint`, else the user who is already logged in, unless they may choose. */
  loginName: string;
  /** Login name of the user who is signed in, and only has to choose to continue. */
  signedInAs?: string | undefined;
  /** Where the forms may finally lead: to the application. */
  formTargets: string[];
}

/** One request of a login. */
export interface Turn {
  deps: LoginPageDeps;
  visit: Visit;
  req: Request;
  res: Response;
}

/** The login of this address in this browser; undefined when it has ended or belongs to another browser. */
export async function findVisit(deps: LoginPageDeps, req: Request, res: Response): Promise<Visit | undefined> {
  const provider = deps.oauth.current();
  const interaction = await interactionOf(provider, req, res);
  if (!interaction || interaction.uid !== req.params.uid) return undefined;
  const { uid, params, session, prompt } = interaction;
  const client = await provider.Client.find(String(params.client_id));
  if (!client) return undefined;
  nameCaller({ clientId: client.clientId });
  const token = formToken(deps.secrets, uid);
  const orgId = namedOrganization(params);
  const { redirectUris = [], postLogoutRedirectUris = [] } = client;
  const targets = [String(params.redirect_uri ?? ''), ...redirectUris, ...postLogoutRedirectUris];
  return {
    frame: {
      uid,
      token,
      clientName: client.clientName ?? client.clientId,
      orgId,
      nameLabel: nameLabel(await signInNamesOf(deps.pool, orgId)),
    },
    loginName: await probableName(
      deps,
      params.login_hint,
      prompt.name === 'select_account' ? undefined : session?.accountId,
    ),
    signedInAs: prompt.name === 'consent' ? await loginNameOf(deps, session?.accountId) : undefined,
    formTargets: [...new Set(targets.filter((uri) => URL.canParse(uri)).map(formTarget))].slice(0, MOST_TARGETS),
  };
}

/** Keeps the header short. */
const MOST_TARGETS = 20;

export function show({ res, visit }: Turn, status: number, page: Page): void {
  sendPage(res, status, page, visit);
}

/** A proof for the next step. */
export function prove({ deps, visit }: Turn, proof: LoginProof): { proof: string; loginName: string } {
  return { proof: sealProof(deps.secrets, visit.frame.uid, proof), loginName: proof.loginName };
}

/** The proof in the form, if it is valid for one of these steps. */
export function proofOf({ deps, visit }: Turn, sealed: string, steps: readonly ProofStep[]): LoginProof | undefined {
  return openProof(deps.secrets, visit.frame.uid, sealed, steps);
}

async function interactionOf(provider: Provider, req: Request, res: Response) {
  try {
    return await provider.interactionDetails(req, res);
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}

async function probableName(deps: LoginPageDeps, hint: unknown, accountId: string | undefined): Promise<string> {
  if (typeof hint === 'string' && hint !== '') return hint.slice(0, 500);
  return (await loginNameOf(deps, accountId)) ?? '';
}

async function loginNameOf(deps: LoginPageDeps, accountId: string | undefined): Promise<string | undefined> {
  return accountId === undefined ? undefined : (await findLogin(deps.pool, { userId: accountId }))?.loginName;
}
