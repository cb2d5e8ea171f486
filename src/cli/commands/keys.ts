/** `muster keys`: replacing the encryption key. It runs where the service runs, as it needs the keys. */
import type { KeyUse } from '../../operate/key-rotation.ts';
import { command, group } from '../command.ts';
import { besideDatabase, ofTheServer } from '../service/server-part.ts';
import { EXIT } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

const status = command({
  usage: 'status',
  describe: "on the server's machine: show how many stored values need each encryption key",
  examples: [['$0 keys status', 'before you remove a key from DECRYPTION_KEYS']],
  async run({ out }, { shell }) {
    const { keyUse } = await ofTheServer(import('../../operate/key-rotation.ts'));
    showUse(out, await besideDatabase(shell.env, 'muster keys', ({ pool, secrets }) => keyUse(pool, secrets)));
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
    const use = await besideDatabase(shell.env, 'muster keys', ({ pool, secrets }) =>
      rotateKeys(pool, secrets, { progress }),
    );
    showUse(out, use);
    if (!use.isDone) shell.exitCode = EXIT.failed;
  },
});

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
