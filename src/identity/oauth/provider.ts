/**
 * The authorization server: the protocol library, set up, and set up anew when the signing keys change.
 *
 * Guarantee: every address that it writes into an answer comes from the issuer, whatever the request says its host is. A
 * process sees another process's new key within CHECK_MS of its next request, long before that key signs. If we die here
 * nothing is lost: what outlives a request is in the database.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import type { Logger } from 'pino';

import { secretMatches } from './clients.ts';
import { type ConfigurationDeps, configuration } from './configuration.ts';
import { answerFaults } from './faults.ts';
import { addGrants } from './grants.ts';
import { adaptParams } from './params.ts';
import { currentKeys, type KeySet, type SigningKeyDeps } from './signing-keys.ts';

/** How old what is known of the signing keys may be when a request comes. */
const CHECK_MS = 10_000;

export interface ProviderDeps extends ConfigurationDeps {
  config: ConfigurationDeps['config'] & SigningKeyDeps['config'];
  logger: Logger;
}

export interface LiveProvider {
  /** The library as it is set up now; ask anew for each request. */
  current(): Provider;
  /** Answers a request to one of its addresses; looks at the signing keys first when the last look is too long ago. */
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

/**
 * Makes the first signing key where there is none.
 * @throws StartError when the keys in the database do not open
 */
export async function openProvider(deps: ProviderDeps, checkMs: number = CHECK_MS): Promise<LiveProvider> {
  let now = setUp(deps, await currentKeys(deps));
  let lookAgainAt = performance.now() + checkMs;

  async function look(): Promise<void> {
    const keys = await currentKeys(deps);
    if (keys.version !== now.version) now = setUp(deps, keys);
  }

  return {
    current: () => now.provider,
    async handle(req, res) {
      if (performance.now() >= lookAgainAt) {
        // Before the look, so that one request looks and the others go on with what is known.
        lookAgainAt = performance.now() + checkMs;
        await look().catch((err) => deps.logger.warn({ err }, 'the signing keys could not be read'));
      }
      await now.answer(req, res);
    },
  };
}

function setUp(deps: ProviderDeps, { keys, version }: KeySet) {
  const [signingKey] = keys;
  if (!signingKey) throw new Error('there is no signing key');
  const provider = new Provider(deps.config.baseUrl, configuration(deps, keys));
  standForIssuer(provider);
  storeBeforeRemoving(provider);
  provider.Client.prototype.compareClientSecret = function compareClientSecret(shown: string) {
    return secretMatches(this.clientSecret, shown);
  };
  adaptParams(provider);
  addGrants(provider, { db: deps.pool, signingKey });
  answerFaults(provider, deps.logger);
  return { provider, version, answer: provider.callback() };
}

/** Behind a proxy a request may name another host, scheme and path than the public ones. */
function standForIssuer(provider: Provider): void {
  const { protocol, host, pathname } = new URL(provider.issuer);
  Object.defineProperties(provider.request, {
    protocol: { get: () => protocol.slice(0, -1) },
    host: { get: () => host },
  });
  Object.assign(provider.context, { mountPath: pathname === '/' ? '' : pathname });
}

/**
 * A login gives its session another id, and the library removes the old row before it stores the new one. A token that is
 * bound to the session and used in between would be refused.
 */
function storeBeforeRemoving(provider: Provider): void {
  const { prototype } = provider.Session;
  const { save } = prototype;
  prototype.save = async function saveFirst(this: InstanceType<Provider['Session']> & { oldId?: string }, ttl) {
    const { oldId } = this;
    delete this.oldId;
    const id = await save.call(this, ttl);
    if (oldId) await this.adapter.destroy(oldId);
    return id;
  };
}
