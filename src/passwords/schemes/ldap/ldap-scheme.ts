/** Shared part of all LDAP schemes: the hash begins with their name in braces, in any case. */
import { defineScheme, type Scheme } from '../../scheme.ts';

/** All functions get the part of the hash after the braces. */
export function ldapScheme<P extends object>(definition: {
  name: string;
  parse: (body: string) => P | string;
  verify: (parts: P, password: string) => boolean;
  work?: (parts: P) => number;
  seesAll?: (password: string, body: string) => boolean;
}): Scheme {
  const { name, parse, verify, work = () => 0, seesAll = () => true } = definition;
  const prefix = `{${name}}`;
  const form = new RegExp(`^\\{${name}\\}`, 'i');
  return defineScheme({
    name: prefix,
    matches: (encoded) => encoded[0] === '{' && form.test(encoded),
    parse: (encoded) => parse(encoded.slice(prefix.length)),
    verify,
    work,
    seesAll: (password, encoded) => seesAll(password, encoded.slice(prefix.length)),
  });
}
