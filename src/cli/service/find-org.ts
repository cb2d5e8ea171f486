/**
 * The organization that a person means: by its id, else by its exact name or its primary domain.
 *
 * Guarantee: one or none; a name that fits several is never decided by chance. Who is no IAM_OWNER is shown, and finds,
 * the organizations on which he has a role and no others.
 */

import { EXIT, Failure } from '../terminal/failure.ts';
import type { Api } from './api.ts';
import { isIamOwner, type Me, readMe } from './me.ts';

export interface Org {
  id: string;
  name: string;
  primaryDomain: string;
}

/** @returns its id. @throws Failure when there is none, or several */
export async function findOrg(api: Pick<Api, 'call'>, text: string): Promise<string> {
  const me = await readMe(api);
  const orgs = isIamOwner(me) ? await searchAll(api, text) : me.organizations;
  const byId = orgs.find((org) => org.id === text);
  if (byId) return byId.id;
  const [found, ...others] = orgs.filter((org) => isNamed(org, text));
  if (!found) throw unknown(me, text);
  if (others.length > 0) throw ambiguous(text, [found, ...others]);
  return found.id;
}

function isNamed({ name, primaryDomain }: Org, text: string): boolean {
  return name === text || primaryDomain === text.toLowerCase();
}

/** Two of one name are as many as it takes to see that the name will not do; some more are shown. */
const SHOWN = 10;

async function searchAll(api: Pick<Api, 'call'>, text: string): Promise<Org[]> {
  const queries = [{ idQuery: { id: text } }, { nameQuery: { name: text } }, { domainQuery: { domain: text } }];
  const found = await Promise.all(queries.map((query) => search(api, query)));
  return [...new Map(found.flat().map((org) => [org.id, org])).values()];
}

async function search(api: Pick<Api, 'call'>, query: unknown): Promise<Org[]> {
  const body = { query: { limit: SHOWN }, queries: [query] };
  return (await api.call<{ result: Org[] }>('POST', '/admin/v1/orgs/_search', { body })).result;
}

function unknown(me: Me, text: string): Failure {
  const advice = isIamOwner(me)
    ? `\`muster orgs create ${JSON.stringify(text)}\` makes it; \`muster orgs list\` shows those that are there.`
    : `${theirs(me)} An IAM_OWNER makes organizations and gives roles on them.`;
  return new Failure(`There is no organization ${JSON.stringify(text)} by id, name or domain.`, {
    exitCode: EXIT.usage,
    advice,
  });
}

function theirs({ organizations }: Me): string {
  if (organizations.length === 0) return 'You have a role on no organization.';
  const more = organizations.length > SHOWN ? ' and others' : '';
  return `You have a role on ${organizations.slice(0, SHOWN).map(labelOf).join(', ')}${more}.`;
}

function ambiguous(text: string, orgs: Org[]): Failure {
  return new Failure(`Several organizations fit ${JSON.stringify(text)}: ${orgs.map(labelOf).join(', ')}.`, {
    exitCode: EXIT.usage,
    advice: 'Name the one that you mean by its id.',
  });
}

function labelOf({ id, name }: Org): string {
  return id === name ? id : `${id} (${name})`;
}
