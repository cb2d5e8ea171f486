/** `muster orgs`: the organizations that users belong to. */
import { group } from '../subcommands.ts';
import { create } from './org/create.ts';
import { get } from './org/get.ts';
import { list } from './org/list.ts';

export const orgs = group('orgs', 'list, create and show organizations', [list, create, get]);
