/**
 * What DNS says about the domain of the sender: who may send its mails (SPF, RFC 7208), the key of their signatures
 * (DKIM, RFC 6376), and what receivers do with mails that pass neither (DMARC, RFC 7489).
 *
 * Guarantee: answers within LIMIT_MS. What DNS does not answer is unknown, never missing.
 */
import { Resolver } from 'node:dns/promises';
import { getDomain } from 'tldts';
import type { DkimFacts, DmarcFacts, SenderFacts, SpfFacts } from '../../contract/diagnostics.ts';

export interface SenderQuestion {
  domain: string;
  /** Of the key that signs the mails; undefined: not known. */
  selector: string | undefined;
  /** Servers of DNS, `address:port`; default: the servers of this machine. */
  servers?: readonly string[] | undefined;
}

const TRY_MS = 900;
const TRIES = 2;
const LIMIT_MS = 5000;
/** There is no such domain, or it has no record of this type. */
const MISSING = ['ENOTFOUND', 'ENODATA'];

/** Asks for all three. */
export async function readSenderRecords({ domain, selector, servers }: SenderQuestion): Promise<SenderFacts> {
  return withResolver(servers, async (texts) => {
    const [spf, dkim, dmarc] = await Promise.all([
      known(spfOf(texts, domain)),
      selector === undefined ? { state: 'NO_SELECTOR' as const } : known(dkimOf(texts, domain, selector)),
      known(dmarcOf(texts, domain)),
    ]);
    return { domain, spf, dkim, dmarc };
  });
}

/** Asks for the SPF record alone. */
export async function readSpf({ domain, servers }: Omit<SenderQuestion, 'selector'>): Promise<SpfFacts> {
  return withResolver(servers, (texts) => known(spfOf(texts, domain)));
}

/** The TXT records of a name, each joined; none where there are none. @throws Error when DNS does not answer */
type Texts = (name: string) => Promise<string[]>;

async function withResolver<T>(servers: readonly string[] | undefined, work: (texts: Texts) => Promise<T>): Promise<T> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), LIMIT_MS);
  let isOver = false;
  timer.unref();
  const end = performance.now() + LIMIT_MS;
  try {
    return await work(async (name) => {
      isOver ||= performance.now() > end;
      if (isOver) throw new Unanswered(name);
      return textsOf(resolver, name);
    });
  } finally {
    clearTimeout(timer);
  }
}

class Unanswered extends Error {}

async function textsOf(resolver: Resolver, name: string): Promise<string[]> {
  try {
    return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
  } catch (error) {
    if (MISSING.includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw new Unanswered(name, { cause: error });
  }
}

async function known<T>(facts: Promise<T>): Promise<T | { state: 'UNKNOWN' }> {
  try {
    return await facts;
  } catch (error) {
    if (error instanceof Unanswered) return { state: 'UNKNOWN' };
    throw error;
  }
}

/** More than ten terms that ask DNS are a permanent error (RFC 7208, section 4.6.4). */
const MOST_LOOKUPS = 10;

async function spfOf(texts: Texts, domain: string): Promise<SpfFacts> {
  const records = (await texts(domain)).filter(isSpf);
  const [record] = records;
  if (record === undefined) return { state: 'NONE' };
  if (records.length > 1) return { state: 'SEVERAL' };
  const walk = { lookups: 0, withoutRecord: undefined as string | undefined };
  await count(texts, record, walk);
  const found = { record, lookups: walk.lookups };
  if (walk.lookups > MOST_LOOKUPS) return { state: 'TOO_MANY_LOOKUPS', ...found };
  if (walk.withoutRecord !== undefined) return { state: 'BROKEN_INCLUDE', ...found, include: walk.withoutRecord };
  if (/(?:^| )\+?all(?: |$)/i.test(record)) return { state: 'ALLOWS_ALL', ...found };
  return { state: 'FOUND', ...found };
}

function isSpf(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text);
}

/** Terms that a receiver asks DNS for, also those of included records. A macro is counted, and leads nowhere here. */
async function count(
  texts: Texts,
  record: string,
  walk: { lookups: number; withoutRecord: string | undefined },
): Promise<void> {
  const terms = record.split(/ +/).slice(1);
  // `redirect` counts for nothing beside `all`.
  const hasAll = terms.some((term) => /^[+?~-]?all$/i.test(term));
  for (const term of terms) {
    const [, name = '', target = ''] =
      /^[+?~-]?(include|a|mx|ptr|exists|redirect)(?:[:=]([^/]*))?(?:\/.*)?$/i.exec(term) ?? [];
    if (name === '' || (name.toLowerCase() === 'redirect' && hasAll)) continue;
    walk.lookups++;
    if (walk.lookups > MOST_LOOKUPS) return;
    if (!/^(include|redirect)$/i.test(name) || target.includes('%')) continue;
    const included = (await texts(target)).filter(isSpf);
    if (included.length !== 1) walk.withoutRecord ??= target;
    else await count(texts, included[0] as string, walk);
  }
}

async function dkimOf(texts: Texts, domain: string, selector: string): Promise<DkimFacts> {
  const name = `${selector}._domainkey.${domain}`;
  const keys = (await texts(name))
    .map(tagsOf)
    .filter((tags) => tags.p !== undefined && (tags.v ?? 'DKIM1') === 'DKIM1');
  const [key] = keys;
  if (!key) return { state: 'NONE', name };
  if (keys.length > 1) return { state: 'SEVERAL', name };
  return { state: key.p === '' ? 'REVOKED' : 'FOUND', name };
}

/** Of the domain, or else of the organizational domain above it (RFC 7489, section 6.6.3). */
async function dmarcOf(texts: Texts, domain: string): Promise<DmarcFacts> {
  const organizational = getDomain(domain, { allowPrivateDomains: true });
  const domains = [...new Set([domain, ...(organizational === null ? [] : [organizational])])];
  for (const at of domains) {
    const name = `_dmarc.${at}`;
    const records = (await texts(name)).filter((text) => /^v=DMARC1 *(?:;|$)/.test(text));
    if (records.length > 1) return { state: 'SEVERAL', name };
    const tags = records[0] === undefined ? undefined : tagsOf(records[0]);
    if (!tags) continue;
    const policy = (at === domain ? tags.p : (tags.sp ?? tags.p))?.toLowerCase();
    if (policy !== 'none' && policy !== 'quarantine' && policy !== 'reject') return { state: 'INVALID', name };
    return { state: 'FOUND', name, policy };
  }
  return { state: 'NONE', name: `_dmarc.${organizational ?? domain}` };
}

/** `v=DKIM1; k=rsa; p=…` as an object. */
function tagsOf(text: string): Record<string, string | undefined> {
  const pairs = text.split(';').map((pair) => /^\s*(\w+)\s*=\s*([\s\S]*?)\s*$/.exec(pair));
  return Object.fromEntries(pairs.flatMap((pair) => (pair ? [[(pair[1] as string).toLowerCase(), pair[2]]] : [])));
}
