/** `muster orgs`: the organizations that users belong to. */
import { group } from '../subcommands.ts';
import { allowedUrls } from './org/allowed-urls.ts';
import { create } from './org/create.ts';
import { get } from './org/get.ts';
import { list } from './org/list.ts';
import { signInNames } from './org/sign-in-names.ts';

export const orgs = group('orgs', 'manage organizations', [list, create, get, ...allowedUrls, signInNames]);
