import { ofTheServer } from '../../service/server-part.ts';
import { openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { EXIT } from '../../terminal/failure.ts';
import { showUse, withKeyring } from './show-use.ts';

export const rotate = subcommand({
  command: 'rotate',
  describe: "on the server's machine: encrypt all stored values with ENCRYPTION_KEY, while the service runs",
  builder: (parser) => parser.example('$0 keys rotate', 'after all processes use the new ENCRYPTION_KEY'),
  async handler(options) {
    const { out } = await openSession(options);
    const { rotateKeys } = await ofTheServer(import('../../../encryption/rotation.ts'));
    let last = 0;
    const progress = (replaced: number) => {
      if (replaced - last < 10_000) return;
      out.note(`${replaced} values are encrypted with the new key.`);
      last = replaced;
    };
    const use = await withKeyring(options.shell.env, ({ pool, secrets }) => rotateKeys(pool, secrets, { progress }));
    showUse(out, use);
    if (!use.isDone) options.shell.exitCode = EXIT.failed;
  },
});
