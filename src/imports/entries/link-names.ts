/**
 * What of a user decides which providers and passkeys sign them in, as texts that travel with the item: the names under
 * which they have links, and the domains for which their passkeys were made. A domain comes after a control character,
 * so that it is no name of a provider.
 */
import type { Extras } from './factors.ts';

/** The names of providers that are kept of one user, and the domains. */
export const MOST_NAMES = 20;

/** Before the domain of passkeys that sign in alone. */
const PASSKEY = '\u0001';
/** Before the domain of security keys. */
const SECURITY_KEY = '\u0002';
/** Before the number of passkeys and security keys of a domain, if there are several. */
const COUNT = '\u0003';
/** The first character of names of providers. */
export const FIRST_OF_NAMES = '\u0004';

/** The name of a domain's passkeys. */
export const passkeyName = (rpId: string) => `${PASSKEY}${rpId}`;

/** The names of an item, each once; null: it has none. */
export function linkNames({ extras }: { extras: Pick<Extras, 'idps' | 'passkeys'> | null }): string[] | null {
  const idps = extras?.idps ?? [];
  const passkeys = extras?.passkeys ?? [];
  if (idps.length + passkeys.length === 0) return null;
  const providers = idps.map(({ configId }) => configId).filter((name) => name >= FIRST_OF_NAMES);
  const names = [...namesOfPasskeys(passkeys), ...new Set(providers)].sort().slice(0, MOST_NAMES);
  return names.length > 0 ? names : null;
}

/** The names of passkeys and security keys. */
export function namesOfPasskeys(passkeys: readonly { rpId: string; passwordless: boolean }[]): string[] {
  const names = passkeys.map(({ rpId, passwordless }) => `${passwordless ? PASSKEY : SECURITY_KEY}${rpId}`);
  const byDomain = Map.groupBy(passkeys, ({ rpId }) => rpId);
  const counts = [...byDomain]
    .filter(([, own]) => own.length > 1)
    .map(([rpId, own]) => `${COUNT}${own.length} ${rpId}`);
  return [...new Set(names), ...counts];
}

/** Both lists of names, each once; of two numbers for one domain, the larger one. */
export function joinedNames(names: readonly string[], others: readonly string[]): string[] {
  return [...new Set([...names, ...others])].sort().slice(0, MOST_NAMES);
}

/** Whether a name is that of a provider. */
export function isProviderName(name: string): boolean {
  return name >= FIRST_OF_NAMES;
}

/** How many passkeys and security keys the names are of, by domain. */
export function passkeyCounts(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) {
    if (name >= FIRST_OF_NAMES) continue;
    const [, number, domain] = name[0] === COUNT ? (/^.(\d+) (.*)$/su.exec(name) ?? []) : [];
    const rpId = domain ?? name.slice(1);
    counts.set(rpId, Math.max(counts.get(rpId) ?? 1, Number(number ?? 1)));
  }
  return counts;
}

/** Which passkeys of a user can be used here. */
export interface PasskeysHere {
  hasPasskey: boolean;
  hasSecurityKey: boolean;
  hasOther: boolean;
  /** Browsers have passkeys here. */
  canAdd: boolean;
}

/** @param rpId undefined: no browser has passkeys here */
export function passkeysHere(names: readonly string[] | null, rpId: string | undefined): PasskeysHere {
  const has = (mark: string) => rpId !== undefined && names?.includes(`${mark}${rpId}`) === true;
  return {
    hasPasskey: has(PASSKEY),
    hasSecurityKey: has(SECURITY_KEY),
    hasOther: [...passkeyCounts(names ?? []).keys()].some((domain) => domain !== rpId),
    canAdd: rpId !== undefined,
  };
}
