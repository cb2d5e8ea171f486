/**
 * A real OpenLDAP server with TLS, on free loopback ports, and a directory of people.
 *
 * On crash: it ends with this process, as its keeper reads a pipe that this process holds open.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from './certificate.ts';
import { freePort } from './free-port.ts';
import { findProgram } from './runner/programs.ts';
import { waitFor } from './wait.ts';

const KEEPER = `exec 3<&0; "$@" & server=$!; { read -r _ <&3; kill -s INT $server; } & wait $server`;
const SCHEMAS = ['core', 'cosine', 'inetorgperson'];

export interface Slapd {
  /** `ldaps://localhost:…` */
  url: string;
  /** `ldap://localhost:…`, with StartTLS. */
  plainUrl: string;
  /** Of the authority that signed its certificate. */
  caCertificate: string;
  base: string;
  adminDn: string;
  adminPassword: string;
  stop(): Promise<void>;
}

export interface Entry {
  uid: string;
  password?: string;
}

/** @param people entries below `ou=people` */
export async function startSlapd(people: readonly Entry[]): Promise<Slapd> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-slapd-'));
  const base = 'dc=acme,dc=example';
  const admin = { adminDn: `cn=admin,${base}`, adminPassword: 'admin secret' };
  makeCertificate(dir);
  await mkdir(join(dir, 'data'));
  const config = join(dir, 'slapd.conf');
  await writeFile(config, settings(dir, base, admin));
  await writeFile(join(dir, 'people.ldif'), ldif(base, people));
  const program = findProgram('slapd') as string;
  execFileSync(program, ['-T', 'add', '-f', config, '-l', join(dir, 'people.ldif')], { stdio: 'pipe' });
  const [port, plainPort] = [await freePort(), await freePort()];
  const [url, plainUrl] = [`ldaps://localhost:${port}`, `ldap://localhost:${plainPort}`];
  const command = ['-c', KEEPER, 'sh', program, '-h', `${url} ${plainUrl}`, '-f', config, '-d', '0'];
  const child = spawn('/bin/sh', command, { cwd: '/', stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = once(child, 'exit');
  await waitFor(() => listens(port), { what: 'slapd' });
  return {
    ...{ url, plainUrl, base, ...admin },
    caCertificate: await readFile(join(dir, 'tls.crt'), 'utf8'),
    async stop() {
      child.stdin.end();
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function settings(dir: string, base: string, admin: { adminDn: string; adminPassword: string }): string {
  return `${SCHEMAS.map((name) => `include /etc/ldap/schema/${name}.schema`).join('\n')}
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile ${join(dir, 'pid')}
TLSCertificateFile ${join(dir, 'tls.crt')}
TLSCertificateKeyFile ${join(dir, 'tls.key')}
security simple_bind=1
disallow bind_anon
database mdb
maxsize 16777216
suffix "${base}"
rootdn "${admin.adminDn}"
rootpw "${admin.adminPassword}"
directory ${join(dir, 'data')}
access to attrs=userPassword by anonymous auth by * none
access to * by users read
`;
}

function ldif(base: string, people: readonly Entry[]): string {
  const entry = ({ uid, password }: Entry) => {
    const dn = Buffer.from(`uid=${uid.replace(/[\\,+"<>;=]/g, (c) => `\\${c}`)},ou=people,${base}`).toString('base64');
    const secret = password === undefined ? '' : `userPassword:: ${Buffer.from(password).toString('base64')}\n`;
    return `dn:: ${dn}
objectClass: inetOrgPerson
uid:: ${Buffer.from(uid).toString('base64')}
cn: A person
sn: Person
${secret}`;
  };
  const top = `dn: ${base}\nobjectClass: dcObject\nobjectClass: organization\no: Acme\ndc: acme\n`;
  const folder = `dn: ou=people,${base}\nobjectClass: organizationalUnit\nou: people\n`;
  return [top, folder, ...people.map(entry)].join('\n');
}

function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
