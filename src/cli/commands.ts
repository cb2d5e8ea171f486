import type { CommandModule } from 'yargs';
import { admin } from './commands/admin.ts';
import { clients } from './commands/clients.ts';
import { convertCommand } from './commands/convert.ts';
import { doctor } from './commands/doctor.ts';
import { events } from './commands/events.ts';
import { explain } from './commands/explain.ts';
import { idps } from './commands/idps.ts';
import { importCommand } from './commands/import.ts';
import { importActions } from './commands/import-actions.ts';
import { causes, fix } from './commands/import-fixes.ts';
import { items, report, signIns, status } from './commands/import-status.ts';
import { keys } from './commands/keys.ts';
import { login, logout } from './commands/login.ts';
import { mails } from './commands/mails.ts';
import { members } from './commands/members.ts';
import { orgs } from './commands/orgs.ts';
import { passwordSources } from './commands/password-sources.ts';
import { pull } from './commands/pull.ts';
import { tokens } from './commands/tokens.ts';
import { users } from './commands/users.ts';
import { workers } from './commands/workers.ts';

/** Every command of `muster`, in the order of the help. A new one needs a file in `commands/`, an import, an entry. */
export const COMMANDS: readonly CommandModule[] = [
  importCommand,
  pull,
  convertCommand,
  status,
  signIns,
  items,
  causes,
  fix,
  report,
  ...importActions,
  users,
  orgs,
  members,
  passwordSources,
  mails,
  idps,
  tokens,
  clients,
  events,
  explain,
  doctor,
  workers,
  keys,
  admin,
  login,
  logout,
];
