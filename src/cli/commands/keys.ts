/** `muster keys`: replacing the encryption key. It runs where the service runs, as it needs the keys. */
import type { KeyUse, openKeyring } from '../../operate/key-rotation.ts';
import { StartError } from '../../platform/errors.ts';
import { command, group } from '../command.ts';
import { ofTheServer } from '../service/server-part.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

const status = command({
  usage: 'status',
  describe: "on the server's machine: show how many stored values need each encryption key",
  examples: [['$0 keys status', 'before you remove a key from DECRYPTION_KEYS']],
  async run({ out }, { shell }) {
    const { keyUse } = await ofTheServer(import('../../operate/key-rotation.ts'));
    showUse(out, await withKeyring(shell.env, ({ pool, secrets }) => keyUse(pool, secrets)));
  },
});

const rotate = command({
  usage: 'rotate',
  describe: "on the server's machine: encrypt all stored values with ENCRYPTION_KEY, while the service runs",
  examples: [['$0 keys rotate', 'after all processes use the new ENCRYPTION_KEY']],
  async run({ out }, { shell }) {
    const { rotateKeys } = await ofTheServer(import('../../operate/key-rotation.ts'));
    let last = 0;
    const progress = (replaced: number) => {
      if (replaced - last < 10_000) return;
      out.note(`${replaced} values are encrypted with the new key.`);
      last = replaced;
    };
    const use = await withKeyring(shell.env, ({ pool, secrets }) => rotateKeys(pool, secrets, { progress }));
    showUse(out, use);
    if (!use.isDone) shell.exitCode = EXIT.failed;
  },
});

type Keyring = Awaited<ReturnType<typeof openKeyring>>;

/** @throws Failure when the settings are wrong or the database does not answer */
async function withKeyring<T>(env: Shell['env'], work: (keyring: Keyring) => Promise<T>): Promise<T> {
  // Loaded only when needed, as they import the service's settings: commands should start fast.
  const [{ ConfigError, readConfig }, { openKeyring }] = await ofTheServer(
    Promise.all([import('../../platform/config.ts'), import('../../operate/key-rotation.ts')]),
  );
  try {
    const keyring = await openKeyring(readConfig(env));
    return await work(keyring).finally(() => keyring.pool.end());
  } catch (error) {
    if (error instanceof StartError || error instanceof ConfigError) throw wrongUsage(error.message);
    throw error;
  }
}

function showUse(out: Output, use: KeyUse): void {
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

export const keys = group('keys', 'replace the encryption key of the service', [status, rotate]);
