/** The step Options: the organization, existing users, emails, the time limit; and what a person can choose in it. */
import { may } from '../../contract/permissions.ts';
import { parseFormula } from '../../passwords/formula.ts';
import { invalidArgument } from '../../platform/errors.ts';
import { described, field, remarks } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { activeSources, orgNames, type PasswordSource } from '../database.ts';
import type { Guess } from '../shapes.ts';
import { type Choice, choices, notice, options } from '../shell/blocks.ts';
import { OPTIONS } from '../texts/new-import.ts';
import { type Frame, stepForm, type WizardStep } from './frame.ts';
import type { Plan } from './plan.ts';

export interface Organization {
  id: string;
  name: string;
}

export interface OptionsView {
  plan: Plan;
  organizations: readonly Organization[];
  /** Password sources of these organizations; none where the users came in a request, which has named one or not. */
  sources: readonly PasswordSource[];
  mayCreate: boolean;
  newOrganization: string;
  problem: string | undefined;
  wrong: {
    [Field in 'timeout' | 'organization' | 'newOrganization' | 'passwords' | 'hashFormat']?: string | undefined;
  };
  /** Users who came in a request have hashes that say how they were made. */
  hasFiles: boolean;
  /** The files name no organization, so one must be chosen. */
  namesNone: boolean;
}

/** The form: the organization, existing users, emails, the time limit. */
export function optionsStep(frame: Frame, view: OptionsView): Html {
  const { plan, problem, wrong } = view;
  return stepForm(
    frame,
    html`<section class="card confirm"><h2>${OPTIONS.title}</h2>${notice(problem, 'bad')}
${organization(view)}
${choices(OPTIONS.existing, 'existing', OPTIONS.existingKinds, plan.onExisting)}
${choices(OPTIONS.mails, 'mails', OPTIONS.mailKinds, plan.mails)}
<div class="field"><label><input type="checkbox" name="enterpriseCodes" value="1"${plan.enterpriseMailCodes ? html` checked` : undefined}>${OPTIONS.enterpriseMailCodes}</label></div>
<div class="field"><label><input type="checkbox" name="noEmail" value="1"${plan.withoutEmail ? html` checked` : undefined}>${OPTIONS.withoutEmail}</label></div>
${passwords(view)}
${view.hasFiles ? hashFormat(plan, wrong.hashFormat) : undefined}
${field({ name: 'timeout', label: OPTIONS.timeout, value: plan.timeout, hint: OPTIONS.timeoutHint, wrong: wrong.timeout })}</section>`,
    'check',
  );
}

function organization({ plan, organizations, mayCreate, newOrganization, wrong, namesNone }: OptionsView): Html {
  const known = organizations.some(({ id }) => id === plan.orgId) || plan.orgId === '';
  const all = known ? organizations : [{ id: plan.orgId, name: plan.orgId }, ...organizations];
  const names = all.map(({ id, name }): Choice => [id, name]);
  const about = {
    name: 'org',
    hint: namesNone ? OPTIONS.noneInFiles : OPTIONS.organizationHint,
    wrong: wrong.organization,
  };
  const isRequired = namesNone && !mayCreate;
  return html`<div class="field"><label for="org">${OPTIONS.organization}</label><select id="org" name="org"${isRequired ? html` required` : undefined}${described(about)}>
${options([['', namesNone ? OPTIONS.chooseOrganization : OPTIONS.asFiles], ...names], plan.orgId)}</select>${remarks(about)}</div>
${mayCreate ? field({ name: 'newOrg', label: OPTIONS.newOrganization, value: newOrganization, wrong: wrong.newOrganization, isOptional: true }) : undefined}`;
}

/** The formula of hashes that do not say how they were made. */
function hashFormat(plan: Plan, wrong: string | undefined): Html {
  const { hashFormat: label, hashFormatHint: hint } = OPTIONS;
  return field({ name: 'hashFormat', label, value: plan.hashFormat, hint, wrong, isOptional: true });
}

/** @throws ApiError 400 for a text that is no formula */
export function requireFormula({ hashFormat: text }: Plan): void {
  const problem = text === '' ? undefined : parseFormula(text);
  if (typeof problem !== 'string') return;
  const description = OPTIONS.hashFormatWrong(problem);
  throw invalidArgument('CONSOLE-OPTIONS', description, [{ field: 'hashFormat', description }]);
}

/** The password source; nothing, where there is none to choose. */
function passwords({ plan, organizations, sources, wrong }: OptionsView): Html | undefined {
  const isKnown = plan.passwordSource === '' || sources.some(({ id }) => id === plan.passwordSource);
  const all = isKnown ? sources : [{ id: plan.passwordSource, name: plan.passwordSource, orgId: '' }, ...sources];
  if (all.length === 0) return undefined;
  const nameOf = (orgId: string) => organizations.find(({ id }) => id === orgId)?.name ?? orgId;
  const names = all.map(({ id, name, orgId }): Choice => [id, orgId ? OPTIONS.sourceOf(name, nameOf(orgId)) : name]);
  const about = { name: 'passwords', hint: OPTIONS.passwordsHint, wrong: wrong.passwords };
  return html`<div class="field"><label for="passwords">${OPTIONS.passwords}</label>
<select id="passwords" name="passwords"${described(about)}>
${options([['', OPTIONS.noSource], ...names], plan.passwordSource)}</select>${remarks(about)}</div>`;
}

const MOST_ORGS = 200;

/** Organizations that the person may import into. */
export async function organizationsOf({ api, caller, pool }: WizardStep): Promise<Organization[]> {
  if (!caller.isIamOwner) {
    const ids = [...caller.orgRoles.keys()].filter((id) => may(caller, 'createImport', id));
    return [...(await orgNames(pool, ids))].map(([id, name]) => ({ id, name }));
  }
  const body = { query: { limit: MOST_ORGS }, queries: [] };
  return (await api.call('searchOrgs', { body })).result;
}

/**
 * The organization that is chosen at first. Where a person may create others, the only one is the organization of the
 * service itself.
 */
export function likelyOrg(organizations: readonly Organization[], mayCreate: boolean): string {
  const [only, ...others] = organizations;
  return only && others.length === 0 && !mayCreate ? only.id : '';
}

/** Whether the beginning of the files names no organization for some users; false also while that is not known. */
export function namesNoOrganization({ mapping }: Plan, guess: Guess | string | undefined): boolean {
  if (typeof guess !== 'object') return false;
  const { orgId } = mapping;
  if (orgId === undefined || orgId === guess.mapping.orgId) return !guess.namesOrganizations;
  const columns = guess.files.flatMap((file) => file.columns);
  return !columns.some(({ name, samples }) => name === orgId && samples.length > 0);
}

/** @throws ApiError 400 when no organization is chosen, and the files name none, or may name none */
export function requireNamed(
  plan: Plan,
  guess: Guess | string | undefined,
  { mayCreate, hasFiles }: { mayCreate: boolean; hasFiles: boolean },
): void {
  const namesNone = namesNoOrganization(plan, guess);
  if (!namesNone && (!hasFiles || typeof guess === 'object')) return;
  const ofNone = mayCreate ? OPTIONS.needsOrganizationOrName : OPTIONS.needsOrganization;
  const description = namesNone ? ofNone : OPTIONS.mayNeedOrganization;
  throw invalidArgument('CONSOLE-OPTIONS', description, [{ field: 'org', description }]);
}

/** The password sources to choose from; none for users that came in a request, which has named one or not. */
export async function sourcesOf(
  { caller, draft, pool }: WizardStep,
  of: readonly Organization[],
): Promise<PasswordSource[]> {
  if (draft.files.length === 0) return [];
  const ids = of.map(({ id }) => id).filter((id) => may(caller, 'listPasswordSources', id));
  return activeSources(pool, ids);
}

/** @throws ApiError 400 when the users go to another organization than the source belongs to */
export async function requireSourceOf(on: WizardStep, { orgId, passwordSource }: Plan, isNew: boolean): Promise<void> {
  if (passwordSource === '' || (orgId === '' && !isNew)) return;
  const sources = isNew ? [] : await sourcesOf(on, [{ id: orgId, name: '' }]);
  if (sources.some(({ id }) => id === passwordSource)) return;
  const description = OPTIONS.sourceOfOther;
  throw invalidArgument('CONSOLE-OPTIONS', description, [{ field: 'passwordSource', description }]);
}

/** The name of the source that the draft was converted with, or its id if it has ended. */
export async function sourceName({ plan, pool, result }: WizardStep): Promise<string | undefined> {
  const { passwordSource } = plan;
  if (!passwordSource) return undefined;
  const ids = result.orgs.map(({ orgId }) => orgId);
  return (await activeSources(pool, ids)).find(({ id }) => id === passwordSource)?.name ?? passwordSource;
}
