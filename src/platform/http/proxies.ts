/**
 * Which proxies may say where a request comes from (TRUST_PROXY), and whether what arrives fits that setting.
 *
 * Guarantee: with networks, only an address in them is believed, so nobody else can choose their address. A number is
 * right only if every request passes exactly so many proxies; what contradicts it is told in the log and by `muster
 * doctor`.
 */
import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';

/** How many proxies are in front of the API, or the networks that they are in, as Express takes both. */
export type TrustProxy = number | string[];

/** How a request arrived. */
export interface Arrival {
  /** The address from which the connection came. */
  peer: string | undefined;
  /** How many addresses `X-Forwarded-For` has. */
  forwarded: number;
  /** Whether the setting believes the peer; with a number, every peer is believed. */
  isBelieved: boolean;
}

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;
/** Each contradiction is logged once in this time. */
const EVERY_MS = 3_600_000;

/** Logs what contradicts TRUST_PROXY. Mount it after the routes for machines, which connect without a proxy. */
export function warnOfProxies(trust: TrustProxy, logger: Pick<Logger, 'warn'>): RequestHandler {
  const told = new Map<string, number>();
  return (req, _res, next) => {
    const reason = contradictionOf(trust, arrivalOf(req));
    const last = told.get(reason ?? '') ?? Number.NEGATIVE_INFINITY;
    if (reason && performance.now() - last > EVERY_MS) {
      told.set(reason, performance.now());
      logger.warn({ reason }, 'TRUST_PROXY');
    }
    next();
  };
}

export function arrivalOf(req: Request): Arrival {
  const peer = req.socket?.remoteAddress;
  const header = req.get('x-forwarded-for') ?? '';
  const forwarded = header.split(',').filter((address) => address.trim() !== '').length;
  const believes = req.app.get('trust proxy fn') as (address: string | undefined, hop: number) => boolean;
  return { peer, forwarded, isBelieved: believes(peer, 0) };
}

/** @returns a sentence; undefined if the request fits the setting, or comes from this machine */
export function contradictionOf(trust: TrustProxy, { peer, forwarded, isBelieved }: Arrival): string | undefined {
  if (typeof trust !== 'number') {
    if (forwarded === 0 || isBelieved) return undefined;
    return 'A proxy that TRUST_PROXY does not list sends X-Forwarded-For: all callers behind it share one address.';
  }
  if (trust === 0) {
    if (forwarded === 0) return undefined;
    return 'A proxy sends X-Forwarded-For, and TRUST_PROXY is 0: all callers behind it share one address.';
  }
  if (forwarded >= trust || LOOPBACK.test(peer ?? '')) return undefined;
  return `TRUST_PROXY counts ${trust}, and only ${forwarded} addresses were forwarded: callers can choose their address. Set TRUST_PROXY to the networks of your proxies.`;
}
