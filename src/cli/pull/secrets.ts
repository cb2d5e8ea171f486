/**
 * Collects the secrets of a system: from the environment, else typed on the terminal.
 *
 * Guarantee: a secret is never an argument, and is neither shown nor stored.
 */
import type { Secret } from '../../pull/system.ts';
import { askSecret } from '../terminal/ask-secret.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { Interrupted } from '../terminal/interrupt.ts';
import type { Output } from '../terminal/output.ts';

/** By name. @throws Failure (usage) when one is missing and there is no terminal to ask on */
export async function collectSecrets(
  out: Output,
  env: NodeJS.ProcessEnv,
  secrets: readonly Secret[],
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const secret of secrets) {
    const value = env[secret.env] ?? (await typed(out, secret));
    if (value !== undefined && value !== '') found[secret.name] = value;
    else if (!secret.optional) throw missing(secret);
  }
  return found;
}

async function typed(out: Output, { prompt, neverAsked }: Secret): Promise<string | undefined> {
  if (neverAsked || !out.live || !out.input.isTTY) return undefined;
  return (await askSecret(out, `${prompt} (not shown): `, new Interrupted('Nothing was read.'))).trim();
}

function missing({ prompt, env, neverAsked }: Secret): Failure {
  const orAsked = neverAsked ? '' : ', or run the command on a terminal, which asks for it';
  return new Failure(`${prompt} is missing.`, {
    exitCode: EXIT.usage,
    advice: `Set ${env} in the environment${orAsked}.`,
  });
}
