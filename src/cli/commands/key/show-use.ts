/** Shows which encryption keys are needed; opens the database for it, with the settings of the service. */

import type { openKeyring } from '../../../encryption/open.ts';
import type { KeyUse } from '../../../encryption/rotation.ts';
import { StartError } from '../../../start-error.ts';
import { ofTheServer } from '../../service/server-part.ts';
import { EXIT, Failure } from '../../terminal/failure.ts';
import type { Output } from '../../terminal/output.ts';
import type { Shell } from '../../terminal/shell.ts';

type Keyring = Awaited<ReturnType<typeof openKeyring>>;

/** @throws Failure when the settings are wrong or the database does not answer */
export async function withKeyring<T>(env: Shell['env'], work: (keyring: Keyring) => Promise<T>): Promise<T> {
  // Loaded only when needed, as they import the service's settings: commands should start fast.
  const [{ ConfigError, readConfig }, { openKeyring }] = await ofTheServer(
    Promise.all([import('../../../config.ts'), import('../../../encryption/open.ts')]),
  );
  try {
    const keyring = await openKeyring(readConfig(env));
    return await work(keyring).finally(() => keyring.pool.end());
  } catch (error) {
    if (error instanceof StartError || error instanceof ConfigError)
      throw new Failure(error.message, { exitCode: EXIT.usage });
    throw error;
  }
}

export function showUse(out: Output, use: KeyUse): void {
  const { current, values, codes, isDone } = use;
  out.result(use);
  const counts = { [current]: 0, ...values };
  out.table(
    ['key', 'values', ''],
    Object.entries(counts).map(([id, count]) => [id, String(count), roleOf(id, current)]),
  );
  if (codes.count > 0) {
    out.line(
      `${codes.count} codes may have been sent with an earlier key; the last one expires at ${codes.until?.toISOString()}.`,
    );
  }
  if (isDone) out.line('Only ENCRYPTION_KEY is needed. You can remove all other keys from DECRYPTION_KEYS.');
  else out.line('Keep all keys that are still needed in DECRYPTION_KEYS.');
}

function roleOf(id: string, current: string): string {
  if (id === current) return 'ENCRYPTION_KEY';
  return id === 'none' ? 'still needed: encrypted while there was one key' : 'still needed';
}
