/**
 * Finds the organization that a person means: by its id, otherwise by its exact name or its primary domain.
 *
 * Guarantee: a name that matches several organizations is an error, never resolved by chance. Callers who are not
 * IAM_OWNER find and see only the organizations on which they have a role.
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

/** Two matches would suffice to see that a name is ambiguous; a few more are shown. */
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
    ? `\`muster orgs create ${JSON.stringify(text)}\` creates it; \`muster orgs list\` shows the existing ones.`
    : `${theirs(me)} An IAM_OWNER creates organizations and grants roles on them.`;
  return new Failure(`There is no organization with the id, name or domain ${JSON.stringify(text)}.`, {
    exitCode: EXIT.usage,
    advice,
  });
}

function theirs({ organizations }: Me): string {
  if (organizations.length === 0) return 'You have no role on any organization.';
  const more = organizations.length > SHOWN ? ' and others' : '';
  return `You have a role on ${organizations.slice(0, SHOWN).map(labelOf).join(', ')}${more}.`;
}

function ambiguous(text: string, orgs: Org[]): Failure {
  return new Failure(`Several organizations match ${JSON.stringify(text)}: ${orgs.map(labelOf).join(', ')}.`, {
    exitCode: EXIT.usage,
    advice: 'Use the id of the one that you mean.',
  });
}

function labelOf({ id, name }: Org): string {
  return id === name ? id : `${id} (${name})`;
}
