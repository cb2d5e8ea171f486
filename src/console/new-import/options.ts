/** The step Options: the organization, existing users, emails, the time limit. */
import { type Html, html } from '../../html.ts';
import { notice, textField } from '../page/blocks.ts';
import { OPTIONS } from '../texts/new-import.ts';
import { type Frame, stepForm } from './frame.ts';
import type { PasswordSource } from './password-sources.ts';
import type { Plan } from './plan.ts';

export interface Organization {
  id: string;
  name: string;
}

export interface OptionsView {
  plan: Plan;
  organizations: readonly Organization[];
  /** Of these organizations; none where the users came in a request, which has named one or not. */
  sources: readonly PasswordSource[];
  mayCreate: boolean;
  newOrganization: string;
  problem: string | undefined;
  wrong: { timeout?: string | undefined; organization?: string | undefined; passwords?: string | undefined };
}

export function optionsStep(frame: Frame, view: OptionsView): Html {
  const { plan, problem, wrong } = view;
  return stepForm(
    frame,
    html`<section class="card confirm"><h2>${OPTIONS.title}</h2>${notice(problem, 'bad')}
${organization(view)}
${choices(OPTIONS.existing, 'existing', OPTIONS.existingKinds, plan.onExisting)}
${choices(OPTIONS.mails, 'mails', OPTIONS.mailKinds, plan.mails)}
<div class="field"><label><input type="checkbox" name="noEmail" value="1"${plan.withoutEmail ? html` checked` : undefined}>${OPTIONS.withoutEmail}</label></div>
${passwords(view)}
${textField({ name: 'timeout', label: OPTIONS.timeout, value: plan.timeout, hint: OPTIONS.timeoutHint, wrong: wrong.timeout, isRequired: true })}</section>`,
    'check',
  );
}

function organization({ plan, organizations, mayCreate, newOrganization, wrong }: OptionsView): Html {
  const known = organizations.some(({ id }) => id === plan.orgId) || plan.orgId === '';
  const all = known ? organizations : [{ id: plan.orgId, name: plan.orgId }, ...organizations];
  return html`<div class="field"><label for="org">${OPTIONS.organization}</label><select id="org" name="org" aria-describedby="org-hint">
<option value="">${OPTIONS.asFiles}</option>${all.map(
    ({ id, name }) => html`<option value="${id}"${id === plan.orgId ? html` selected` : undefined}>${name}</option>`,
  )}</select><p class="hint" id="org-hint">${OPTIONS.organizationHint}</p></div>
${mayCreate ? textField({ name: 'newOrg', label: OPTIONS.newOrganization, value: newOrganization, wrong: wrong.organization }) : undefined}`;
}

/** Nothing, where there is no source to choose. */
function passwords({ plan, organizations, sources, wrong }: OptionsView): Html | undefined {
  const isKnown = plan.passwordSource === '' || sources.some(({ id }) => id === plan.passwordSource);
  const all = isKnown ? sources : [{ id: plan.passwordSource, name: plan.passwordSource, orgId: '' }, ...sources];
  if (all.length === 0) return undefined;
  const nameOf = (orgId: string) => organizations.find(({ id }) => id === orgId)?.name ?? orgId;
  return html`<div class="field"><label for="passwords">${OPTIONS.passwords}</label>
<select id="passwords" name="passwords" aria-describedby="passwords-hint${wrong.passwords ? ' passwords-wrong' : ''}"${wrong.passwords ? html` aria-invalid="true"` : undefined}>
<option value="">${OPTIONS.noSource}</option>${all.map(
    ({ id, name, orgId }) =>
      html`<option value="${id}"${id === plan.passwordSource ? html` selected` : undefined}>${orgId ? OPTIONS.sourceOf(name, nameOf(orgId)) : name}</option>`,
  )}</select><p class="hint" id="passwords-hint">${OPTIONS.passwordsHint}</p>
${wrong.passwords && html`<p class="wrong" id="passwords-wrong">${wrong.passwords}</p>`}</div>`;
}

/** One of several, as radio buttons. */
export function choices(legend: string, name: string, kinds: Readonly<Record<string, string>>, chosen: string): Html {
  return html`<fieldset class="field"><legend>${legend}</legend>${Object.entries(kinds).map(
    ([value, text]) =>
      html`<label class="choice"><input type="radio" name="${name}" value="${value}"${value === chosen ? html` checked` : undefined}>${text}</label>\n`,
  )}</fieldset>`;
}
