import type { Argv } from 'yargs';
import { group, type Subcommand, subcommand } from '../options.ts';
import type { Api } from '../service/api.ts';
import { findOrg, type Org } from '../service/find.ts';
import { type CommonOptions, isIamOwner, type Me, openSession, readMe } from '../service/session.ts';

/** Where the links in an organization's emails may lead: list, allow, no longer allow. */

const PATH = '/management/v1/orgs/me/allowed_urls';
const ORG = { type: 'string', demandOption: true, describe: 'id, exact name or domain' } as const;
const URL_ = {
  type: 'string',
  demandOption: true,
  describe: 'such as https://app.example.com, without a path',
} as const;

interface ListOptions extends CommonOptions {
  org: string;
}
interface ChangeOptions extends ListOptions {
  url: string;
}

const list = subcommand<ListOptions>({
  command: 'allowed-urls <org>',
  describe: 'list the URLs that links in emails of an organization may lead to',
  builder: (parser) => parser.positional('org', ORG).example('$0 orgs allowed-urls acme', ''),
  async handler({ org: text, ...options }) {
    const { out, api } = await openSession(options);
    const allowedUrls = await read(api, await findOrg(api, text));
    out.result({ allowedUrls });
    if (allowedUrls.length === 0) out.line('None.');
    for (const url of allowedUrls) out.line(url);
  },
});

const allow = change('allow-url', 'let links in emails of an organization lead to a URL', (all, url) => [...all, url]);
const disallow = change('disallow-url', 'no longer let links in emails lead to a URL', (all, url) =>
  all.filter((each) => each !== url),
);

function change(name: string, describe: string, changed: (all: string[], url: string) => string[]): Subcommand {
  return subcommand<ChangeOptions>({
    command: `${name} <org> <url>`,
    describe,
    builder: (parser) =>
      parser.positional('org', ORG).positional('url', URL_).example(`$0 orgs ${name} acme https://app.example.com`, ''),
    async handler({ org: text, url, ...options }) {
      const { out, api } = await openSession(options);
      const org = await findOrg(api, text);
      const body = { allowedUrls: changed(await read(api, org), originOf(url)) };
      await api.call('PUT', PATH, { org, body });
      const allowedUrls = await read(api, org);
      out.result({ allowedUrls });
      out.line(`Links in emails of ${org} may lead to ${allowedUrls.join(', ') || 'no URL of its own'}.`);
    },
  });
}

async function read(api: Api, org: string): Promise<string[]> {
  return (await api.call<{ allowedUrls: string[] }>('GET', PATH, { org })).allowedUrls;
}

/** As the service stores it, without the slash at the end; anything else is left to the service, which explains it. */
function originOf(url: string): string {
  const origin = URL.parse(url)?.origin;
  return origin !== undefined && url.toLowerCase() === `${origin}/` ? origin : url;
}

export const allowedUrls: readonly Subcommand[] = [list, allow, disallow];

interface Options extends CommonOptions {
  name: string;
  id?: string | undefined;
  domain?: string | undefined;
}

export const create = subcommand<Options>({
  command: 'create <name>',
  describe: 'create an organization (IAM_OWNER)',
  builder: (parser) =>
    parser
      .positional('name', { type: 'string', demandOption: true, describe: 'display name' })
      .options({
        id: { type: 'string', requiresArg: true, describe: 'id that imports use (default: generated)' },
        domain: {
          type: 'string',
          requiresArg: true,
          describe: 'domain of its login names (default: derived from the name)',
        },
      })
      .example("$0 orgs create 'Acme Ltd' --id acme", ''),
  async handler({ name, id, domain, ...options }) {
    const { out, api } = await openSession(options);
    const body = { name, orgId: id, domain };
    const created = await api.call<{ id: string }>('POST', '/management/v1/orgs', { body });
    out.result(created);
    out.line(created.id);
    if (!out.json) out.note(`Organization ${name} was created. To import its users, use --org ${created.id}.`);
  },
});

interface Options2 extends CommonOptions {
  org: string;
}

export const get = subcommand<Options2>({
  command: 'get <org>',
  describe: 'show an organization',
  builder: (parser) =>
    parser
      .positional('org', { type: 'string', demandOption: true, describe: 'id, exact name or domain' })
      .example('$0 orgs get acme.example', 'by its domain'),
  async handler({ org: text, ...options }) {
    const { out, api } = await openSession(options);
    const answer = await api.call<{ org: Org & { details: { creationDate: string } } }>(
      'GET',
      '/management/v1/orgs/me',
      { org: await findOrg(api, text) },
    );
    out.result(answer);
    const { id, name, primaryDomain, details } = answer.org;
    out.table(
      ['id', id],
      [
        ['name', name],
        ['domain', primaryDomain],
        ['created', details.creationDate],
      ],
    );
  },
});

interface Options3 extends CommonOptions {
  limit: number;
}

interface Found {
  details: { totalResult: string };
  result: (Org & { roles?: string[] })[];
}

/** The largest page of the service. */
const PAGE = 1000;

export const list2 = subcommand<Options3>({
  command: 'list',
  describe: 'list organizations: all for an IAM_OWNER, otherwise those on which you have a role',
  builder: (parser) =>
    parser
      .options({ limit: { type: 'number', requiresArg: true, default: 100, describe: 'how many to list' } })
      .check(({ limit }) => (Number.isInteger(limit) && limit > 0) || '--limit must be a whole number of at least 1.')
      .example('$0 orgs list', ''),
  async handler({ limit, ...options }) {
    const { out, api } = await openSession(options);
    const me = await readMe(api);
    const found = isIamOwner(me) ? await searchAll(api, limit) : own(me, limit);
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map((org) => [org.id, org.name, org.primaryDomain, (org.roles ?? []).join(', ')]);
    out.table(['ID', 'NAME', 'DOMAIN', isIamOwner(me) ? '' : 'YOUR ROLES'], rows);
    const left = Number(found.details.totalResult) - found.result.length;
    if (left > 0 && !out.json) out.note(`${left} more: raise --limit to see them.`);
  },
});

async function searchAll(api: Api, limit: number): Promise<Found> {
  const result: Found['result'] = [];
  for (;;) {
    const query = { offset: result.length, limit: Math.min(limit - result.length, PAGE) };
    const page = await api.call<Found>('POST', '/admin/v1/orgs/_search', { body: { query } });
    result.push(...page.result);
    if (page.result.length < query.limit || result.length >= limit) return { details: page.details, result };
  }
}

function own({ organizations }: Me, limit: number): Found {
  return { details: { totalResult: String(organizations.length) }, result: organizations.slice(0, limit) };
}

const PATH2 = '/management/v1/orgs/me/sign_in_names';
const NAMES = ['userName', 'loginName', 'email'] as const;

interface Options4 extends CommonOptions {
  org: string;
  set?: string[] | undefined;
}

export const signInNames = subcommand<Options4>({
  command: 'sign-in-names <org>',
  describe: 'show or set the names that users sign in with',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .positional('org', { type: 'string', demandOption: true, describe: 'id, exact name or domain' })
      .options({
        set: { choices: NAMES, array: true, requiresArg: true, describe: 'the names that sign in from now on' },
      })
      .example('$0 orgs sign-in-names acme', 'show them')
      .example(
        '$0 orgs sign-in-names acme --set userName email',
        'no longer with the domain',
      ) as unknown as Argv<Options4>,
  async handler({ org: text, set, ...options }) {
    const { out, api } = await openSession(options);
    const org = await findOrg(api, text);
    if (set) await api.call('PUT', PATH2, { org, body: { signInNames: set } });
    const found = await api.call<{ signInNames: string[] }>('GET', PATH2, { org });
    out.result(found);
    out.line(`Users of ${org} sign in with: ${found.signInNames.join(', ')}`);
  },
});

/** `muster orgs`: the organizations that users belong to. */

export const orgs = group('orgs', 'manage organizations', [list2, create, get, ...allowedUrls, signInNames]);
