/** `muster tokens`: personal access tokens of machine users, for scripts and other services. */
import { group } from '../subcommands.ts';
import { create } from './token/create.ts';
import { remove } from './token/delete.ts';
import { list } from './token/list.ts';

export const tokens = group('tokens', 'create, list and delete personal access tokens', [create, list, remove]);
