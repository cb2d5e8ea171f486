/** A hash of another scheme behind a prefix, made of the password itself or of something made from it. */
import { defineScheme, type Scheme } from '../scheme.ts';

/**
 * It verifies, and is refused, as the hash inside is.
 * @param prefix stands before the hash inside, which begins with `$`
 * @param expected what the hash inside has to be, for the message
 * @param readings what may have been hashed for a password
 */
export function wrappedScheme(definition: {
  name: string;
  prefix: string;
  inside: readonly Scheme[];
  expected: string;
  readings: (password: string) => string[];
  seesAll?: (password: string) => boolean;
}): Scheme {
  const { name, prefix, inside, expected, readings, seesAll = () => true } = definition;
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
    verify: ({ scheme, hash }, password) => readings(password).some((reading) => scheme.verify(hash, reading)),
  });
}
