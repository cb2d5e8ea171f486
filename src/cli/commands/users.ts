/** `muster users`: shows users and changes them. */
import { group } from '../subcommands.ts';
import { stateChanges } from './user/change-state.ts';
import { remove } from './user/delete.ts';
import { find } from './user/find.ts';
import { get } from './user/get.ts';
import { list } from './user/list.ts';
import { resetPassword } from './user/reset-password.ts';

export const users = group('users', 'list, find and manage users', [
  list,
  find,
  get,
  ...stateChanges,
  resetPassword,
  remove,
]);
