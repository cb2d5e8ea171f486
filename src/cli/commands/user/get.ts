import type { Api } from '../../service/api.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { displayName, stateOf, type User, userIdOf, userPath } from '../../service/users.ts';
import { subcommand } from '../../subcommands.ts';
import type { Output } from '../../terminal/output.ts';
import { USER } from './user-option.ts';

interface Options extends CommonOptions {
  user: string;
}

interface Whole {
  details: { resourceOwner: string; changeDate: string };
  user: User;
  metadata: { key: string; value: string }[];
  links: { idpId: string; userId: string; userName: string }[];
}

export const get = subcommand<Options>({
  command: 'get <user>',
  describe: 'show a user with their metadata and links to identity providers',
  builder: (parser) =>
    parser
      .positional('user', USER)
      .example("$0 users get 'auth0|60425dc4'", 'by id')
      .example('$0 users get ann@acme.example --json', 'by login name'),
  async handler({ user, ...options }) {
    const { out, api } = await openSession(options);
    const found = await read(api, await userIdOf(api, user));
    out.result(found);
    show(out, found);
  },
});

async function read(api: Api, userId: string): Promise<Whole> {
  const list = async <T>(what: string) => (await api.call<{ result: T[] }>('GET', userPath(userId, what))).result;
  const [answer, metadata, links] = await Promise.all([
    api.call<Pick<Whole, 'details' | 'user'>>('GET', userPath(userId)),
    list<Whole['metadata'][number]>('/metadata'),
    list<Whole['links'][number]>('/links'),
  ]);
  return { ...answer, metadata, links };
}

function show(out: Output, { details, user, metadata, links }: Whole): void {
  const { human } = user;
  const rows: [string, string | undefined][] = [
    ['id', user.userId],
    ['organization', details.resourceOwner],
    ['state', stateOf(user)],
    ['kind', human ? 'human' : 'machine'],
    ['name', displayName(user)],
    ['login names', user.loginNames.join(', ')],
    ['email', human && proven(human.email.email, human.email.isVerified)],
    ['phone', human?.phone && proven(human.phone.phone, human.phone.isVerified)],
    ['password', human?.passwordChangeRequired ? 'must be changed at the next login' : undefined],
    ...metadata.map(({ key, value }): [string, string] => [`metadata ${key}`, decoded(value)]),
    ...links.map((link): [string, string] => [`link ${link.idpId}`, `${link.userId} ${link.userName}`.trim()]),
    ['changed', details.changeDate],
  ];
  const [first, ...rest] = rows.filter((row): row is [string, string] => Boolean(row[1]));
  out.table(first ?? [], rest);
}

function proven(address: string, isVerified: boolean): string {
  return `${address} (${isVerified ? 'verified' : 'not verified'})`;
}

/** Most values are text; others are shown as base64. */
function decoded(base64: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return `base64 ${base64}`;
  }
}
