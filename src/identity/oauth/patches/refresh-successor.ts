/**
 * Patches oidc-provider 9.13: `generateTokenId` of its refresh tokens. The token that replaces a rotated one is
 * computed from it with a key of the service, so that two requests with the same token get the same successor.
 *
 * This makes the grace period of `adapter.ts` safe: two tabs that refresh at once go on with one token, there is never
 * a second line of tokens, and a stolen token is still detected when both holders go on (RFC 9700 section 4.14.2).
 * `test/identity/oauth/refresh.test.ts` fails when the library no longer calls it.
 */
import { createHmac } from 'node:crypto';
import Provider from 'oidc-provider';
import type { Secrets } from '../../../secrets.ts';

interface Token {
  jti: string;
}

export function deriveSuccessors(provider: Provider, secrets: Secrets): void {
  const key = secrets.key('refresh-successor');
  const prototype = provider.RefreshToken.prototype as unknown as { generateTokenId(): string };
  const { generateTokenId } = prototype;
  prototype.generateTokenId = function successor() {
    const rotated = Provider.ctx?.oidc.entities.RotatedRefreshToken as Token | undefined;
    return rotated ? createHmac('sha256', key).update(rotated.jti).digest('base64url') : generateTokenId.call(this);
  };
}
