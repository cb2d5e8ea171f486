/** `muster clients`: the applications that users log in to (IAM_OWNER). */
import { group } from '../subcommands.ts';
import { create } from './client/create.ts';
import { remove } from './client/delete.ts';
import { list } from './client/list.ts';

export const clients = group('clients', 'list, register and delete OAuth clients (IAM_OWNER)', [list, create, remove]);
