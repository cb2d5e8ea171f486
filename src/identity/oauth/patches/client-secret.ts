/**
 * Patches oidc-provider 9.13: `compareClientSecret` of its clients compares a secret with the stored SHA-256. The
 * library expects to know the secret in clear, and has no setting for another comparison.
 * `test/identity/oauth/machine.test.ts` and `code.test.ts` fail when the library no longer calls it.
 */
import type Provider from 'oidc-provider';
import { secretMatches } from '../clients.ts';

export function compareStoredSecrets(provider: Provider): void {
  provider.Client.prototype.compareClientSecret = function compareClientSecret(shown: string) {
    return secretMatches(this.clientSecret, shown);
  };
}
