/**
 * The authorization server: sets up the protocol library, and again when the signing keys change.
 *
 * Guarantee: every URL in a response is based on the issuer, whatever host the request names. A process sees another
 * process's new key within CHECK_MS of its next request, long before that key signs.
 *
 * On crash: nothing is lost; everything that outlives a request is in the database.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import type { Logger } from 'pino';

import { auditTokens } from './audit/tokens.ts';
import { type ConfigurationDeps, configuration } from './configuration.ts';
import { answerFaults } from './faults.ts';
import { addGrants } from './grants.ts';
import { compareStoredSecrets } from './patches/client-secret.ts';
import { useIssuerAddress } from './patches/issuer-address.ts';
import { adaptParams } from './patches/params.ts';
import { deriveSuccessors } from './patches/refresh-successor.ts';
import { storeBeforeRemoving } from './patches/session-save.ts';
import { currentKeys, type KeySet, type SigningKeyDeps } from './signing-keys.ts';

/** How long the signing keys are cached before a request reads them again. */
const CHECK_MS = 10_000;

export interface ProviderDeps extends ConfigurationDeps {
  config: ConfigurationDeps['config'] & SigningKeyDeps['config'];
  logger: Logger;
}

export interface LiveProvider {
  /** The library with the current keys; call it again for each request. */
  current(): Provider;
  /** Answers a request to one of its addresses; first reads the signing keys if the cached ones are too old. */
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

/**
 * Creates the first signing key if there is none.
 * @throws StartError when the keys in the database cannot be decrypted
 */
export async function openProvider(deps: ProviderDeps, checkMs: number = CHECK_MS): Promise<LiveProvider> {
  let now = setUp(deps, await currentKeys(deps));
  let nextCheckAt = performance.now() + checkMs;

  async function refresh(): Promise<void> {
    const keys = await currentKeys(deps);
    if (keys.version !== now.version) now = setUp(deps, keys);
  }

  return {
    current: () => now.provider,
    async handle(req, res) {
      if (performance.now() >= nextCheckAt) {
        // Set before the read, so that one request reads and the others use the cached keys.
        nextCheckAt = performance.now() + checkMs;
        await refresh().catch((err) => deps.logger.warn({ err }, 'signing keys could not be read'));
      }
      await now.answer(req, res);
    },
  };
}

function setUp(deps: ProviderDeps, { keys, version }: KeySet) {
  const [signingKey] = keys;
  if (!signingKey) throw new Error('There is no signing key.');
  const provider = new Provider(deps.config.baseUrl, configuration(deps, keys));
  useIssuerAddress(provider);
  storeBeforeRemoving(provider);
  compareStoredSecrets(provider);
  adaptParams(provider);
  deriveSuccessors(provider, deps.secrets);
  addGrants(provider, { db: deps.pool, signingKey });
  answerFaults(provider, deps.logger);
  auditTokens(provider, deps.pool);
  return { provider, version, answer: provider.callback() };
}
