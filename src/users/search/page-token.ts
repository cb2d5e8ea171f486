/** The token of the next page: the user name and the organization of the last user, which the caller has seen. */

/** A place in the order of names: after this user. */
export interface Position {
  key: string;
  orgId: string;
}

/** @param users the page; its last user must exist */
export function tokenAfter(users: readonly { key: string; orgId: string }[]): string {
  const { key, orgId } = users.at(-1) as { key: string; orgId: string };
  return Buffer.from(JSON.stringify([key, orgId])).toString('base64url');
}

/** Whether a text is a token; it may still name a user who is deleted. */
export function isPageToken(text: string): boolean {
  return parse(text) !== undefined;
}

/** @param token one that `isPageToken` accepts */
export function positionOf(token: string | undefined): Position | undefined {
  const [key, orgId] = (token && parse(token)) || [];
  return key === undefined || orgId === undefined ? undefined : { key, orgId };
}

function parse(text: string): [string, string] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const [key, orgId, ...rest] = Array.isArray(value) ? value : [];
    const isToken = typeof key === 'string' && typeof orgId === 'string' && rest.length === 0;
    return isToken && !`${key}${orgId}`.includes('\0') && `${key}${orgId}`.isWellFormed() ? [key, orgId] : undefined;
  } catch {
    return undefined;
  }
}
