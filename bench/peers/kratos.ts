/**
 * Ory Kratos: `PATCH /admin/identities`, with the identity schema and the password method of its quick start.
 *
 * It is the newest version of the Go module proxy. `go install` refuses it, because its module replaces others, so a
 * module of ours starts it. No telemetry is sent.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimPort } from '../../src/platform/lifecycle.ts';
import { timed } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { passwordOf, user } from '../testbed/load.ts';
import { installed, run } from '../testbed/programs.ts';
import { startKept } from '../testbed/stores.ts';
import { startStores } from '../testbed/testbed.ts';
import {
  answers,
  askJson,
  ending,
  expectCount,
  fetchedOrSkip,
  inGroups,
  type Peer,
  programOrSkip,
  startFolder,
  untilReady,
} from './peer.ts';

const VERSION = '1.3.1';
const GROUP = { size: 200, limit: 4 };
/** Those of its quick start with PostgreSQL. */
const CONNECTIONS = { sslmode: 'disable', max_conns: '20', max_idle_conns: '4' };
const ENV = { SQA_OPT_OUT: 'true' };

export const kratos: Peer = {
  how: `PATCH /admin/identities, ${GROUP.size} identities a request, ${GROUP.limit} at a time`,
  async move(scope, { users, say }) {
    const go = programOrSkip('go');
    say('Ory Kratos is built, unless it is there, in some minutes');
    const program = await fetchedOrSkip(scope, 'Ory Kratos', (signal) => built(go, signal));
    const { databaseUrl, pool } = await startStores(scope, { redis: false, tcp: true });
    const { publicUrl, adminUrl } = await startKratos(scope, program, databaseUrl);
    say('users are moved into Ory Kratos');
    const send = async (numbers: number[]) => {
      const body = { identities: numbers.map((n) => ({ create: identity(n) })) };
      const { identities } = await askJson(`${adminUrl}/admin/identities`, { method: 'PATCH', body });
      const refused = identities.find(({ action }: { action: string }) => action !== 'create');
      if (refused) throw new Error(`Ory Kratos refused an identity: ${JSON.stringify(refused)}`);
    };
    await send([users]);
    const ms = await timed(() => inGroups(users, GROUP, send));
    const { rows } = await pool.query<{ users: number; hashes: number }>(COUNT);
    expectCount('identities', rows[0]?.users, users + 1);
    expectCount('hashes', rows[0]?.hashes, users + 1);
    await signIn(publicUrl, users - 1);
    return { ms, product: `Ory Kratos ${VERSION}`, signsIn: true };
  },
};

const COUNT = `select (select count(*)::int from identities) as users,
  (select count(*)::int from identity_credentials where config ->> 'hashed_password' is not null) as hashes`;

/** As export files of other systems have them: a verified address, and a hash. */
function identity(n: number): object {
  const { profile, email, hashedPassword } = user(n);
  const address = { value: email.email, verified: true, via: 'email', status: 'completed' };
  return {
    schema_id: 'default',
    state: 'active',
    traits: { email: email.email, name: { first: profile.firstName, last: profile.lastName } },
    credentials: { password: { config: { hashed_password: hashedPassword.value } } },
    verifiable_addresses: [address],
  };
}

/** The program, in `node_modules/.cache`. */
async function built(go: string, signal: AbortSignal): Promise<string> {
  const folder = await installed('kratos', MODULE + MAIN, async (to) => {
    await writeFile(join(to, 'go.mod'), MODULE);
    await writeFile(join(to, 'main.go'), MAIN);
    // The versions of all modules follow from this one's.
    await run(go, ['build', '-mod=mod', '-ldflags=-s -w', '-o', 'kratos', '.'], to, {}, signal);
  });
  return join(folder, 'kratos');
}

/** The replacements are its own, but for that of a client, whose folder its module lacks. */
const MODULE = `module muster/kratos

go 1.23

require github.com/ory/kratos v${VERSION}

replace (
	github.com/go-swagger/go-swagger => github.com/aeneasr/go-swagger v0.19.1-0.20241013070044-bccef3a12e26
	github.com/gobuffalo/pop/v6 => github.com/ory/pop/v6 v6.2.0
	github.com/gorilla/sessions => github.com/ory/sessions v1.2.2-0.20220110165800-b09c17334dc2
	github.com/mattn/go-sqlite3 => github.com/mattn/go-sqlite3 v1.14.22
)
`;
const MAIN = `package main

import (
	"os"

	"github.com/ory/kratos/cmd"
)

func main() {
	os.Exit(cmd.Execute())
}
`;

async function startKratos(scope: Scope, program: string, databaseUrl: string) {
  const folder = await startFolder(scope);
  const [publicUrl, adminUrl] = [await freeUrl(), await freeUrl()];
  const file = join(folder, 'kratos.json');
  await writeFile(join(folder, 'identity.schema.json'), JSON.stringify(SCHEMA));
  await writeFile(file, JSON.stringify(config(folder, { databaseUrl, publicUrl, adminUrl })));
  await run(program, ['-c', file, 'migrate', 'sql', '-e', '--yes'], folder, ENV, await ending(scope));
  const command = [program, '-c', file, 'serve', '--dev'];
  const server = await startKept(scope, 'TERM', command, { env: { ...process.env, ...ENV } });
  await untilReady('Ory Kratos', server, () => answers(`${adminUrl}/admin/health/ready`));
  return { publicUrl, adminUrl };
}

async function freeUrl(): Promise<string> {
  return `http://127.0.0.1:${await claimPort('127.0.0.1', 0)}`;
}

function config(folder: string, urls: Record<'databaseUrl' | 'publicUrl' | 'adminUrl', string>): object {
  const dsn = new URL(urls.databaseUrl);
  for (const [name, value] of Object.entries(CONNECTIONS)) dsn.searchParams.set(name, value);
  const serve = (url: string) => ({ base_url: url, host: '127.0.0.1', port: Number(new URL(url).port) });
  const secret = () => [randomBytes(16).toString('hex')];
  return {
    dsn: dsn.toString(),
    serve: { public: serve(urls.publicUrl), admin: serve(urls.adminUrl) },
    selfservice: {
      default_browser_return_url: urls.publicUrl,
      methods: { password: { enabled: true, config: { haveibeenpwned_enabled: false } } },
    },
    log: { level: 'error' },
    secrets: { cookie: secret(), cipher: secret() },
    hashers: { algorithm: 'bcrypt', bcrypt: { cost: 8 } },
    identity: {
      default_schema_id: 'default',
      schemas: [{ id: 'default', url: `file://${join(folder, 'identity.schema.json')}` }],
    },
    courier: { smtp: { connection_uri: 'smtp://127.0.0.1:1/' } },
  };
}

/** The schema of its quick start. */
const SCHEMA = {
  $id: 'https://schemas.ory.sh/presets/kratos/quickstart/email-password/identity.schema.json',
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Person',
  type: 'object',
  properties: {
    traits: {
      type: 'object',
      properties: {
        email: {
          type: 'string',
          format: 'email',
          title: 'E-Mail',
          minLength: 3,
          'ory.sh/kratos': {
            credentials: { password: { identifier: true } },
            verification: { via: 'email' },
            recovery: { via: 'email' },
          },
        },
        name: {
          type: 'object',
          properties: { first: { title: 'First Name', type: 'string' }, last: { title: 'Last Name', type: 'string' } },
        },
      },
      required: ['email'],
      additionalProperties: false,
    },
  },
};

async function signIn(url: string, n: number): Promise<void> {
  const { id } = await askJson(`${url}/self-service/login/api`);
  const body = { method: 'password', identifier: user(n).email.email, password: passwordOf(n) };
  const { session } = await askJson(`${url}/self-service/login?flow=${id}`, { body });
  if (session?.active !== true) throw new Error('The old password does not sign in to Ory Kratos.');
}
