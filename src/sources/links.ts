/** Removes repeated links to identity providers: the service rejects a user with the same link twice. */
import type { ProviderLink } from './person.ts';

/** Keeps the first link to the same account at the same provider. */
export function eachOnce(links: readonly ProviderLink[]): ProviderLink[] {
  const keyOf = ({ provider, externalUserId }: ProviderLink) => JSON.stringify([provider, externalUserId]);
  return [...new Map(links.toReversed().map((link) => [keyOf(link), link])).values()].reverse();
}
