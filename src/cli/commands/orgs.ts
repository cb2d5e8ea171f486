/** `muster orgs`: the organizations that users belong to. */
import type { CommandModule } from 'yargs';
import type { Answer } from '../../contract/client.ts';
import { command, group, showEntries } from '../command.ts';
import { argument, isLimit, limit, ORG, text } from '../options.ts';
import type { Api } from '../service/api.ts';
import { findOrg, type Org } from '../service/find.ts';
import { isIamOwner, type Me, readMe } from '../service/session.ts';
import { branding } from './org-branding.ts';
import { limits } from './org-limits.ts';
import { loginPolicy, signInNames } from './org-sign-in.ts';
import { ORG_STATES } from './org-states.ts';

/** The largest page of the service. */
const PAGE = 1000;

const list = command({
  usage: 'list',
  describe: 'list organizations: all for an IAM_OWNER, otherwise those on which you have a role',
  options: { limit: limit(100) },
  check: (parser) => parser.check(isLimit),
  examples: [['$0 orgs list', '']],
  async run({ out, api }, { limit }) {
    const me = await readMe(api);
    const found = isIamOwner(me) ? await searchAll(api, limit) : own(me, limit);
    out.result(found);
    showEntries(out, found.result, {
      columns: ['ID', 'NAME', 'DOMAIN', isIamOwner(me) ? 'STATE' : 'YOUR ROLES'],
      row: (org) => [org.id, org.name, org.primaryDomain, 'roles' in org ? org.roles.join(', ') : stateOf(org)],
    });
    const left = Number(found.details.totalResult) - found.result.length;
    if (found.result.length > 0 && left > 0 && !out.json) out.note(`${left} more: raise --limit to see them.`);
  },
});

type OrgPage = Answer<'searchOrgs'>;

interface FoundOrgs {
  details: OrgPage['details'];
  result: Org[];
}

/** ACTIVE, INACTIVE or REMOVED. */
function stateOf({ state }: Answer<'getMyOrg'>['org']): string {
  return state.replace('ORG_STATE_', '');
}

async function searchAll(api: Api, limit: number): Promise<OrgPage> {
  const result: OrgPage['result'] = [];
  for (;;) {
    const query = { offset: result.length, limit: Math.min(limit - result.length, PAGE) };
    const page = await api.call('searchOrgs', { body: { query } });
    result.push(...page.result);
    if (page.result.length < query.limit || result.length >= limit) return { details: page.details, result };
  }
}

function own({ organizations }: Me, limit: number): FoundOrgs {
  return { details: { totalResult: String(organizations.length) }, result: organizations.slice(0, limit) };
}

const create = command({
  usage: 'create <name>',
  describe: 'create an organization (IAM_OWNER)',
  options: {
    name: argument('display name'),
    id: text('id that imports use (default: generated)'),
    domain: text('domain of its login names (default: derived from the name)'),
  },
  examples: [["$0 orgs create 'Acme Ltd' --id acme", '']],
  async run({ out, api }, { name, id, domain }) {
    const created = await api.call('createOrg', { body: { name, orgId: id, domain } });
    out.result(created);
    out.line(created.id);
    if (!out.json) out.note(`Organization ${name} was created. To import its users, use --org ${created.id}.`);
  },
});

const get = command({
  usage: 'get <org>',
  describe: 'show an organization',
  options: { org: ORG },
  examples: [['$0 orgs get acme.example', 'by its domain']],
  async run({ out, api }, given) {
    const org = await findOrg(api, given.org);
    const answer = await api.call('getMyOrg', { org });
    out.result(answer);
    const { id, name, primaryDomain, details, removalDate } = answer.org;
    const rows = [
      ['name', name],
      ['domain', primaryDomain],
      ['created', details.creationDate],
      ['state', stateOf(answer.org)],
      ...(removalDate === undefined ? [] : [['removed on', removalDate]]),
    ];
    out.table(['id', id], rows);
  },
});

const allowedUrls = command({
  usage: 'allowed-urls <org>',
  describe: 'list the URLs that links in emails of an organization may lead to',
  options: { org: ORG },
  examples: [['$0 orgs allowed-urls acme', '']],
  async run({ out, api }, { org }) {
    const allowedUrls = await readUrls(api, await findOrg(api, org));
    out.result({ allowedUrls });
    if (allowedUrls.length === 0) out.line('None.');
    for (const url of allowedUrls) out.line(url);
  },
});

const allow = changeUrls('allow-url', 'let links in emails of an organization lead to a URL', (all, url) => [
  ...all,
  url,
]);
const disallow = changeUrls('disallow-url', 'no longer let links in emails lead to a URL', (all, url) =>
  all.filter((each) => each !== url),
);

function changeUrls(name: string, describe: string, changed: (all: string[], url: string) => string[]): CommandModule {
  return command({
    usage: `${name} <org> <url>`,
    describe,
    options: { org: ORG, url: argument('such as https://app.example.com, without a path') },
    examples: [[`$0 orgs ${name} acme https://app.example.com`, '']],
    async run({ out, api }, { url, ...given }) {
      const org = await findOrg(api, given.org);
      const body = { allowedUrls: changed(await readUrls(api, org), originOf(url)) };
      await api.call('setAllowedUrls', { org, body });
      const allowedUrls = await readUrls(api, org);
      out.result({ allowedUrls });
      out.line(`Links in emails of ${org} may lead to ${allowedUrls.join(', ') || 'no URL of its own'}.`);
    },
  });
}

async function readUrls(api: Api, org: string): Promise<string[]> {
  return (await api.call('getAllowedUrls', { org })).allowedUrls;
}

/** As the service stores it, without the slash at the end; anything else is left to the service, which explains it. */
function originOf(url: string): string {
  const origin = URL.parse(url)?.origin;
  return origin !== undefined && url.toLowerCase() === `${origin}/` ? origin : url;
}

export const orgs = group('orgs', 'manage organizations', [
  list,
  create,
  get,
  allowedUrls,
  allow,
  disallow,
  signInNames,
  loginPolicy,
  branding,
  limits,
  ...ORG_STATES,
]);
