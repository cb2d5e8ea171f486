import { ofTheServer } from '../../service/server-part.ts';
import { openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { showUse, withKeyring } from './show-use.ts';

export const status = subcommand({
  command: 'status',
  describe: "on the server's machine: show how many stored values need each encryption key",
  builder: (parser) => parser.example('$0 keys status', 'before you remove a key from DECRYPTION_KEYS'),
  async handler(options) {
    const { out } = await openSession(options);
    const { keyUse } = await ofTheServer(import('../../../encryption/rotation.ts'));
    showUse(out, await withKeyring(options.shell.env, ({ pool, secrets }) => keyUse(pool, secrets)));
  },
});
