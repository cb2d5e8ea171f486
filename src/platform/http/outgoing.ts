/**
 * One request to an address that somebody configured: a webhook, a password source, a gateway, an identity provider.
 *
 * Guarantee: connects only to a checked address, follows no redirect, keeps its time limit, and reads at most
 * `mostBytes` of the answer. Never throws because of the other side's behaviour. Unless private addresses are allowed,
 * the address is one of the public internet, so that nobody can make this service call hosts that only it can reach.
 * The check applies to the address that the connection uses: a name is resolved once for each attempt, so that a second
 * DNS answer cannot lead elsewhere. No IPv4 address embedded in an IPv6 address passes.
 */
import { lookup as systemLookup } from 'node:dns';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IPv4 ranges that are not public (IANA special-purpose address registry), multicast and reserved. */
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/**
 * Non-public ranges within the global unicast addresses (2000::/3): protocol assignments with Teredo, documentation,
 * and 6to4, which embeds an IPv4 address. Nothing outside of 2000::/3 is public.
 */
const PRIVATE_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const privateV4 = listOf(PRIVATE_V4, 'ipv4');
const privateV6 = listOf(PRIVATE_V6, 'ipv6');
const globalV6 = listOf(['2000::/3'], 'ipv6');
const mappedV4 = listOf(['::ffff:0:0/96'], 'ipv6');

/** The signature of `lookup` of node:dns; a parameter so that tests can replace it. */
export type Resolve = typeof systemLookup;

export interface ExchangeOptions {
  /** Allows private addresses and plain http. */
  allowPrivate: boolean;
  /** Time limit of the whole exchange. */
  timeoutMs: number;
  mostBytes: number;
  /** Aborts the exchange. */
  signal?: AbortSignal;
  /** For tests: another resolver. */
  resolve?: Resolve;
}

/** The answer, or why there is none: a code such as `ECONNREFUSED`. A longer body is cut off. */
export type ExchangeResult = { status: number; body: string } | { reason: string };

/** Sends a POST. */
export async function exchange(
  url: string,
  headers: Record<string, string>,
  body: string,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  const problem = targetProblem(url, options.allowPrivate);
  if (problem) return { reason: `the URL ${problem}` };
  try {
    const { status, body: answer } = await send(url, { method: 'POST', headers, body: Buffer.from(body) }, options);
    return { status, body: answer };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** A request of `guardedFetch` got no answer, or one that is too long. Its message says why, and holds no data. */
export class NoAnswer extends Error {}

/** What libraries use of `fetch`. */
type Fetch = (url: string, init?: Parameters<typeof fetch>[1]) => Promise<Response>;

/**
 * A `fetch` for libraries, under the same guard: it follows no redirect, whatever it is told, and a longer answer is an
 * error.
 */
export function guardedFetch(options: ExchangeOptions): Fetch {
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const problem = targetProblem(url, options.allowPrivate);
    if (problem) throw new NoAnswer(`the URL ${problem}`);
    const sent = { method, headers: Object.fromEntries(new Headers(headers)), body: bytesOf(body) };
    const answer = await send(url, sent, { ...options, ...(signal ? { signal } : {}) }).catch((error: unknown) => {
      throw new NoAnswer(reasonOf(error));
    });
    if (answer.isCut) throw new NoAnswer(`the answer is longer than ${options.mostBytes} bytes or broke off`);
    const { status, headers: given } = answer;
    if (status < 200 || status > 599) throw new NoAnswer(`answered ${status}`);
    const pairs = Object.entries(given).flatMap(([name, value]) =>
      [value ?? []].flat().map((one): [string, string] => [name, one]),
    );
    return new Response(BODYLESS.has(status) ? null : answer.body, { status, headers: pairs });
  };
}

/** Statuses whose responses have no body (Fetch standard, "null body status"). */
const BODYLESS: ReadonlySet<number> = new Set([204, 205, 304]);

function bytesOf(body: unknown): Buffer | undefined {
  return body === undefined || body === null ? undefined : Buffer.from(String(body));
}

interface Sent {
  method: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
}

interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** The answer is longer than `mostBytes`, or its connection broke. */
  isCut: boolean;
}

function send(url: string, { method, headers, body }: Sent, options: ExchangeOptions): Promise<Received> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
  const request = new URL(url).protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      agent: false, // keeps no connection, so each attempt resolves the address
      lookup: lookupFor(options.allowPrivate, options.resolve),
      headers: body ? { ...headers, 'content-length': body.length } : headers,
      signal,
    });
    sent.on('error', reject);
    sent.on('response', (answer) =>
      read(answer, options.mostBytes).then((text) => {
        const isCut = !answer.complete || Buffer.byteLength(text) > options.mostBytes;
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text, isCut });
      }),
    );
    sent.end(body);
  });
}

/** Reads a short response to its end and cuts off a long one; both count, as the status is known. */
function read(answer: IncomingMessage, mostBytes: number): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > mostBytes) answer.destroy();
    });
    answer.on('error', () => {}); // 'close' follows
    answer.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

function reasonOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || code === 'ABORT_ERR') return 'no answer in time';
  return error instanceof ForbiddenTarget ? message : (code ?? 'the request failed');
}

/**
 * Why a URL is refused before its name is resolved; undefined if it is allowed.
 * @param allowPrivate allows http and private addresses
 */
export function targetProblem(url: string, allowPrivate: boolean): string | undefined {
  if (allowPrivate) return undefined;
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:') return 'must start with https://';
  const address = literalAddress(hostname);
  if (address !== undefined && !isPublic(address)) return 'must lead to a public address';
  return /(?:^|\.)localhost\.?$/i.test(hostname) ? 'must lead to a public address' : undefined;
}

export class ForbiddenTarget extends Error {}

/** A lookup for one connection, which returns only public addresses unless `allowPrivate`. */
export function lookupFor(allowPrivate: boolean, resolve: Resolve = systemLookup): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      const good = found.filter(({ address }) => allowPrivate || isPublic(address));
      const [first] = good;
      if (!first) return done(new ForbiddenTarget('the host has no public address'), []);
      if (options.all) done(null, good);
      else done(null, first.address, first.family);
    });
  };
}

/** Whether it is an IP address of the public internet; false if it is not an IP address. */
export function isPublic(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !privateV4.check(address, 'ipv4');
    case 6:
      // An address with a zone (`fe80::1%eth0`) is link-local. Mapped addresses are not used on the public internet.
      if (address.includes('%') || mappedV4.check(address, 'ipv6')) return false;
      return globalV6.check(address, 'ipv6') && !privateV6.check(address, 'ipv6');
    default:
      return false;
  }
}

/** The host of a URL as an IP address, if it is one: `[::1]` without its brackets. */
export function literalAddress(host: string): string | undefined {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? undefined : bare;
}

function listOf(ranges: string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', prefix] = range.split('/');
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}
