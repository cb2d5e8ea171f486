/** What yargs says about a wrong command line, in the words of the other messages. The keys are yargs' own texts. */
export const USAGE_TEXTS: Record<string, string> = Object.assign(
  {
    'Invalid values:': 'An option has a value that it cannot have.',
    'Argument: %s, Given: %s, Choices: %s': '--%s is %s; it must be one of %s.',
    'Not enough arguments following: %s': 'The option --%s needs a value.',
    'Arguments %s and %s are mutually exclusive': 'The options --%s and --%s exclude each other.',
    'Implications failed:': 'Other options are missing:',
    'Show help': 'show this help',
    'Show version number': 'show the version',
  },
  // yargs chooses one of two by a number.
  plural('Not enough non-option arguments: got %s, need at least %s', 'An argument is missing: %s given, %s needed.'),
  plural('Missing required argument: %s', 'The option --%s is missing.', 'These options are missing: %s.'),
  plural('Missing argument value: %s', 'The option --%s needs a value.', 'These options need a value: %s.'),
  plural('Unknown argument: %s', 'Unknown option or argument: %s', 'Unknown options or arguments: %s'),
);

function plural(key: string, one: string, other = one): Record<string, unknown> {
  return { [key]: { one, other } };
}
