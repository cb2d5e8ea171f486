/**
 * How the users of an organization sign in, by its login policy: on its page, and a form for those who may change it.
 *
 * Guarantee: a choice that the form does not have is refused as by the API, and changes nothing.
 */
import type { Request, Response } from 'express';
import type { Answer } from '../contract/client.ts';
import { loginPolicyBody } from '../contract/policies.ts';
import { hidden, text } from '../platform/html/forms.ts';
import { parseBody } from '../platform/http/parse.ts';
import { type Html, html } from '../platform/text/html.ts';
import type { Api } from './api.ts';
import { sessionOf } from './session.ts';
import { choices, facts } from './shell/blocks.ts';
import { LOGIN_POLICY as TEXTS } from './texts/organizations.ts';

export type LoginPolicyView = Answer<'getLoginPolicy'>['policy'];

export async function readLogin(api: Api, org: string): Promise<LoginPolicyView> {
  return (await api.call('getLoginPolicy', { org })).policy;
}

/** The page of the form, below `/console`. */
export function loginPath(orgId: string): string {
  return `/organizations/${encodeURIComponent(orgId)}/login`;
}

/** The policy in words. @param mayChange whether the person gets to the form at `href` */
export function loginCard(href: string, policy: LoginPolicyView, mayChange: boolean): Html {
  const change = mayChange ? html`<p><a class="button quiet" href="${href}">${TEXTS.change}</a></p>` : undefined;
  return html`<section class="card"><h2>${TEXTS.title}</h2>
${facts([
  [TEXTS.mailCode, TEXTS.mailCodes[policy.mailCode]],
  [TEXTS.smsCode, TEXTS.smsCodes[policy.smsCode]],
  [TEXTS.initMail, TEXTS.initMails[policy.initMail]],
  [TEXTS.forceMfa, TEXTS.forceMfas[`${policy.forceMfa}`]],
  [TEXTS.linking, TEXTS.linkings[policy.linking]],
  [TEXTS.passkeys, TEXTS.passkeyChoices[`${policy.passkeys}`]],
  [TEXTS.deleteAccount, TEXTS.deleteAccounts[`${policy.deleteAccount}`]],
])}<p class="soft small">${policy.isDefault ? TEXTS.ofService : TEXTS.own}</p>${change}</section>`;
}

/** The choices of the form: as chosen before the session ended, or as the policy is. */
export function loginFields(req: Request, res: Response, policy: LoginPolicyView): Html {
  const sent = [req.body, sessionOf(res).kept];
  const chosen = (name: Exclude<keyof LoginPolicyView, 'details' | 'isDefault'>) =>
    sent.map((one) => text(one, name)).find((value) => value !== '') ?? String(policy[name]);
  return html`${choices(TEXTS.mailCode, 'mailCode', TEXTS.mailCodes, chosen('mailCode'))}
<p class="hint">${TEXTS.mailCodeOwners}</p>
${choices(TEXTS.smsCode, 'smsCode', TEXTS.smsCodes, chosen('smsCode'))}
<p class="hint">${TEXTS.smsCodeHint}</p>
${choices(TEXTS.initMail, 'initMail', TEXTS.initMails, chosen('initMail'))}
${choices(TEXTS.forceMfa, 'forceMfa', TEXTS.forceMfas, chosen('forceMfa'))}
${choices(TEXTS.linking, 'linking', TEXTS.linkings, chosen('linking'))}
<p class="hint">${TEXTS.linkingHint}</p>
${choices(TEXTS.passkeys, 'passkeys', TEXTS.passkeyChoices, chosen('passkeys'))}
${choices(TEXTS.deleteAccount, 'deleteAccount', TEXTS.deleteAccounts, chosen('deleteAccount'))}`;
}

/** The form that takes the policy of the organization away. */
export function loginReset(action: string): Html {
  return html`<form class="card confirm" method="post" action="${action}"><h2>${TEXTS.resetTitle}</h2>
<p>${TEXTS.resetEffect}</p>${hidden({ reset: 'yes' })}
<div class="buttons"><button class="quiet" type="submit">${TEXTS.reset}</button></div></form>`;
}

/**
 * Sets the policy as chosen, or takes it away.
 * @returns what the page of the organization says afterwards: a key of `ORGS.done`
 * @throws ApiError 400 for what is no choice
 */
export async function sendLogin(req: Request, res: Response, org: string): Promise<'login' | 'loginReset'> {
  const { api } = sessionOf(res);
  if (text(req.body, 'reset') === 'yes') {
    await api.call('resetLoginPolicy', { org });
    return 'loginReset';
  }
  await api.call('updateLoginPolicy', { body: chosenPolicy(req), org });
  return 'login';
}

/** The policy as chosen. @throws ApiError 400 for what is no choice */
export function chosenPolicy(req: Request) {
  const flag = (name: string) => {
    const value = text(req.body, name);
    return value === 'true' || value === 'false' ? value === 'true' : value;
  };
  const chosen = {
    mailCode: text(req.body, 'mailCode'),
    smsCode: text(req.body, 'smsCode'),
    initMail: text(req.body, 'initMail'),
    forceMfa: flag('forceMfa'),
    linking: text(req.body, 'linking'),
    passkeys: flag('passkeys'),
    deleteAccount: flag('deleteAccount'),
  };
  return parseBody(loginPolicyBody, chosen, 'POLICY-LOGIN-INVALID');
}
