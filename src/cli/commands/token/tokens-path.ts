/** The path of a machine user's personal access tokens, or of one of them. */
export function tokensPath(userId: string, tokenId?: string): string {
  const all = `/management/v1/users/${encodeURIComponent(userId)}/pats`;
  return tokenId === undefined ? all : `${all}/${encodeURIComponent(tokenId)}`;
}
