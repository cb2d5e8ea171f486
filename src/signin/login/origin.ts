/** Where an attempt to log in comes from, and what its check needs. */
import { setTimeout } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { Logger } from 'pino';
import { callerOf } from '../../contract/permissions.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { Config } from '../../platform/config.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { goneSignal } from '../../platform/http/errors.ts';
import type { RelyingPartyConfig } from '../../platform/relying-party.ts';

/** Where an attempt comes from. */
export interface Origin {
  /** Attempts are counted by it; see `networkOf`. */
  network: string;
  /** User id of the program that sends it for the person; undefined if people send it themselves. Counted apart. */
  through?: string | undefined;
  /** The organization of a program that logs in others; what the programs of all networks have tried counts together. */
  throughOrg?: string | undefined;
  /** Aborted when the caller has gone: an attempt that has not begun is dropped. */
  clientAborted?: AbortSignal;
}

/** The origin of a form that people send themselves. */
export function originOfForm(req: Request, res: Response): Origin {
  return { network: networkOf(req.ip), clientAborted: goneSignal(res) };
}

/**
 * The origin of a call of the API. What one caller sends locks nobody for another caller, nor on the login page.
 * @param address of the person whom the caller logs in, if the caller names it
 */
export function originOfCall(req: Request, res: Response, address?: string): Origin {
  return { network: networkOf(address ?? req.ip), through: callerOf(res).userId, clientAborted: goneSignal(res) };
}

/** The origin of a call that logs in another user. @param address as in `originOfCall` */
export function originOfProgram(req: Request, res: Response, address: string | undefined): Origin {
  return { ...originOfCall(req, res, address), throughOrg: callerOf(res).orgId };
}

/** An internet provider gives a customer a /56 or more of IPv6, so one address says little; see RFC 6177. */
const IPV6_BITS = 56;

/**
 * The network of an IP address: an IPv4 address itself, as neighbours in a /24 are often strangers; of an IPv6 address
 * the /56. The limit of requests counts by the same.
 * @param address `req.ip`, which follows TRUST_PROXY; undefined when the connection has closed
 */
export function networkOf(address: string | undefined): string {
  return ipKeyGenerator(address ?? '', IPV6_BITS);
}

/** The time that answers to attempts are measured by. */
export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  sleep(ms: number): Promise<unknown>;
}

export const CLOCK: Clock = { now: () => performance.now(), sleep: (ms) => setTimeout(ms) };

/** The dependencies of a login check. */
export interface LoginDeps {
  pool: Pool;
  hasher: Hasher;
  secrets: Secrets;
  config: Pick<
    Config,
    'LOGIN_DELAY_MS' | 'LOCK_AFTER_FAILURES' | 'TOTP_WINDOW' | 'SMS_URL' | 'PASSWORD_SOURCE_ALLOW_PRIVATE'
  > &
    RelyingPartyConfig;
  logger: Logger;
  /** Default: the real one. */
  clock?: Clock;
}
