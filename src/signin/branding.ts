/**
 * Whose name, logo and language the pages of a request have: of the organization, as soon as it is known, and of the
 * instance before that.
 *
 * Guarantee: an organization is known if the application named it, or if somebody has proved who they are: by a password,
 * a code, or the session of their browser. Never by a name that was typed: else a page would tell who exists.
 * While the store does not answer, or not in time, pages have no branding; they are shown all the same where they can be.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { type BrandingOf, brandingFor } from '../directory/branding.ts';
import { LOGO_PATH } from '../messages/mail/branding.ts';
import type { Config } from '../platform/config.ts';
import { isStoreFault } from '../platform/db/faults.ts';
import type { Db } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { openFairQueue } from '../platform/fair-queue.ts';
import { currentBranding, setBranding } from '../platform/html/branding.ts';
import { wishFor } from '../platform/messages/catalogue.ts';

export interface BrandingDeps {
  pool: Db;
  config: Pick<Config, 'baseUrl'>;
}

/** How long a page waits for its branding, in milliseconds. */
const MOST_MS = 2000;
/** Pages that read their branding at the same time: while that takes long, the other connections are for others. */
const reads = openFairQueue({ limit: 4 });

/** Gives the pages of this request their branding, with one statement. Without an organization: of the instance. */
export async function showBrandingOf({ pool, config }: BrandingDeps, of: BrandingOf): Promise<void> {
  try {
    const read = await inTime((signal) =>
      reads.run(of.orgId ?? of.userId ?? '', () => brandingFor(pool, of), { signal }),
    );
    if (!read) return;
    const { branding, languages } = read;
    const { logoHash, ...fields } = branding;
    const path = new URL(config.baseUrl).pathname.replace(/\/$/, '') + LOGO_PATH;
    setBranding({ ...fields, logoPath: logoHash === undefined ? undefined : `${path}/${logoHash}` });
    wishFor(languages);
  } catch (error) {
    // What else the page reads says that the store is away.
    if (!isStoreFault(error)) throw error;
  }
}

/** Undefined if it takes longer than MOST_MS: then what waits is dropped, and what runs is of no use to the page. */
async function inTime<T>(read: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const end = new AbortController();
  const limit = sleep(MOST_MS, undefined, { ref: false, signal: end.signal }).catch(() => undefined);
  return Promise.race([limit, read(end.signal)]).finally(() => end.abort());
}

/** For pages on which no organization is ever known. */
export function instanceBranding(deps: BrandingDeps): RequestHandler {
  return async (_req, _res, next) => {
    await showBrandingOf(deps, {});
    next();
  };
}

/** Gives the branding to pages for errors; mount it before what shows them. A refused attempt costs no statement. */
export function brandErrors(deps: BrandingDeps): ErrorRequestHandler {
  return async (error: unknown, _req, _res, next) => {
    const isRefused = error instanceof ApiError && error.http === 429;
    if (!currentBranding() && !isRefused && !isStoreFault(error)) await showBrandingOf(deps, {});
    next(error);
  };
}
