/** The texts of the tokens and keys of machine users. */
import * as de from './de/credentials.ts';
import { localized } from './language.ts';

const OF_ALL = {
  lifetime: 'Ends after',
  days: (days: string) => `${days} days`,
  forever: 'never',
  never: 'Never',
  created: 'Created',
  ends: 'Ends',
  action: 'Action',
  remove: 'Remove',
  back: 'Back, change nothing',
  onceHint: 'It is shown once, on the next page.',
};

const englishTokens = {
  ...OF_ALL,
  title: 'Tokens',
  none: 'This machine user has no token.',
  add: 'New token',
  effects: (name: string) => [`Anyone with the token can do everything that ${name} may do.`],
  id: 'Token id',
  secret: 'Token',
  removeTitle: 'Remove token',
  removeEffect: (name: string) =>
    `Programs that sign in as ${name} with this token fail at once. This cannot be taken back.`,
};

const englishKeys: typeof englishTokens = {
  ...OF_ALL,
  title: 'Keys',
  none: 'This machine user has no key.',
  add: 'New key',
  effects: (name: string) => [
    `Anyone with the private key can do everything that ${name} may do.`,
    'Programs sign a JWT with it and exchange that for an access token. The service keeps the public key only.',
  ],
  id: 'Key id',
  secret: 'Key file',
  removeTitle: 'Remove key',
  removeEffect: (name: string) =>
    `Programs that sign in as ${name} with this key fail at once. This cannot be taken back.`,
};

export const TOKENS = localized(englishTokens, de.TOKENS);
export const KEYS = localized(englishKeys, de.KEYS);
