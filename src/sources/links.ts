/** Links of a user to outside providers, each once: the service refuses a user who has one twice. */
import type { ProviderLink } from './person.ts';

/** Of the same account at the same provider the first stays. */
export function eachOnce(links: readonly ProviderLink[]): ProviderLink[] {
  const keyOf = ({ provider, externalUserId }: ProviderLink) => JSON.stringify([provider, externalUserId]);
  return [...new Map(links.toReversed().map((link) => [keyOf(link), link])).values()].reverse();
}
