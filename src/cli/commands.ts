/** Every command of `muster`, in the order of the help. A new one needs a file in `commands/`, an import, an entry. */
import type { CommandModule } from 'yargs';
import { clients } from './commands/clients.ts';
import { convertCommand } from './commands/convert.ts';
import { doctor } from './commands/doctor.ts';
import { events } from './commands/events.ts';
import { importCommand } from './commands/import.ts';
import { cancel } from './commands/imports/cancel.ts';
import { causes } from './commands/imports/causes.ts';
import { discard } from './commands/imports/discard.ts';
import { fix } from './commands/imports/fix.ts';
import { items } from './commands/imports/items.ts';
import { pause } from './commands/imports/pause.ts';
import { report } from './commands/imports/report.ts';
import { resume } from './commands/imports/resume.ts';
import { retry } from './commands/imports/retry.ts';
import { sendMails } from './commands/imports/send-mails.ts';
import { start } from './commands/imports/start.ts';
import { status } from './commands/imports/status.ts';
import { undo } from './commands/imports/undo.ts';
import { keys } from './commands/keys.ts';
import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { orgs } from './commands/orgs.ts';
import { passwordSources } from './commands/password-source/commands.ts';
import { tokens } from './commands/tokens.ts';
import { users } from './commands/users.ts';
import { workers } from './commands/workers.ts';
import { pull } from './pull/command.ts';

export const COMMANDS: readonly CommandModule[] = [
  entry(importCommand),
  entry(pull),
  entry(convertCommand),
  entry(status),
  entry(items),
  entry(causes),
  entry(fix),
  entry(report),
  entry(start),
  entry(discard),
  entry(pause),
  entry(resume),
  entry(cancel),
  entry(retry),
  entry(undo),
  entry(sendMails),
  entry(users),
  entry(orgs),
  entry(passwordSources),
  entry(tokens),
  entry(clients),
  entry(events),
  entry(doctor),
  entry(workers),
  entry(keys),
  entry(login),
  entry(logout),
];

/** Each command has its own option type, known only to its builder and handler; the cast erases it. */
function entry<Given, Options>(command: CommandModule<Given, Options>): CommandModule {
  return command as unknown as CommandModule;
}
