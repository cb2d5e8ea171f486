/** The pepper of `muster import`: from the environment or a prompt, never from the command line, which others can see. */
import { askSecret } from '../terminal/ask.ts';
import type { Shell } from '../terminal/completion.ts';
import { Interrupted, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

export interface PepperOptions {
  shell: Shell;
  pepperEnv?: string | undefined;
  pepperMode?: string | undefined;
}

/** The headers of the request; none without a pepper. @throws Failure (usage) when it is missing */
export async function pepperHeaders(
  out: Output,
  { shell, pepperEnv, pepperMode }: PepperOptions,
): Promise<Record<string, string>> {
  if (pepperEnv === undefined && pepperMode === undefined) return {};
  const left = new Interrupted('Nothing was sent.');
  const asked = pepperEnv === undefined && out.input.isTTY ? await askSecret(out, 'Pepper (not shown): ', left) : '';
  const pepper = pepperEnv === undefined ? asked : (shell.env[pepperEnv] ?? '');
  if (pepper === '') {
    throw wrongUsage(
      pepperEnv === undefined ? 'The pepper is empty.' : `The variable ${pepperEnv} is empty.`,
      'Put the pepper into a variable of the environment, and name it with --pepper-env.',
    );
  }
  return { 'password-pepper': Buffer.from(pepper).toString('base64'), 'password-pepper-mode': pepperMode ?? 'suffix' };
}
