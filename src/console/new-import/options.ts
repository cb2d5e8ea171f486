import type { Request, Response } from 'express';
import { type Caller, may } from '../../contract/permissions.ts';
import { findOrgs } from '../../directory/organizations.ts';
import { PEPPER_MODES } from '../../passwords/marks.ts';
import type { Db } from '../../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/html/layout.ts';
import { IS_ACTIVE } from '../../signin/password-sources/store.ts';
import type { Api } from '../api.ts';
import type { ScreenDeps } from '../deps.ts';
import { type Draft, type Guess, isRecognizable, type ShownDraft } from '../shapes.ts';
import { notice, textField } from '../shell/blocks.ts';
import { OPTIONS, PEPPER } from '../texts/new-import.ts';
import { type Frame, hrefOf, stepForm } from './frame.ts';
import type { Plan } from './plan.ts';
/** The password sources that an import can use. Call it only for organizations of which the person may list them. */

export interface PasswordSource {
  id: string;
  name: string;
  orgId: string;
}

/** As many as a list to choose from shows. */
const MOST = 200;

/** Those that have not ended, by organization and name. */
export async function activeSources(db: Db, orgIds: readonly string[]): Promise<PasswordSource[]> {
  const { rows } = await db.query<PasswordSource>(
    `select s.id, s.name, s.org_id as "orgId" from password_sources s
     where s.org_id = any ($1) and ${IS_ACTIVE} order by s.org_id, s.name, s.id limit ${MOST}`,
    [orgIds],
  );
  return rows;
}

/** The step Options: the organization, existing users, emails, the time limit. */

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

/**
 * The pepper of an old system, on the page that says which passwords keep working.
 *
 * It goes from the form straight to `_convert`, in a header: never into an address, a page or the plan.
 */

/** As the API takes it, in bytes. */
const MOST_CHARACTERS = 1024;

/** Asks for the pepper; nothing for users without hashes, and for those that came in a request, which has named it. */
export function pepperForm(frame: Frame, { files, summary, pepper }: ShownDraft): Html | undefined {
  if (files.length === 0 || !summary || summary.hashes.length === 0) return undefined;
  return html`<details><summary>${pepper ? PEPPER.given(PEPPER.modes[pepper]) : PEPPER.ask}</summary>
<form method="post" action="${hrefOf(frame, 'check')}" autocomplete="off"><p class="soft small">${PEPPER.hint}</p>
<div class="field"><label for="pepper">${PEPPER.label}</label><input id="pepper" name="pepper" type="password" autocomplete="off" required maxlength="${MOST_CHARACTERS}"></div>
<div class="field"><label for="pepper-mode">${PEPPER.mode}</label><select id="pepper-mode" name="pepperMode">${PEPPER_MODES.map(
    (mode) =>
      html`<option value="${mode}"${mode === pepper ? html` selected` : undefined}>${PEPPER.modes[mode]}</option>`,
  )}</select></div><button class="quiet">${PEPPER.use}</button></form></details>`;
}

/** The headers of `_convert`; undefined when no pepper was typed. */
export function pepperHeaders(body: unknown): Record<string, string> | undefined {
  const pepper = text(body, 'pepper');
  if (pepper === '') return undefined;
  return {
    'password-pepper': Buffer.from(pepper).toString('base64'),
    'password-pepper-mode': text(body, 'pepperMode') || 'suffix',
  };
}

/** One request for a step: the draft, what was chosen, and who asks. */

export interface Visiting extends Omit<ScreenDeps, 'api'> {
  req: Request;
  res: Response;
  api: Api;
  caller: Caller;
  result: Draft;
  draft: ShownDraft;
  plan: Plan;
  frame: Frame;
  /** What was typed into the form of this step, if it was refused or the session had ended. */
  typed: Readonly<Record<string, string>>;
  /** Why the form was refused. */
  problem?: ApiError;
}

/** The draft of the address, in the API. */
export function draftPath(req: Request): string {
  return `/admin/v1/imports/${encodeURIComponent(String(req.params.importId))}`;
}

/** What the files look like; undefined while they have not begun to arrive, or why they cannot be recognized. */
export async function readGuess({ api, req, draft }: Visiting): Promise<Guess | string | undefined> {
  if (!isRecognizable(draft.files.filter(({ kind }) => kind !== 'hash_parameters'))) return undefined;
  try {
    return await api.get<Guess>(`${draftPath(req)}/guess`);
  } catch (error) {
    if (error instanceof ApiError && error.id === 'DRAFT-UNREADABLE') return error.message;
    throw error;
  }
}

/** What a person can choose in the step Options, and whether their choice fits. */

const MOST_ORGS = 200;

/** Organizations that the person may import into. */
export async function organizationsOf({ api, caller, pool }: Visiting): Promise<Organization[]> {
  if (!caller.isIamOwner) {
    const ids = [...caller.orgRoles.keys()].filter((id) => may(caller, 'createImport', id));
    return (await findOrgs(pool, ids)).map(({ id, name }) => ({ id, name }));
  }
  const body = { query: { limit: MOST_ORGS }, queries: [] };
  return (await api.send<{ result: Organization[] }>('/admin/v1/orgs/_search', body)).result;
}

/** The organization that is chosen at first; the only one of a person who may create others is that of the service itself. */
export function likelyOrg(organizations: readonly Organization[], mayCreate: boolean): string {
  const [only, ...others] = organizations;
  return only && others.length === 0 && !mayCreate ? only.id : '';
}

/** Users that came in a request have their source, or none, already. */
export async function sourcesOf(
  { caller, draft, pool }: Visiting,
  of: readonly Organization[],
): Promise<PasswordSource[]> {
  if (draft.files.length === 0) return [];
  const ids = of.map(({ id }) => id).filter((id) => may(caller, 'listPasswordSources', id));
  return activeSources(pool, ids);
}

/** @throws ApiError 400 when the users go to another organization than that of the source */
export async function requireSourceOf(on: Visiting, { orgId, passwordSource }: Plan, isNew: boolean): Promise<void> {
  if (passwordSource === '' || (orgId === '' && !isNew)) return;
  const sources = isNew ? [] : await sourcesOf(on, [{ id: orgId, name: '' }]);
  if (sources.some(({ id }) => id === passwordSource)) return;
  const description = OPTIONS.sourceOfOther;
  throw invalidArgument('CONSOLE-OPTIONS', description, [{ field: 'passwordSource', description }]);
}

/** The name of the source that the draft was converted with, or its id if it has ended. */
export async function sourceName({ plan, pool, result }: Visiting): Promise<string | undefined> {
  const { passwordSource } = plan;
  if (!passwordSource) return undefined;
  const ids = result.orgs.map(({ orgId }) => orgId);
  return (await activeSources(pool, ids)).find(({ id }) => id === passwordSource)?.name ?? passwordSource;
}
