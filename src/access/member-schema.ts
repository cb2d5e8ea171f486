/** Request bodies of the member calls. */
import { z } from 'zod';
import { id } from '../fields/fields.ts';
import { paging } from '../http/paging.ts';
import { INSTANCE_ROLES, ORG_ROLES } from './permissions.ts';

function roles<const T extends readonly string[]>(known: T, least: number) {
  return z
    .array(z.enum(known, `must be one of ${known.join(', ')}`))
    .min(least, 'must have at least one role')
    .transform((list) => [...new Set(list)]);
}

/** Roles on an organization, possibly none. */
export const orgRoleList = () => roles(ORG_ROLES, 0);
export const orgMember = z.object({ userId: id(), roles: roles(ORG_ROLES, 1) });
export const instanceMember = z.object({ userId: id(), roles: roles(INSTANCE_ROLES, 1) });
export const memberSearch = z.object({ query: paging() });
