/**
 * What an organization may use at most, and what it uses: for its owners on its page, and a form for an IAM_OWNER.
 *
 * Guarantee: a field that is no number is read as it was typed, so that it is refused as by the API: it never means "not limited".
 */
import type { Request, Response } from 'express';
import type { Answer } from '../contract/client.ts';
import { ORG_LIMITS, type OrgLimit, orgLimitsBody } from '../contract/organization-limits.ts';
import { field, text } from '../platform/html/forms.ts';
import { parseBody } from '../platform/http/parse.ts';
import { type Html, html } from '../platform/text/html.ts';
import type { Api } from './api.ts';
import { sessionOf } from './session.ts';
import { count, list, table } from './shell/blocks.ts';
import type { Refusal } from './shell/errors.ts';
import { ORG_LIMIT_TEXTS as TEXTS } from './texts/organizations.ts';

type OrgLimitsView = Answer<'getOrgLimits'>;

export function readLimits(api: Api, org: string): Promise<OrgLimitsView> {
  return api.call('getOrgLimits', { org });
}

/** The page of the form, below `/console`. */
export function limitsPath(orgId: string): string {
  return `/organizations/${encodeURIComponent(orgId)}/limits`;
}

/** Each limit with its use. @param mayChange whether the person gets to the form at `href` */
export function limitsCard(href: string, limits: OrgLimitsView, mayChange: boolean): Html {
  const rows = ORG_LIMITS.map((name) => {
    const most = limits[name];
    return html`<tr><th scope="row">${TEXTS.names[name]}</th>
<td data-label="${TEXTS.most}">${most === undefined ? TEXTS.none : count(most)}</td>
<td data-label="${TEXTS.used}">${useOf(name, limits)}</td></tr>\n`;
  });
  const change = mayChange
    ? html`<p class="inset"><a class="button quiet" href="${href}">${TEXTS.change}</a></p>`
    : undefined;
  return html`<section class="card flush"><h2 class="inset">${TEXTS.title}</h2>
${table(TEXTS.title, [TEXTS.what, TEXTS.most, TEXTS.used], rows)}${change}</section>`;
}

function useOf(name: OrgLimit, { usage }: OrgLimitsView): string | undefined {
  if (name === 'usersPerImport') return undefined;
  const used = usage[name];
  if (used === undefined) return TEXTS.notCounted;
  const { pendingUsers } = usage;
  return name === 'users' && pendingUsers > 0 ? TEXTS.pending(count(used), count(pendingUsers)) : count(used);
}

/** The fields of the form: as typed, or as the limits are. */
export async function limitFields(req: Request, res: Response, orgId: string, refusal?: Refusal): Promise<Html> {
  const { api, kept } = sessionOf(res);
  const typed = [req.body, kept].find((one) => ORG_LIMITS.some((name) => one?.[name] !== undefined));
  const limits = await readLimits(api, orgId);
  const fields = ORG_LIMITS.map((name) =>
    field({
      name,
      label: TEXTS.names[name],
      hint: TEXTS.hints[name],
      value: typed ? text(typed, name) : limits[name]?.toString(),
      wrong: refusal?.wrong(name),
      isOptional: true,
      more: html` inputmode="numeric"`,
    }),
  );
  return html`${list([TEXTS.empty, TEXTS.keeps])}${fields}`;
}

/** Sets the limits as typed. @throws ApiError 400 for what is no limit */
export async function sendLimits(req: Request, res: Response, org: string): Promise<void> {
  const typed = ORG_LIMITS.map((name) => [name, text(req.body, name).trim()] as const);
  const given = typed.filter(([, value]) => value !== '');
  const limits = Object.fromEntries(given.map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]));
  await sessionOf(res).api.call('setOrgLimits', { body: parseBody(orgLimitsBody, limits, 'ORG-LIMITS'), org });
}
