/**
 * OpenLDAP: `ldapadd` of one file into the slapd of the distribution, with the database and the indexes that Debian's
 * package sets up.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimPort } from '../../src/platform/lifecycle.ts';
import { Skipped, timed } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { passwordOf, user } from '../testbed/load.ts';
import { run } from '../testbed/programs.ts';
import { startKept } from '../testbed/stores.ts';
import { ending, expectCount, MOVE_MS, type Peer, programOrSkip, startFolder, untilReady } from './peer.ts';

const SCHEMAS = '/etc/ldap/schema';
const MODULES = '/usr/lib/ldap';
const BASE = 'dc=acme,dc=example';
const PEOPLE = `ou=people,${BASE}`;
const ADMIN = { dn: `cn=admin,${BASE}`, password: 'admin of the bench' };

export const openldap: Peer = {
  how: 'ldapadd of one file',
  async move(scope, { users, say }) {
    const [slapd, ldapadd] = [programOrSkip('slapd'), programOrSkip('ldapadd')];
    const [ldapsearch, ldapwhoami] = [programOrSkip('ldapsearch'), programOrSkip('ldapwhoami')];
    for (const folder of [SCHEMAS, MODULES]) {
      if (!existsSync(folder)) throw new Skipped(`slapd has no folder ${folder} on this machine`);
    }
    const folder = await startFolder(scope);
    const signal = await ending(scope);
    const url = await startSlapd(scope, slapd, { folder, ldapwhoami });
    const connect = ['-x', '-H', url];
    const asAdmin = [...connect, '-D', ADMIN.dn, '-w', ADMIN.password];
    const add = async (name: string, entries: string[]) => {
      const file = join(folder, name);
      await writeFile(file, entries.join('\n'));
      return timed(() => addFile(scope, ldapadd, [...asAdmin, '-f', file]));
    };
    await add('first.ldif', [TOP, FOLDER, entry(users)]);
    say('users are moved into OpenLDAP');
    const ms = await add(
      'people.ldif',
      Array.from({ length: users }, (_, n) => entry(n)),
    );
    const search = ['-LLL', '-o', 'ldif-wrap=no', '-E', 'pr=1000/noprompt', '-b', PEOPLE];
    const found = await run(
      ldapsearch,
      [...asAdmin, ...search, '(objectClass=inetOrgPerson)', 'userPassword'],
      folder,
      {},
      signal,
    );
    expectCount('entries', found.match(/^dn:/gm)?.length ?? 0, users + 1);
    expectCount('hashes', found.match(/^userPassword:/gm)?.length ?? 0, users + 1);
    await run(ldapwhoami, [...connect, '-D', dnOf(users - 1), '-w', passwordOf(users - 1)], folder, {}, signal);
    return { ms, product: `OpenLDAP ${versionOf(slapd)}`, signsIn: true };
  },
};

async function startSlapd(scope: Scope, slapd: string, of: { folder: string; ldapwhoami: string }): Promise<string> {
  const { folder, ldapwhoami } = of;
  const config = join(folder, 'slapd.conf');
  await mkdir(join(folder, 'data'));
  await writeFile(config, settings(folder));
  const url = `ldap://127.0.0.1:${await claimPort('127.0.0.1', 0)}`;
  const server = await startKept(scope, 'TERM', [slapd, '-h', url, '-f', config, '-d', '0']);
  const ask = ['-x', '-H', url, '-D', ADMIN.dn, '-w', ADMIN.password];
  await untilReady('slapd', server, () =>
    run(ldapwhoami, ask, folder).then(
      () => true,
      () => false,
    ),
  );
  return url;
}

/** Those of Debian's package. */
function settings(folder: string): string {
  return `${['core', 'cosine', 'nis', 'inetorgperson'].map((name) => `include ${SCHEMAS}/${name}.schema`).join('\n')}
modulepath ${MODULES}
moduleload back_mdb
pidfile ${join(folder, 'pid')}
sizelimit 500
database mdb
suffix "${BASE}"
maxsize 1073741824
checkpoint 512 30
lastmod on
rootdn "${ADMIN.dn}"
rootpw "${ADMIN.password}"
directory ${join(folder, 'data')}
index objectClass eq
index cn,uid eq
index uidNumber,gidNumber eq
index member,memberUid eq
access to attrs=userPassword by self write by anonymous auth by * none
access to attrs=shadowLastChange by self write by * read
access to * by * read
`;
}

const TOP = `dn: ${BASE}\nobjectClass: dcObject\nobjectClass: organization\no: Acme\ndc: acme\n`;
const FOLDER = `dn: ${PEOPLE}\nobjectClass: organizationalUnit\nou: people\n`;

function entry(n: number): string {
  const { userName, profile, email, hashedPassword } = user(n);
  const values = {
    dn: dnOf(n),
    objectClass: 'inetOrgPerson',
    uid: userName,
    cn: profile.displayName,
    givenName: profile.firstName,
    sn: profile.lastName,
    displayName: profile.displayName,
    preferredLanguage: profile.preferredLanguage,
    // It takes ASCII only.
    mail: email.email.normalize('NFD').replace(/[^\x20-\x7e]/g, ''),
    userPassword: `{CRYPT}${hashedPassword.value}`,
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}:: ${Buffer.from(value).toString('base64')}\n`)
    .join('');
}

const dnOf = (n: number) => `uid=${user(n).userName},${PEOPLE}`;

/** @throws Error with what it wrote when it fails or takes too long */
async function addFile(scope: Scope, ldapadd: string, args: string[]): Promise<void> {
  const child = await scope.start(
    // It names each entry that it adds.
    async () => spawn(ldapadd, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: MOVE_MS }),
    async (started) => started.kill(),
  );
  let written = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`ldapadd ended with ${status}: ${written.slice(-1000)}`);
}

function versionOf(slapd: string): string {
  const { stderr } = spawnSync(slapd, ['-VV'], { encoding: 'utf8' });
  return /slapd (\d[\w.]*)/.exec(stderr)?.[1] ?? 'of an unknown version';
}
