/**
 * The connection to a directory, and what its errors mean.
 *
 * Guarantee: neither a password nor a user crosses a network in clear text, and the certificate is checked. What
 * arrived before TLS is never read as a part of what comes after it (response injection).
 */
import { readFile } from 'node:fs/promises';
import net, { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Client } from 'ldapts';
import { UsageError } from '../../../sources/source.ts';
import { optionOf, secretOf } from '../../settings.ts';
import { driverOf } from '../../sql/database.ts';
import { PullError, type PullSettings, type Trouble } from '../../system.ts';

const CONNECT_MS = 20_000;
const OPERATION_MS = 120_000;
/** Characters of a server's message that are shown. */
const MOST_SAID = 2000;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** @throws UsageError */
export function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^ldaps?:$/.test(url.protocol) && url.username === '' && /^\/?$/.test(url.pathname)) return url;
  throw new UsageError('--host must be ldaps://host or ldap://host, with a port if it is not the usual one.');
}

/** Without TLS on the same machine only: the password and the users would cross the network in clear text. */
export async function connected(url: URL, settings: PullSettings): Promise<Client> {
  const { Client } = await driverOf('ldapts', import('ldapts'));
  const tls = await tlsOptions(url, settings);
  const startsTls = url.protocol === 'ldap:' && (!LOOPBACK.test(url.hostname) || tls.ca !== undefined);
  const inClear: Buffer[] = [];
  const client = new Client({
    url: `${url.protocol}//${url.host}`,
    timeout: OPERATION_MS,
    connectTimeout: CONNECT_MS,
    strictDN: false,
    ...(url.protocol === 'ldaps:' ? { tlsOptions: tls } : {}),
    ...(startsTls ? { createConnection: recording(inClear) } : {}),
  });
  try {
    if (startsTls) {
      await client.startTLS(tls);
      requireOneMessage(Buffer.concat(inClear));
    }
    const bindDn = optionOf(settings, 'bind-dn');
    if (bindDn !== undefined) await client.bind(bindDn, secretOf(settings, 'password'));
  } catch (error) {
    await client.unbind().catch(() => {}); // the first error says more
    throw asPullError(error as Error);
  }
  return client;
}

/** Keeps what arrives before TLS: the socket then hands its bytes to TLS alone. */
function recording(chunks: Buffer[]): typeof net.connect {
  return ((port: number, host: string) =>
    net.connect(port, host).on('data', (chunk) => void chunks.push(chunk))) as typeof net.connect;
}

/** The answer to StartTLS, of fewer than 128 bytes, and nothing else. @throws PullError */
function requireOneMessage(bytes: Buffer): void {
  const [, length = 0] = bytes;
  if (length < 0x80 && bytes.length === 2 + length) return;
  throw new PullError('failed', 'LDAP: the directory sent more than its answer before TLS.', 'Use ldaps:// instead.');
}

async function tlsOptions({ hostname }: URL, settings: PullSettings): Promise<ConnectionOptions> {
  const path = optionOf(settings, 'ca-file');
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    minVersion: 'TLSv1.2',
    // The name that the certificate must have; SNI allows no addresses.
    ...(isIP(host) ? { host } : { servername: host }),
    ...(path === undefined ? {} : { ca: await certificatesIn(path) }),
  };
}

async function certificatesIn(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`The file of --ca-file cannot be read: ${error.message}.`);
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new UsageError('--ca-file must be a file with certificates in PEM.');
}

/** Result codes of RFC 4511 appendix A. */
const [SIZE_LIMIT, STRONGER_AUTH, INVALID_CREDENTIALS, INSUFFICIENT_ACCESS] = [4, 8, 49, 50];

/** Of OpenSSL, by way of Node.js. */
const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_)/;

export function asPullError(error: Error & { code?: number | string }): Error {
  if (error instanceof PullError) return error;
  const { code } = error;
  if (code === SIZE_LIMIT) {
    return new PullError(
      'failed',
      'LDAP: the directory limits the number of entries that this user may read.',
      'Raise the limit for the bind DN: olcLimits in OpenLDAP, nsSizeLimit in 389 Directory Server.',
    );
  }
  if (typeof code === 'string' && UNTRUSTED.test(code)) {
    return new PullError(
      'unreachable',
      `LDAP: the certificate of the directory is not trusted: ${error.message}.`,
      'Name a file with the certificate of its authority: --ca-file ca.pem.',
    );
  }
  const isDenied = code === STRONGER_AUTH || code === INVALID_CREDENTIALS || code === INSUFFICIENT_ACCESS;
  const trouble: Trouble = isDenied ? 'denied' : typeof code === 'number' ? 'failed' : 'unreachable';
  return new PullError(trouble, `LDAP: ${said(error.message)}.`);
}

/** Without the code that ldapts adds; a server's text may be long. */
function said(message: string): string {
  return message
    .slice(0, MOST_SAID)
    .replace(/\s+Code: 0x\w+$/, '')
    .replace(/\.$/, '');
}
