/**
 * The organization that an application names in an authorization request: by the parameter `organization`, or by a
 * scope such as `urn:service:iam:org:id:ORG` (alias `urn:zitadel:…`), which the library would drop as unknown.
 *
 * Only the login page uses it: a bare user name is then first looked for in that organization.
 */

import { idProblem } from '../../fields/fields.ts';

/** The parameter that the library keeps with a login in progress. */
export const ORGANIZATION = 'organization';

const SCOPE = /^urn:(?:service|zitadel):iam:org:id:(.+)$/;

/** Copies the organization of a scope into the parameter, unless the request has the parameter. */
export function keepNamedOrganization(params: Record<string, string | string[] | undefined>): void {
  const { scope, [ORGANIZATION]: named } = params;
  if (named !== undefined || typeof scope !== 'string') return;
  const found = scope.split(' ').map((one) => SCOPE.exec(one)?.[1]);
  params[ORGANIZATION] = found.find((id) => id !== undefined);
}

/** The id of the organization, if the request named one that can exist. */
export function namedOrganization(params: Record<string, unknown>): string | undefined {
  const id = params[ORGANIZATION];
  return typeof id === 'string' && idProblem(id) === undefined ? id : undefined;
}
