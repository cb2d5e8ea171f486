/** `muster password-sources`: other systems that verify the passwords of imported users. */
import { group } from '../../subcommands.ts';
import { change } from './change.ts';
import { create } from './create.ts';
import { remove } from './delete.ts';
import { end } from './end.ts';
import { list } from './list.ts';
import { show } from './show.ts';
import { status } from './status.ts';
import { test } from './test.ts';

export const passwordSources = group(
  'password-sources',
  'other systems that verify imported users: add, list, show, change, status, test, end, delete',
  [create, list, show, change, status, test, end, remove],
);
