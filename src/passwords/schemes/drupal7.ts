/** Drupal 7: `$S$`, one character of log2 rounds, 8 of salt, and the first 43 of the hash's 86 characters. */
import { defineScheme, sameText } from '../scheme.ts';
import { digestWork } from '../work.ts';
import { parsePortable, portableHash } from './phpass.ts';

const KEPT = 43;

export const drupal7Scheme = defineScheme({
  name: 'drupal7',
  matches: (encoded) => encoded.startsWith('$S$'),
  parse: (encoded) => parsePortable(encoded, 12 + KEPT, /^[./0-9A-Za-z]{43}$/),
  work: ({ log2 }) => digestWork(2 ** log2),
  verify: (parts, password) => sameText(portableHash('sha512', parts, password).slice(0, KEPT), parts.digest),
});
