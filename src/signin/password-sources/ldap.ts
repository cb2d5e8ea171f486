/**
 * A directory: a simple bind over TLS, with the name of the user's entry, which is made from a template or searched.
 *
 * A directory may be anybody's. `ldapts` reads the messages of a chunk by recursion, and joins the chunks of an
 * incomplete message again with each of them, so some tens of kilobytes would end the process, and a long message would
 * fill its memory. So `passMessages` hands the answers on one by one, complete, and few of them.
 *
 * Guarantee: no password is sent before TLS is established and the certificate checked. An empty password is never
 * sent, as a directory takes it for an anonymous bind and says yes (RFC 4513, section 5.1.2). Names cannot change the
 * meaning of a DN or a filter. No attribute is read. `ldapts` gets at most MOST_BYTES of a connection. What arrives
 * without TLS is never read as a part of what comes after (response injection).
 */
import type { Socket } from 'node:net';
import net from 'node:net';
import tls from 'node:tls';
import { Client, InappropriateAuthError, InvalidCredentialsError, NoSuchObjectError } from 'ldapts';
import { ForbiddenTarget, isPublic, literalAddress, lookupFor } from '../../platform/http/outgoing.ts';
import { withTimeout } from '../../platform/timeouts.ts';
import { type Check, type CheckOptions, NO, type SourceAnswer, unavailable, YES } from './answer.ts';

export interface LdapSettings {
  /** `ldaps://`, or `ldap://`, where StartTLS comes first. */
  url: string;
  /** `uid={name},ou=people,dc=acme`; absent: the entry is searched. */
  userDn?: string;
  searchBase?: string;
  /** `(uid={name})` */
  searchFilter?: string;
  /** The DN that searches; absent: anonymously. */
  bindDn?: string;
  /** PEM; absent: the certificate authorities of Node.js. */
  caCertificate?: string | undefined;
}
export interface LdapSecrets {
  bindPassword?: string;
}

/** Asks a directory about a password. */
export async function checkLdap(
  settings: LdapSettings & LdapSecrets,
  check: Check,
  { timeoutMs, allowPrivate }: CheckOptions,
): Promise<SourceAnswer> {
  if (check.password === '') return NO;
  const sockets: Socket[] = [];
  try {
    const client = openClient(settings, { timeoutMs, allowPrivate }, (socket) => sockets.push(socket));
    return await withTimeout(bindAs(client, settings, check), timeoutMs, 'the directory');
  } catch (error) {
    return unavailable(reasonOf(error), isDown(error));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function openClient(
  { url, caCertificate }: LdapSettings,
  { timeoutMs, allowPrivate }: CheckOptions,
  opened: (socket: Socket) => void,
): Client {
  const { hostname, protocol, host: authority } = new URL(url);
  const host = literalAddress(hostname) ?? hostname;
  const lookup = lookupFor(allowPrivate);
  const trust = {
    ...(caCertificate === undefined ? {} : { ca: caCertificate }),
    ...(net.isIP(host) ? { host } : { servername: host }),
  };
  if (!allowPrivate && net.isIP(host) && !isPublic(host)) throw new ForbiddenTarget('the host has no public address');
  function keep<T extends Socket>(socket: T): T {
    // The client listens only until it is connected.
    socket.on('error', () => {});
    opened(socket);
    return passMessages(socket);
  }
  return new Client({
    url: `${protocol}//${authority}`,
    timeout: timeoutMs,
    connectTimeout: timeoutMs,
    strictDN: false,
    // The client calls only these forms.
    createConnection: ((port: number) => keep(net.connect({ port, host, lookup }))) as typeof net.connect,
    createSecureConnection: ((at: number | tls.ConnectionOptions) =>
      keep(
        tls.connect(typeof at === 'number' ? { ...trust, port: at, host, lookup } : { ...at, ...trust }),
      )) as typeof tls.connect,
    ...(protocol === 'ldaps:' ? { tlsOptions: trust } : {}),
  });
}

async function bindAs(
  client: Client,
  settings: LdapSettings & LdapSecrets,
  { name, password }: Check,
): Promise<SourceAnswer> {
  // The text of the URL may begin with a blank, or be in capitals.
  if (new URL(settings.url).protocol !== 'ldaps:') await client.startTLS({});
  const dn = settings.userDn
    ? settings.userDn.replaceAll('{name}', () => escapeDn(name))
    : await findDn(client, settings, name);
  if (dn === undefined) return NO;
  try {
    await client.bind(dn, password);
    return YES;
  } catch (error) {
    if (isRefusal(error)) return NO;
    throw error;
  }
}

/** The name of the only entry that the filter finds. */
async function findDn(client: Client, settings: LdapSettings & LdapSecrets, name: string): Promise<string | undefined> {
  const { bindDn, bindPassword, searchBase = '', searchFilter = '' } = settings;
  if (bindDn !== undefined && bindPassword) await client.bind(bindDn, bindPassword);
  const { searchEntries } = await client.search(searchBase, {
    scope: 'sub',
    filter: searchFilter.replaceAll('{name}', () => escapeFilter(name)),
    attributes: ['1.1'],
    sizeLimit: 2,
  });
  return searchEntries.length === 1 ? searchEntries[0]?.dn : undefined;
}

/** The password is wrong, there is no such entry, or it has no password. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof InvalidCredentialsError ||
    error instanceof NoSuchObjectError ||
    error instanceof InappropriateAuthError
  );
}

/** RFC 4514, section 2.4. */
export function escapeDn(value: string): string {
  return value
    .replace(/[\\,+"<>;=\0]/g, (c) => (c === '\0' ? '\\00' : `\\${c}`))
    .replace(/^[ #]/, (c) => `\\${c}`)
    .replace(/ $/, '\\ ');
}

/** RFC 4515, section 3. */
export function escapeFilter(value: string): string {
  return value.replace(/[\\*()\0]/g, (c) => `\\${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** Not for a refusal by the directory, unless it says that it is busy (51) or unavailable (52). */
function isDown(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  if (error instanceof ForbiddenTarget) return false;
  return typeof code !== 'number' || code === 51 || code === 52;
}

function reasonOf(error: unknown): string {
  if (error instanceof ForbiddenTarget) return error.message;
  const { code, name } = error as { code?: unknown; name?: string };
  return typeof code === 'string'
    ? code
    : typeof code === 'number'
      ? `${name} (LDAP ${code})`
      : 'the connection failed';
}

/**
 * The most that a connection may send: the answers to a search without attributes and to a bind take some hundreds of
 * bytes.
 */
const MOST_BYTES = 64 * 2 ** 10;
const SEQUENCE = 0x30;
const LONG_FORM = 0x80;
const MOST_LENGTH_BYTES = 4;

/** From now on, each event `data` of the socket is one message. Destroys the socket if it sends something else. */
export function passMessages<T extends Socket>(socket: T): T {
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
  let waiting: Buffer = Buffer.alloc(0);
  let bytes = 0;

  function pass(chunk: Buffer): boolean {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return refuse('sent too much');
    waiting = Buffer.concat([waiting, chunk]);
    for (let length = messageLength(waiting); length !== undefined; length = messageLength(waiting)) {
      if (Number.isNaN(length) || length > MOST_BYTES) return refuse('sent no LDAP');
      if (waiting.length < length) break;
      const message = waiting.subarray(0, length);
      waiting = waiting.subarray(length);
      if (!socket.destroyed) emit('data', message);
    }
    return true;
  }

  function refuse(what: string): false {
    socket.destroy(new Error(`the directory ${what}`));
    return false;
  }

  socket.emit = ((event: string | symbol, ...args: unknown[]) =>
    event === 'data' ? pass(args[0] as Buffer) : emit(event, ...args)) as T['emit'];
  return socket;
}

/**
 * Bytes of the message that begins here (BER, X.690 section 8.1); undefined before its length has arrived, NaN if it is
 * none.
 */
export function messageLength(bytes: Buffer): number | undefined {
  const [tag, first] = bytes;
  if (tag !== undefined && tag !== SEQUENCE) return Number.NaN;
  if (first === undefined) return undefined;
  if (first < LONG_FORM) return 2 + first;
  const size = first - LONG_FORM;
  if (size === 0 || size > MOST_LENGTH_BYTES) return Number.NaN;
  return bytes.length < 2 + size ? undefined : 2 + size + bytes.readUIntBE(2, size);
}
