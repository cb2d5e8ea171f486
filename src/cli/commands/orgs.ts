/** `muster orgs`: the organizations that users belong to. */
import { group } from '../subcommands.ts';
import { create } from './org/create.ts';
import { get } from './org/get.ts';
import { list } from './org/list.ts';

export const orgs = group('orgs', 'list and create organizations', [list, create, get]);
