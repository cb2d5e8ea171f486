/** Where the links in an organization's emails may lead: list, allow, no longer allow. */
import type { Api } from '../../service/api.ts';
import { findOrg } from '../../service/find-org.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { type Subcommand, subcommand } from '../../subcommands.ts';

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
