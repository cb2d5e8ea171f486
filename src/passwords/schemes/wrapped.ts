/** A prefix and a hash of another scheme, made from the password itself or from a value derived from it. */
import { defineScheme, type Scheme, type Secret } from '../scheme.ts';

/**
 * The inner hash decides whether it is accepted and whether it matches.
 * @param prefix precedes the inner hash, which begins with `$`
 * @param expected what the inner hash must be, for the message
 * @param readings the values that may have been hashed for a password
 */
export function wrappedScheme(definition: {
  name: string;
  prefix: string;
  inside: readonly Scheme[];
  expected: string;
  readings: (password: Secret) => Secret[];
  /** The largest number of readings; default: 1. */
  mostReadings?: number;
  seesAll?: (password: string) => boolean;
}): Scheme {
  const { name, prefix, inside, expected, readings, mostReadings = 1, seesAll = () => true } = definition;
  function parse(encoded: string): { scheme: Scheme; hash: string } | string {
    const hash = encoded.slice(prefix.length);
    const scheme = inside.find((one) => one.matches(hash));
    if (scheme === undefined) return `what follows ${prefix} is not ${expected}`;
    return scheme.check(hash) ?? { scheme, hash };
  }
  return defineScheme({
    name,
    matches: (encoded) => encoded.startsWith(`${prefix}$`),
    parse,
    seesAll,
    work: ({ scheme, hash }) => mostReadings * scheme.work(hash),
    verify: ({ scheme, hash }, password) => readings(password).some((reading) => scheme.verify(hash, reading)),
  });
}
