/** Where the personal access tokens of a machine user are. */
export function tokensPath(userId: string, tokenId?: string): string {
  const all = `/management/v1/users/${encodeURIComponent(userId)}/pats`;
  return tokenId === undefined ? all : `${all}/${encodeURIComponent(tokenId)}`;
}
