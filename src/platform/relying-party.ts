/**
 * Who Muster is to browsers and authenticators (WebAuthn level 3): the RP id that passkeys belong to, and the origins
 * whose pages may use them.
 *
 * An authenticator keeps each passkey for one RP id for ever, so a new RP id makes all passkeys useless.
 */
import { isIP } from 'node:net';

export interface RelyingParty {
  /** A domain name in lower case. */
  rpId: string;
  origins: readonly string[];
}

/** The settings that decide it (config.ts). */
export interface RelyingPartyConfig {
  baseUrl: string;
  WEBAUTHN_RP_ID?: string | undefined;
  WEBAUTHN_ORIGINS: readonly string[];
}

/**
 * Undefined where no browser has passkeys: at an IP address, and over http anywhere but at localhost (WebAuthn sections
 * 5.1.2 and 13.1).
 */
export function relyingParty(config: RelyingPartyConfig): RelyingParty | undefined {
  const { hostname, protocol } = new URL(config.baseUrl);
  if (isAddress(hostname) || (protocol !== 'https:' && !isLocalhost(hostname))) return undefined;
  return { rpId: config.WEBAUTHN_RP_ID ?? hostname, origins: originsOf(config) };
}

/** The origins whose pages may use the passkeys: our own first. */
export function originsOf({ baseUrl, WEBAUTHN_ORIGINS }: Omit<RelyingPartyConfig, 'WEBAUTHN_RP_ID'>): string[] {
  return [...new Set([new URL(baseUrl).origin, ...WEBAUTHN_ORIGINS])];
}

function isAddress(hostname: string): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}

function isLocalhost(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost');
}

/**
 * What is wrong with an RP id; undefined if pages of this address may use it: it is their host, or a parent domain
 * (WebAuthn section 4, "RP ID").
 */
export function rpIdProblem(rpId: string | undefined, baseUrl: string): string | undefined {
  const { hostname } = new URL(baseUrl);
  if (rpId === undefined || rpId === hostname) return undefined;
  const isParent = !isAddress(hostname) && hostname.endsWith(`.${rpId}`) && rpId.includes('.');
  return isParent ? undefined : `must be ${hostname}, the host of BASE_URL, or a parent domain of it`;
}

/** Whether a text is the origin of a page that may have passkeys. */
export function isPasskeyOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol, hostname } = new URL(text);
  return origin === text && (protocol === 'https:' || (protocol === 'http:' && isLocalhost(hostname)));
}
