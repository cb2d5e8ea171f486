/** The settings of a new password source, from `--set NAME=VALUE` and a secret that no command line shows. */
import { readFile } from 'node:fs/promises';
import { askSecret } from '../../terminal/ask-secret.ts';
import { EXIT, Failure } from '../../terminal/failure.ts';
import { Interrupted } from '../../terminal/interrupt.ts';
import type { Output } from '../../terminal/output.ts';
import type { Shell } from '../../terminal/shell.ts';

export const KINDS = ['http', 'ldap', 'oauth-password', 'cognito'] as const;
export type Kind = (typeof KINDS)[number];

/** What the service calls the secret of a kind. */
const SECRET: Readonly<Record<Kind, string | undefined>> = {
  http: undefined,
  ldap: 'bindPassword',
  'oauth-password': 'clientSecret',
  cognito: 'clientSecret',
};
const VARIABLE = 'MUSTER_SOURCE_SECRET';

/** `NAME=VALUE`; a value `@FILE` is the text of a file. @throws Failure */
export async function readPairs(pairs: readonly string[]): Promise<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const pair of pairs) {
    const [, name, value] = /^([A-Za-z]+)=(.+)$/s.exec(pair) ?? [];
    if (name === undefined || value === undefined) throw badPair(pair);
    if (Object.values(SECRET).includes(name)) throw secretShown(name);
    settings[name] = value.startsWith('@') ? await textOf(value.slice(1)) : value;
  }
  return settings;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`, { exitCode: EXIT.usage });
  }
}

function badPair(pair: string): Failure {
  return new Failure(`--set must be NAME=VALUE, but is "${pair}".`, {
    exitCode: EXIT.usage,
    advice: 'For example: --set url=ldaps://ldap.acme.example',
  });
}

function secretShown(name: string): Failure {
  return new Failure(`${name} is a secret, which a command line would show to others.`, {
    exitCode: EXIT.usage,
    advice: `Use --secret and type it, or set ${VARIABLE}.`,
  });
}

/**
 * The secret as a setting, from the environment or the terminal. Without the option, and for a kind that has none,
 * nothing.
 * @throws Failure
 */
export async function readSecret(
  out: Output,
  env: Shell['env'],
  { kind, secret }: { kind: Kind; secret: boolean },
): Promise<Record<string, string>> {
  const name = SECRET[kind];
  if (!secret) return {};
  if (name === undefined) {
    throw new Failure(`A source of the kind ${kind} takes no secret: the service creates one.`, {
      exitCode: EXIT.usage,
    });
  }
  const left = new Interrupted('Nothing was added.');
  const value = env[VARIABLE] ?? (out.input.isTTY ? await askSecret(out, `${name} (not shown): `, left) : '');
  if (value !== '') return { [name]: value };
  throw new Failure('The secret is empty.', { exitCode: EXIT.usage, advice: `Type it, or set ${VARIABLE}.` });
}
